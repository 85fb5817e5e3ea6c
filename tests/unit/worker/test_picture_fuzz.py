"""Any bytes give a picture or a refusal, and nothing else."""

import io
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.fuzz_pictures import EVERYTHING, FAULTS, files, outcome, seeds
from worker.errors import PictureError
from worker.families import Family
from worker.pictures import Decoders, Limits, Prepared, prepare, prepare_all
from worker.pictures.formats import CLIPS, STILLS, sniff
from worker.pictures.stills import ORIENTATION_TAG

FAMILY = Family(28, 3136, 100 * 784, "model_pixels")
LIMITS = Limits(max_pixels=1_000_000)
KINDS = ("JPEG", "PNG", "TIFF", "WEBP", "GIF", "BMP", "JPEG2000", "AVIF", "PPM")
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def sample(kind: str) -> bytes:
    values = np.random.default_rng(3).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = 6
    exif[0x010F] = "maker"
    file = io.BytesIO()
    options = {} if kind in ("GIF", "BMP", "JPEG2000", "PPM") else {"exif": exif}
    Image.fromarray(values).save(file, kind, **options)
    return file.getvalue()


def ends_well(data: bytes) -> bool:
    try:
        prepared = prepare(data, FAMILY, LIMITS)
    except PictureError as error:
        return bool(error.code) and "\n" not in error.code
    facts = prepared.facts
    assert isinstance(prepared, Prepared)
    return prepared.image.size == (facts.model_width, facts.model_height)


@calm
@given(st.binary(max_size=300))
def test_arbitrary_bytes_end_well(data):
    assert ends_well(data)


@pytest.mark.parametrize("kind", KINDS)
@calm
@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=12),
    st.floats(0.05, 1),
)
def test_a_picture_with_changed_and_missing_bytes_ends_well(kind, changes, kept):
    data = bytearray(sample(kind))
    for where, value in changes:
        data[int(where * len(data))] = value
    assert ends_well(bytes(data[: int(kept * len(data)) + 1]))


@pytest.mark.parametrize("kind", KINDS)
@calm
@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_picture_with_a_changed_header_ends_well(kind, changes):
    data = bytearray(sample(kind))
    for where, value in changes:
        data[where % len(data)] = value
    assert ends_well(bytes(data))


def test_hundreds_of_mutated_files_of_all_formats_lose_no_decoder():
    pytest.importorskip("av")
    pytest.importorskip("pillow_heif")
    decoders, made = Decoders(2), list(files(400, seed=11))
    try:
        codes = Counter(outcome(decoders, data)[0] for _, data in made)
    finally:
        decoders.close()
    assert codes.total() == len(made)
    assert codes["prepared"] > 50
    assert codes["image_broken"] + codes["image_truncated"] > 50
    assert not {code: codes[code] for code in FAULTS if codes[code]}


def test_the_files_to_mutate_are_of_every_format_and_whole():
    pytest.importorskip("av")
    pytest.importorskip("pillow_heif")
    assert {sniff(data) for _, data in seeds()} == {*STILLS, *CLIPS}
    assert all(list(prepare_all(data, FAMILY, LIMITS, EVERYTHING)) for _, data in seeds())
