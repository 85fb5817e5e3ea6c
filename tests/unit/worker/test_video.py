"""Clips become pictures: by count, by seconds and by scene, each with the moment it stands for."""

import io
import struct
from functools import cache

import numpy as np
import pytest

from worker.errors import PictureError
from worker.families import Family
from worker.pictures import Decoders, Limits, Prepared, Selection, prepare, prepare_all

av = pytest.importorskip("av")

FAMILY = Family(28, 3136, 256 * 256, "model_pixels")
FRAMES, RATE, SIZE = 50, 10, (320, 240)
CLIPS = [
    ("mp4", "libx264", "yuv420p"),
    ("mov", "mjpeg", "yuvj420p"),
    ("avi", "mpeg4", "yuv420p"),
    ("webm", "libvpx", "yuv420p"),
    ("matroska", "libx264", "yuv420p"),
]


@cache
def clip(
    form: str = "mp4", codec: str = "libx264", pixels: str = "yuv420p", every_key: int = 12
) -> bytes:
    """Five seconds: red grows with time, green jumps in the middle; the upper left is blue."""
    file = io.BytesIO()
    with av.open(file, "w", format=form) as container:
        stream = container.add_stream(codec, rate=RATE)
        stream.width, stream.height, stream.pix_fmt = *SIZE, pixels
        stream.codec_context.gop_size, stream.bit_rate = every_key, 4_000_000
        for i in range(FRAMES):
            picture = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
            picture[...] = (i * 5, 30 if i < FRAMES // 2 else 220, 60)
            picture[:120, :160] = (0, 0, 255)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        container.mux(stream.encode())
    return file.getvalue()


def sampled(data: bytes, rule: str, limits: Limits | None = None) -> list[Prepared]:
    found = list(prepare_all(data, FAMILY, limits or Limits(), Selection(video=rule)))
    assert all(isinstance(each, Prepared) for each in found)
    return found


def moment(prepared: Prepared) -> float:
    """When the frame was drawn, by its red."""
    width, height = prepared.image.size
    return prepared.image.getpixel((width * 3 // 4, height * 3 // 4))[0] / 5 / RATE


@pytest.mark.parametrize(("form", "codec", "pixels"), CLIPS)
@pytest.mark.parametrize(
    ("rule", "times"),
    [
        ("count:1", [2.5]),
        ("count:4", [0.7, 1.9, 3.2, 4.4]),
        ("seconds:1", [0, 1, 2, 3, 4]),
        ("seconds:2.5", [0, 2.5]),
        ("scene", [0, 2.5]),
    ],
)
def test_the_wanted_moments_are_seen(form, codec, pixels, rule, times):
    found = sampled(clip(form, codec, pixels), rule)
    assert [each.frame for each in found] == list(range(len(times)))
    assert [each.time_s for each in found] == pytest.approx(times, abs=0.06)
    assert [moment(each) for each in found] == pytest.approx(times, abs=0.15)
    assert {each.facts.format for each in found} == {"webm" if form == "matroska" else form}


def test_a_frame_is_of_the_models_size_and_says_its_own():
    (frame,) = sampled(clip(), "count:1")
    assert frame.image.size == FAMILY.model_size(*SIZE)
    assert (frame.facts.width, frame.facts.height) == SIZE
    assert frame.warnings == ()


def test_no_frame_is_given_twice_when_more_are_wanted_than_there_are():
    found = sampled(clip(), "count:80")
    assert len({each.time_s for each in found}) == len(found)
    assert len(found) >= FRAMES - 2


def test_a_moment_far_ahead_is_sought_from_the_key_frame_before_it():
    found = sampled(clip(every_key=5), "seconds:2.4")
    assert [moment(each) for each in found] == pytest.approx([0, 2.4, 4.8], abs=0.15)


@pytest.mark.parametrize(
    ("turns", "matrix", "blue"),
    [
        (6, (0, 1, -1, 0), (0.75, 0.25)),
        (3, (-1, 0, 0, -1), (0.75, 0.75)),
        (8, (0, -1, 1, 0), (0.25, 0.75)),
    ],
)
def test_a_clip_from_a_turned_telephone_is_seen_upright(turns, matrix, blue):
    data = bytearray(clip())
    at = data.index(b"tkhd") + 4 + 40
    a, b, c, d = (value << 16 for value in matrix)
    data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    (frame,) = sampled(bytes(data), "count:1")
    assert frame.facts.orientation == turns
    upright = SIZE if turns == 3 else SIZE[::-1]
    assert (frame.facts.width, frame.facts.height) == upright
    width, height = frame.image.size
    red, _, bluest = frame.image.getpixel((int(width * blue[0]), int(height * blue[1])))
    assert bluest > 200 > red


@pytest.mark.parametrize(("form", "codec", "pixels"), CLIPS)
@pytest.mark.parametrize("kept", [0.01, 0.3, 0.7, 0.99])
def test_a_cut_clip_is_truncated_and_never_half_a_clip(form, codec, pixels, kept):
    data = clip(form, codec, pixels)
    with pytest.raises(PictureError) as caught:
        sampled(data[: int(len(data) * kept)], "count:8")
    assert caught.value.code in ("image_truncated", "image_broken")


def test_more_moments_than_allowed_are_refused():
    for rule in ("count:101", "seconds:0.01"):
        with pytest.raises(PictureError) as caught:
            sampled(clip(), rule)
        assert caught.value.code == "too_many_frames"
    with pytest.raises(PictureError) as caught:
        sampled(clip(), "scene", Limits(max_frames=1))
    assert caught.value.code == "too_many_frames"


def test_a_clip_of_too_many_pixels_is_refused_before_it_is_decoded():
    with pytest.raises(PictureError) as caught:
        sampled(clip(), "count:1", Limits(max_pixels=320 * 240 - 1))
    assert caught.value.code == "image_too_large"


def test_sound_without_a_picture_is_no_picture():
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=44100)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        sound.sample_rate = 44100
        container.mux(stream.encode(sound))
        container.mux(stream.encode())
    with pytest.raises(PictureError) as caught:
        prepare(file.getvalue(), FAMILY, Limits())
    assert caught.value.code == "not_an_image"
    assert "no video" in str(caught.value)


def test_deep_colour_is_noted():
    (frame,) = sampled(clip("mp4", "libx264", "yuv420p10le"), "count:1")
    assert frame.warnings == ("depth_reduced",)


def test_a_clip_comes_from_a_decoder_process_as_it_does_from_here():
    pool = Decoders(1)
    try:
        apart = pool.prepare(clip(), FAMILY, Limits(), Selection(video="count:3"))
    finally:
        pool.close()
    here = sampled(clip(), "count:3")
    assert [(each.frame, each.time_s) for each in apart] == [(e.frame, e.time_s) for e in here]
    assert all(a.image.tobytes() == h.image.tobytes() for a, h in zip(apart, here, strict=True))
