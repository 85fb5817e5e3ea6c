"""Setbacks: faults of infrastructure cost a job time, not its life, up to a number of them.

A head that ended, a driver that was killed, a start that failed, a stall: the job goes back to the
queue, waits, and goes on from its committed shards. No picture's attempt is counted here.
"""

FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 300.0


class Setback(Exception):
    """The work can't go on here, and may elsewhere or later; the text is the reason."""


def wait_s(before: int) -> float:
    """Seconds until a job is taken up again that had so many setbacks before: 5, 20, 80, …"""
    return float(min(LONGEST_WAIT_S, FIRST_WAIT_S * 4**before))
