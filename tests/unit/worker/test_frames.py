"""Pages and animations: one picture a wanted frame, each with its number, time and own fate."""

import io

import pytest
from PIL import Image, TiffImagePlugin

from worker.errors import PictureError
from worker.families import Family
from worker.pictures import Limits, Prepared, Selection, Unprepared, prepare_all

FAMILY = Family(28, 3136, 100 * 784, "model_pixels")
SHADES = tuple((40 * i, 255 - 40 * i, 99) for i in range(6))


def saved(kind: str, sizes: tuple[int, int] = (84, 56), **options: object) -> bytes:
    first, *others = (Image.new("RGB", sizes, shade) for shade in SHADES)
    file = io.BytesIO()
    first.save(file, kind, save_all=True, append_images=others, **options)
    return file.getvalue()


def frames(data: bytes, rule: str = "all", limits: Limits | None = None) -> list[object]:
    return list(prepare_all(data, FAMILY, limits or Limits(), Selection(frames=rule)))


def shade(prepared: object) -> tuple[int, ...]:
    assert isinstance(prepared, Prepared)
    pixel = prepared.image.getpixel((40, 30))
    return min(SHADES, key=lambda each: sum(abs(a - b) for a, b in zip(each, pixel, strict=True)))


ANIMATED = [("GIF", {}), ("WEBP", {"lossless": True}), ("PNG", {}), ("AVIF", {})]


@pytest.mark.parametrize(("kind", "options"), [*ANIMATED, ("TIFF", {})])
@pytest.mark.parametrize(
    ("rule", "wanted"), [("first", [0]), ("all", [0, 1, 2, 3, 4, 5]), ("every:2", [0, 2, 4])]
)
def test_the_wanted_frames_come_in_order_with_their_numbers(kind, options, rule, wanted):
    found = frames(saved(kind, duration=200, **options), rule)
    assert [each.frame for each in found] == wanted
    assert [shade(each) for each in found] == [SHADES[i] for i in wanted]


@pytest.mark.parametrize(("kind", "options"), ANIMATED)
def test_frames_of_an_animation_say_when_they_are_shown(kind, options):
    data = saved(kind, duration=[100, 200, 300, 100, 100, 100], **options)
    assert [each.time_s for each in frames(data)] == pytest.approx([0, 0.1, 0.3, 0.6, 0.7, 0.8])


def test_pages_have_no_time():
    assert {each.time_s for each in frames(saved("TIFF"))} == {None}


def test_each_page_has_its_own_size_orientation_and_depth():
    file = io.BytesIO()
    pages = (Image.new("L", (60, 80)), Image.new("RGB", (100, 60)), Image.new("I;16", (70, 90)))
    with TiffImagePlugin.AppendingTiffWriter(file) as writer:
        for page, orientation in zip(pages, (1, 6, 3), strict=True):
            page.save(writer, "TIFF", tiffinfo={0x0112: orientation})
            writer.newFrame()
    facts = [each.facts for each in frames(file.getvalue())]
    assert [each.orientation for each in facts] == [1, 6, 3]
    assert [(each.width, each.height) for each in facts] == [(60, 80), (60, 100), (70, 90)]
    assert [each.stored_width for each in facts] == [60, 100, 70]
    assert frames(file.getvalue())[2].warnings == ("depth_reduced",)


def test_other_views_in_an_mpo_are_no_frames():
    assert [each.facts.format for each in frames(saved("MPO"))] == ["mpo"]


def test_more_frames_than_allowed_are_refused_before_any_is_decoded():
    with pytest.raises(PictureError) as caught:
        frames(saved("GIF"), "all", Limits(max_frames=5))
    assert caught.value.code == "too_many_frames"
    assert "6 frames" in str(caught.value)
    assert len(frames(saved("GIF"), "every:2", Limits(max_frames=3))) == 3
    assert len(frames(saved("GIF"), "first", Limits(max_frames=1))) == 1


def test_frames_that_are_too_much_together_are_refused():
    pixels = 84 * 56
    assert len(frames(saved("GIF"), "all", Limits(max_clip_pixels=6 * pixels))) == 6
    with pytest.raises(PictureError) as caught:
        frames(saved("GIF"), "all", Limits(max_clip_pixels=6 * pixels - 1))
    assert caught.value.code == "too_many_frames"


def test_a_broken_page_costs_that_page_alone():
    data = bytearray(saved("TIFF", compression="tiff_adobe_deflate"))
    image = Image.open(io.BytesIO(bytes(data)))
    image.seek(2)
    start = image.tag_v2[273][0]
    data[start : start + 9] = b"\xff" * 9
    found = frames(bytes(data))
    assert [each.frame for each in found] == [0, 1, 2, 3, 4, 5]
    assert [isinstance(each, Unprepared) for each in found] == [False, False, True] + 3 * [False]
    assert found[2].error.code == "image_broken"


def test_a_cut_animation_keeps_the_frames_before_the_cut():
    data = saved("GIF", (300, 200))
    found = frames(data[: int(len(data) * 0.6)])
    assert isinstance(found[0], Prepared)
    assert len(found) < 7
    assert all(isinstance(each, Prepared) for each in found[:-1])


@pytest.mark.parametrize("rule", ["last", "every:0", "every:", "every:-1", "", "all "])
def test_a_rule_that_there_is_not_is_refused_with_those_that_there_are(rule):
    with pytest.raises(ValueError, match="allowed: first, all, every:N"):
        Selection(frames=rule)


@pytest.mark.parametrize("rule", ["count:0", "seconds:0", "often", "scene:2", "seconds:0.000"])
def test_a_video_rule_that_there_is_not_is_refused_with_those_that_there_are(rule):
    with pytest.raises(ValueError, match="allowed: count:N"):
        Selection(video=rule)
