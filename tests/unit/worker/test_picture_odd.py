"""Strange but valid files: true pixels, and what an independent decoder makes of them."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image

from tests.odd_pictures import Odd, odd_pictures, seen, smooth, tiff
from worker.errors import PictureError
from worker.pictures import Limits, Prepared, prepare


@dataclass(frozen=True)
class AsStored:
    """A family that sees every picture at its own size."""

    def model_size(self, width: int, height: int) -> tuple[int, int]:
        return width, height


def decoded(data: bytes) -> Prepared:
    return prepare(data, AsStored(), Limits())


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(decoded(data).image, int)


ODD = list(odd_pictures())


@pytest.mark.parametrize("odd", ODD, ids=[name for name, *_ in ODD])
def test_an_odd_file_has_its_true_pixels(odd: Odd):
    name, data, truth = odd
    deep_alpha = name.startswith(("png type 4, 16", "png type 6, 16"))
    assert np.abs(pixels(data) - truth).max() <= (2 if deep_alpha else 1)
    deep = any(mark in name for mark in ("16 bit", "grey 16", "zero 16", "colour 16", "float"))
    deep = (deep and not name.startswith("bmp")) or name.endswith(("of 1000", "of 65535"))
    assert decoded(data).warnings == (("depth_reduced",) if deep else ())


@pytest.mark.parametrize("odd", ODD, ids=[name for name, *_ in ODD])
def test_ffmpeg_sees_the_same_where_it_sees_anything(odd: Odd):
    av = pytest.importorskip("av")
    name, data, _ = odd
    unlike = ("type 4", "type 6", "alpha", "tiled")  # it doesn't composite, and cuts tiles wrongly
    if any(word in name for word in unlike):
        pytest.skip("FFmpeg sees it otherwise")
    try:
        with av.open(io.BytesIO(data)) as container:
            theirs = next(container.decode(video=0)).to_ndarray(format="rgb24")
    except av.FFmpegError:
        pytest.skip("FFmpeg can't decode it")
    assert np.abs(pixels(data) - theirs).max() <= 1


def lossy() -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(4)
    small = Image.fromarray(rng.integers(0, 256, (12, 15, 3), dtype=np.uint8))
    image = small.resize((150, 117), Image.Resampling.BICUBIC)

    def saved(kind: str, picture: Image.Image = image, **options: object) -> bytes:
        file = io.BytesIO()
        picture.save(file, kind, **options)
        return file.getvalue()

    for subsampling in (0, 1, 2):
        for progressive in (False, True):
            options = {"subsampling": subsampling, "progressive": progressive}
            yield f"jpeg {subsampling} {progressive}", saved("JPEG", **options)
    yield "jpeg grey", saved("JPEG", image.convert("L"))
    yield "jpeg restarts", saved("JPEG", restart_marker_rows=1)
    yield "jpeg as rgb", saved("JPEG", keep_rgb=True)
    yield "mpo", saved("MPO", save_all=True, append_images=[image.rotate(180)])
    yield "webp", saved("WEBP")
    yield "webp lossless", saved("WEBP", lossless=True)
    yield "avif", saved("AVIF")
    yield "jpeg2000", saved("JPEG2000", quality_layers=[20])
    yield "jpeg2000 codestream", saved("JPEG2000", no_jp2=True)
    yield "jpeg2000 grey", saved("JPEG2000", image.convert("L"))
    yield "jpeg2000 tiles", saved("JPEG2000", tile_size=(64, 64))
    yield "gif", saved("GIF")
    yield "gif interlaced", saved("GIF", interlace=1)
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        yield f"tiff {compression}", saved("TIFF", compression=compression)
    yield "tiff bilevel fax", saved("TIFF", image.convert("1"), compression="group4")
    yield "dds", saved("DDS")


LOSSY = dict(lossy())


@pytest.mark.parametrize("name", LOSSY)
def test_compressed_files_look_the_same_to_another_decoder(name):
    cv2 = pytest.importorskip("cv2")
    data = LOSSY[name]
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    theirs = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if theirs is None:
        av = pytest.importorskip("av")
        with av.open(io.BytesIO(data)) as container:
            theirs = next(container.decode(video=0)).to_ndarray(format="rgb24")
    difference = np.abs(pixels(data) - theirs)
    assert difference.mean() < 1.5, difference.max()


def test_heic_looks_like_what_was_saved():
    pytest.importorskip("pillow_heif").register_heif_opener()
    image = Image.fromarray(seen(smooth(3, 255), 255))
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # to be ignored: in HEIF, boxes of its own turn the picture
    image.save(file, "HEIF", quality=95, exif=exif)
    prepared = decoded(file.getvalue())
    assert prepared.facts.format == "heic"
    assert prepared.facts.orientation == 1
    assert np.abs(np.asarray(prepared.image, int) - np.asarray(image, int)).mean() < 3


def test_premultiplied_alpha_is_not_multiplied_twice():
    values = smooth(4, 255)
    values[..., :3] = values[..., :3] * values[..., 3:] // 255
    shares = values / 255
    truth = np.round((shares[..., :3] + 1 - shares[..., 3:]) * 255)
    assert np.abs(pixels(tiff(values, 8, "<", 2, extra=1)) - truth).max() <= 2


def test_four_channels_without_alpha_are_not_seen_through():
    values = smooth(4, 255)
    values[..., 3] = 0
    assert np.abs(pixels(tiff(values, 8, "<", 2, extra=0)) - values[..., :3]).max() <= 1


def test_planes_of_sixteen_bits_are_refused_and_not_misread():
    with pytest.raises(PictureError) as caught:
        decoded(tiff(smooth(3, 65535), 16, "<", 2, planar=True))
    assert caught.value.code == "unsupported_format:tiff"
    assert "planes" in str(caught.value)


def test_colour_in_floating_point_is_refused_by_name():
    with pytest.raises(PictureError) as caught:
        decoded(tiff(smooth(3, 100) / 100, 32, "<", 2, real=True))
    assert caught.value.code == "unsupported_format:tiff"


def test_an_icon_is_seen_at_its_largest():
    file = io.BytesIO()
    Image.new("RGB", (128, 128), (9, 200, 30)).save(file, "ICO", sizes=[(16, 16), (128, 128)])
    prepared = decoded(file.getvalue())
    assert prepared.image.size == (128, 128)
    assert prepared.image.getpixel((64, 64)) == (9, 200, 30)
