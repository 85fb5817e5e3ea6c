"""What time it is for a process: the wall clock as it stood at the start, monotonic from there.

A clock that is set while a shard is worked makes no stretch of time longer, shorter or negative.
"""

import time

_WALL, _STEADY = time.time(), time.monotonic()


def moment() -> float:
    """Seconds since the epoch, to the millisecond."""
    return round(_WALL + time.monotonic() - _STEADY, 3)
