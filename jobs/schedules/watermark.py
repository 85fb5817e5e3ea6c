"""Which pictures are new since the last run: pure.

An object may be listed after one that is younger: it was long in coming (a large upload bears the
time of its start), or several have the same time. So a run takes whatever is not remembered and at
most `window_s` older than the youngest that was ever seen, and remembers what lies in that window.
"""

from collections.abc import Iterable

from pydantic import Field

from jobs.noun import Noun
from jobs.store.bucket import Found

WINDOW_S = 86400.0


class Watermark(Noun):
    """`latest`: the youngest time seen, None: nothing yet; `seen`: etag and time by key."""

    latest: float | None = None
    seen: dict[str, tuple[str, float]] = Field(default_factory=dict)


def news(mark: Watermark, listing: Iterable[Found], window_s: float) -> list[Found]:
    """What of the listing is new, in the order of the listing."""
    floor = None if mark.latest is None else mark.latest - window_s
    return [
        found
        for found in listing
        if (floor is None or found.modified.timestamp() >= floor)
        and mark.seen.get(found.address.key, ("", 0.0))[0] != found.etag
    ]


def advanced(mark: Watermark, taken: Iterable[Found], window_s: float) -> Watermark:
    """The watermark after `taken` have become a job."""
    seen = dict(mark.seen)
    for found in taken:
        seen[found.address.key] = (found.etag, found.modified.timestamp())
    latest = max((at for _, at in seen.values()), default=None)
    if mark.latest is not None:
        latest = max(mark.latest, latest or mark.latest)
    floor = (latest or 0.0) - window_s
    kept = {key: value for key, value in seen.items() if value[1] >= floor}
    return Watermark(latest=latest, seen=kept)
