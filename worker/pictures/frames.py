"""All wanted frames of one file, one after the other: what a decoder process does with it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from PIL import Image

from worker.errors import PictureError
from worker.families import Family
from worker.pictures.bounds import Limits, Selection
from worker.pictures.faults import broken
from worker.pictures.formats import CLIPS, sniff
from worker.pictures.stills import Admit, Prepared, open_still, prepare_still

APART = ("tiff", "heic")  # formats whose frames don't build on each other
ANIMATED = ("gif", "png", "webp", "avif")


@dataclass(frozen=True, slots=True)
class Unprepared:
    """A frame that could not be decoded, though others of its file could."""

    frame: int
    error: PictureError


Frame = Prepared | Unprepared


def _at_once(frame: int, mib: float) -> None:
    """Nobody to wait for."""


def prepare(data: bytes, family: Family, limits: Limits) -> Prepared:
    """The first frame of `data`, in this process; `PictureError` when there is none."""
    first = next(iter(prepare_all(data, family, limits, Selection(video="count:1"))))
    if isinstance(first, Unprepared):
        raise first.error
    return first


def prepare_all(
    data: bytes,
    family: Family,
    limits: Limits,
    selection: Selection,
    admit: Admit = _at_once,
) -> Iterator[Frame]:
    """The frames of `data` that are wanted; `PictureError` when the file as a whole is no use."""
    if len(data) > limits.max_bytes:
        raise PictureError(
            "file_too_large", f"{len(data)} bytes; allowed: up to {limits.max_bytes}"
        )
    kind = sniff(data)
    read = _stills
    if kind in CLIPS:
        from worker.pictures.video import sample as read  # FFmpeg: only where there is a video
    try:
        yield from _bounded(read(data, kind, family, limits, selection, admit), limits)
    except PictureError:
        raise
    except Exception as error:  # decoders raise anything, and leave anything behind
        raise broken(error, data, kind) from error


def _bounded(frames: Iterator[Frame], limits: Limits) -> Iterator[Frame]:
    pixels = 0
    for count, frame in enumerate(frames, 1):
        if isinstance(frame, Prepared):
            pixels += frame.facts.model_width * frame.facts.model_height
        if count > 1 and pixels > limits.max_clip_pixels:
            raise PictureError(
                "too_many_frames",
                f"{count} frames are {pixels} pixels; allowed: up to {limits.max_clip_pixels}",
            )
        yield frame


def _stills(
    data: bytes, kind: str, family: Family, limits: Limits, selection: Selection, admit: Admit
) -> Iterator[Frame]:
    image = open_still(data, kind, limits)
    count = _count(image, data, kind) if selection.step else 1
    if count == 1:
        yield prepare_still(image, data, kind, family, limits, admit)
        return
    refuse_many(len(range(0, count, selection.step)), limits)
    passed_s = 0.0
    for index in range(count):
        try:
            _seek(image, index, data, kind)
            if index % selection.step == 0:
                prepared = prepare_still(image, data, kind, family, limits, admit)
                yield replace(prepared, time_s=_time_s(image, kind, passed_s))
        except PictureError as error:
            yield Unprepared(index, error)
            if kind not in APART:
                return
        passed_s += _milliseconds(image, "duration") / 1000


def refuse_many(count: int, limits: Limits) -> None:
    """`PictureError` `too_many_frames` for more wanted frames than allowed."""
    if count > limits.max_frames:
        raise PictureError(
            "too_many_frames", f"{count} frames are wanted; allowed: up to {limits.max_frames}"
        )


def _count(image: Image.Image, data: bytes, kind: str) -> int:
    if kind == "jpeg":  # the others of an MPO are other views, depths and previews of the same
        return 1
    try:
        return max(1, getattr(image, "n_frames", 1))
    except Exception as error:  # decoders raise anything on broken data
        raise broken(error, data, kind) from error


def _seek(image: Image.Image, index: int, data: bytes, kind: str) -> None:
    try:
        image.seek(index)
    except Exception as error:  # decoders raise anything on broken data
        raise broken(error, data, kind) from error


def _time_s(image: Image.Image, kind: str, passed_s: float) -> float | None:
    """When the frame is shown; None of pages."""
    if kind not in ANIMATED:
        return None
    if "timestamp" in image.info:
        return _milliseconds(image, "timestamp") / 1000
    return round(passed_s, 3)


def _milliseconds(image: Image.Image, name: str) -> float:
    value = image.info.get(name, 0)
    return float(value) if isinstance(value, int | float) else 0.0
