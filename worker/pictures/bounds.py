"""What is wanted of a file, and how much it may cost: limits, and the choice of frames."""

import re
from dataclasses import dataclass

from worker.families import Family

FRAMES = r"first|all|every:[1-9]\d{0,5}"
VIDEO = r"count:[1-9]\d{0,5}|seconds:\d{1,6}(\.\d{1,3})?|scene(:0?\.\d{1,4})?"
USUAL_CUT = 0.12  # mean change of grey, of 1, from frame to frame; a moving camera stays below


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one file. Whatever is exceeded has a code of its own.

    max_pixels        of one frame, as stored                              image_too_large
    max_bytes         of the file                                          file_too_large
    max_frames        wanted of one file                                   too_many_frames
    max_clip_pixels   of all its frames together, as the model sees them   too_many_frames
    decode_s          seconds that one frame may take                      decode_timeout
    background        what lies under transparency, red, green, blue
    """

    max_pixels: int = 200_000_000
    max_bytes: int = 256 * 1024 * 1024
    max_frames: int = 100
    max_clip_pixels: int = 64_000_000
    decode_s: float = 60.0
    background: tuple[int, int, int] = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which frames are wanted; `ValueError` names the rule that there is not.

    frames   of pages and animations: `first`, `all` or `every:N`
    video    of a clip: `count:N` evenly spread, one each `seconds:S`, or the first of each `scene`
             (`scene:0.12`: the mean change of grey that is a cut)
    """

    frames: str = "first"
    video: str = "count:8"

    def __post_init__(self) -> None:
        if not re.fullmatch(FRAMES, self.frames):
            raise ValueError(f"frames: found {self.frames!r}; allowed: first, all, every:N")
        if not re.fullmatch(VIDEO, self.video) or self.video_number == 0:
            allowed = "count:N, seconds:S, scene, scene:0.12"
            raise ValueError(f"video: found {self.video!r}; allowed: {allowed}")

    @property
    def step(self) -> int:
        """Every how many frames one is wanted; 0 is the first alone."""
        return {"first": 0, "all": 1}.get(self.frames) or int(self.frames.partition(":")[2] or 0)

    @property
    def video_rule(self) -> str:
        return self.video.partition(":")[0]

    @property
    def video_number(self) -> float:
        return float(self.video.partition(":")[2] or USUAL_CUT)


@dataclass(frozen=True, slots=True)
class Job:
    """What a decoder process is to do with the bytes that come with it."""

    family: Family
    limits: Limits
    selection: Selection
