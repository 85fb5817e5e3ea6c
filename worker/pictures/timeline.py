"""Which moments of a clip are wanted, and the frames that stand there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FAR_S = 2.0  # a moment further on than this is sought, else decoded up to
SAME_S = 0.001
THUMBNAIL = (64, 36)  # pixels that scenes are compared by


@dataclass(frozen=True, slots=True)
class Timeline:
    """Seconds of a clip; `start_s` is what its first time stamp says, which need not be 0."""

    start_s: float
    duration_s: float

    @classmethod
    def of(cls, container: Any, stream: Any) -> "Timeline":
        """As the container says, or by reading all of it where it does not."""
        start_s = float((stream.start_time or 0) * stream.time_base)
        if stream.duration:
            return cls(start_s, float(stream.duration * stream.time_base))
        if container.duration:
            return cls(start_s, container.duration / 1_000_000)
        ends = [
            (packet.pts + (packet.duration or 0)) * packet.time_base
            for packet in container.demux(stream)
            if packet.pts is not None
        ]
        container.seek(0)
        return cls(start_s, max(0.0, float(max(ends, default=0)) - start_s))

    def time_s(self, frame: Any) -> float:
        """Seconds from the start of the clip to `frame`."""
        stamp = frame.pts if frame.pts is not None else frame.dts
        return max(0.0, float((stamp or 0) * frame.time_base) - self.start_s)


def spread(duration_s: float, rule: str, number: float) -> Sequence[float]:
    """Moments in seconds: the middles of `number` equal parts, or one each `number` seconds."""
    if rule == "count":
        return [duration_s * (i + 0.5) / number for i in range(int(number))]
    return [i * number for i in range(max(1, int(np.ceil(duration_s / number))))]


def frames_at(
    container: Any, stream: Any, timeline: Timeline, times: Sequence[float]
) -> Iterator[tuple[float, Any]]:
    """The first frame at or after each moment, or the last of the clip; none of them twice."""
    frames = container.decode(stream)
    here_s, given_s = -1.0, -1.0
    for wanted_s in times:
        if wanted_s - max(0.0, here_s) > FAR_S and _seek(container, stream, timeline, wanted_s):
            frames = container.decode(stream)
        frame = None
        for frame in frames:
            here_s = timeline.time_s(frame)
            if here_s >= wanted_s - SAME_S:
                break
        if frame is not None and here_s > given_s:
            given_s = here_s
            yield here_s, frame


def _seek(container: Any, stream: Any, timeline: Timeline, wanted_s: float) -> bool:
    """Go to the key frame before the moment. A clip without an index stays where it is."""
    try:
        container.seek(int((wanted_s + timeline.start_s) / stream.time_base), stream=stream)
    except OSError:  # FFmpeg's errors are
        return False
    return True


def scene_starts(
    container: Any, stream: Any, timeline: Timeline, cut: float
) -> Iterator[tuple[float, Any]]:
    """The first frame, and each that differs from the one before by more than `cut` of 1."""
    before = None
    for frame in container.decode(stream):
        grey = frame.reformat(*THUMBNAIL, format="gray").to_ndarray().astype(np.int16)
        if before is None or np.abs(grey - before).mean() > cut * 255:
            yield timeline.time_s(frame), frame
        before = grey
