"""Frames of a clip, by PyAV: evenly spread, one each so many seconds, or the first of each scene.

A frame's number is its place among those sampled; where it stood in the clip is its `time_s`. A
clip as one question is its frames in one prompt; the video input that some models have beside that
of pictures is not used: its frames would have to be of one size, with their rate, in one tensor.
"""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from jobs.rows import ImageFacts
from worker.errors import PictureError
from worker.families import Family
from worker.pictures.bounds import Limits, Selection
from worker.pictures.colours import to_srgb
from worker.pictures.cuts import is_cut
from worker.pictures.formats import unsupported
from worker.pictures.stills import TURNS, Admit, Prepared, refuse_large, turned
from worker.pictures.timeline import Timeline, frames_at, scene_starts, spread

DEMUXERS = {"mp4": "mov", "mov": "mov", "avi": "avi", "webm": "matroska"}  # no other is tried
# A decoder keeps up to 16 frames to predict from; beside them stand one in RGB and its copy.
BYTES_A_PIXEL = 32
QUARTERS = {0: 1, 1: 8, 2: 3, 3: 6}  # turns to the left, as EXIF orientations
HDR = (16, 18)  # transfers PQ and HLG, by ITU-T H.273
UNSPECIFIED, HD_HEIGHT = 2, 720


def sample(
    data: bytes, kind: str, family: Family, limits: Limits, selection: Selection, admit: Admit
) -> Iterator[Prepared]:
    """The frames of the clip that `selection` wants; `PictureError` when there are none."""
    try:
        import av
    except ImportError as error:
        raise unsupported(kind) from error
    if is_cut(data, kind):
        raise PictureError("image_truncated", f"the {kind} is shorter than it says")
    with av.open(io.BytesIO(data), format=DEMUXERS[kind]) as container:
        yield from _sampled(container, kind, family, limits, selection, admit)


def _sampled(
    container: Any,
    kind: str,
    family: Family,
    limits: Limits,
    selection: Selection,
    admit: Admit,
) -> Iterator[Prepared]:
    if not container.streams.video:
        raise PictureError("not_an_image", f"the {kind} holds no video")
    stream = container.streams.video[0]
    if stream.codec_context is None:
        raise unsupported(kind, "there is no decoder for its codec")
    stream.codec_context.thread_count = 1
    size = (stream.codec_context.width, stream.codec_context.height)
    refuse_large(size, limits)
    admit(0, size[0] * size[1] * BYTES_A_PIXEL / (1 << 20))
    number = -1
    for number, (time_s, frame) in enumerate(_chosen(container, stream, limits, selection)):
        if number >= limits.max_frames:
            raise PictureError(
                "too_many_frames", f"more frames are wanted than allowed: {limits.max_frames}"
            )
        admit(number, 0)
        yield _prepared(frame, stream, kind, family, limits, number, time_s)
    if number < 0:
        raise PictureError("image_broken", f"no frame of the {kind} can be decoded")


def _chosen(
    container: Any, stream: Any, limits: Limits, selection: Selection
) -> Iterator[tuple[float, Any]]:
    timeline = Timeline.of(container, stream)
    if selection.video_rule == "scene":
        return scene_starts(container, stream, timeline, selection.video_number)
    times = spread(timeline.duration_s, selection.video_rule, selection.video_number)
    if len(times) > limits.max_frames:
        raise PictureError(
            "too_many_frames",
            f"{len(times)} frames are wanted; allowed: up to {limits.max_frames}",
        )
    return frames_at(container, stream, timeline, times)


def _prepared(
    frame: Any,
    stream: Any,
    kind: str,
    family: Family,
    limits: Limits,
    number: int,
    time_s: float,
) -> Prepared:
    if frame.is_corrupt:
        raise PictureError("image_broken", f"the {kind} is broken at {time_s:.3f} s")
    refuse_large((frame.width, frame.height), limits)
    orientation = QUARTERS[round(frame.rotation / 90) % 4]
    stored = (frame.width, frame.height)
    upright = turned(stored, orientation)
    size = family.model_size(*upright)
    noted = _noted(frame, stream)
    flat = to_srgb(_rgb(frame), turned(size, orientation), None, limits.background, (), noted)
    seen = flat if orientation == 1 else flat.transpose(TURNS[orientation])
    facts = ImageFacts(
        format=kind,
        width=upright[0],
        height=upright[1],
        stored_width=stored[0],
        stored_height=stored[1],
        orientation=orientation,
        model_width=size[0],
        model_height=size[1],
    )
    return Prepared(seen, facts, tuple(noted), number, round(time_s, 3))


def _rgb(frame: Any) -> Image.Image:
    """By the clip's own colour matrix; of one that does not say, by the one usual at its size."""
    from av.video.reformatter import Colorspace

    usual = Colorspace.ITU709 if frame.height >= HD_HEIGHT else Colorspace.ITU601
    matrix = usual if int(frame.colorspace) == UNSPECIFIED else None
    pixels: np.ndarray = frame.reformat(format="rgb24", src_colorspace=matrix).to_ndarray()
    return Image.fromarray(pixels)


def _noted(frame: Any, stream: Any) -> list[str]:
    noted = []
    if max(component.bits for component in frame.format.components) > 8:
        noted.append("depth_reduced")
    if int(frame.color_trc) in HDR:
        noted.append("hdr_not_mapped")
    if frame.interlaced_frame:
        noted.append("interlaced")
    if stream.sample_aspect_ratio not in (None, 0, 1):
        noted.append("pixels_not_square")
    return noted
