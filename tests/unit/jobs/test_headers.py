"""Sizes come from the first bytes of a sample, and what does not say its size is not counted."""

import io
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from jobs.addresses import Address
from jobs.errors import StoreUnavailable
from jobs.inputs.headers import (
    HEADER_BYTES,
    ORIENTATION,
    SAMPLE,
    SIDEWAYS,
    sample_sizes,
    size_in,
    spread,
)

SIZE = (123, 45)


def picture(kind: str, size: tuple[int, int] = SIZE, **options: object) -> bytes:
    file = io.BytesIO()
    Image.effect_noise(size, 80).convert("RGB").save(file, kind, **options)
    return file.getvalue()


def turned(orientation: int, **options: object) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return picture("JPEG", exif=exif, **options)


@pytest.fixture
def put(store, bucket):
    def write(*bodies: bytes) -> list[Address]:
        addresses = [Address(bucket, f"in/{number:03d}") for number in range(len(bodies))]
        for address, body in zip(addresses, bodies, strict=True):
            store.write(address, body)
        return addresses

    return write


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP", "GIF"])
def test_every_usual_format_says_its_size_in_the_bucket(store, put, kind):
    sample = sample_sizes(store, put(picture(kind)))
    assert (sample.sizes, sample.read, sample.asked) == ((SIZE,), 1, 1)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_that_lies_on_its_side_is_measured_upright(orientation):
    upright = SIZE[::-1] if orientation in SIDEWAYS else SIZE
    assert size_in(turned(orientation)) == upright


def test_a_large_picture_is_measured_without_being_read(store, put, monkeypatch):
    body = picture("JPEG", (1500, 1000), quality=95)
    assert len(body) > HEADER_BYTES
    asked = []
    read_start = store.read_start

    def watched(address, length):
        asked.append(length)
        found = read_start(address, length)
        assert len(found) == HEADER_BYTES
        return found

    monkeypatch.setattr(store, "read_start", watched)
    monkeypatch.setattr(store, "read", lambda *_: pytest.fail("the whole object was read"))
    assert sample_sizes(store, put(body)).sizes == ((1500, 1000),)
    assert asked == [HEADER_BYTES]


def test_a_picture_too_large_to_be_opened_is_not_read_as_the_job_would_refuse_it():
    header = bytearray(picture("PNG"))
    header[16:24] = (60000).to_bytes(4, "big") * 2
    header[29:33] = zlib.crc32(header[12:29]).to_bytes(4, "big")
    assert size_in(bytes(header)) is None


def test_what_does_not_say_its_size_is_asked_and_not_read(store, bucket, put):
    addresses = put(picture("PNG"), b"", b"not a picture", picture("JPEG")[:20])
    sample = sample_sizes(store, [*addresses, Address(bucket, "in/gone")])
    assert (sample.sizes, sample.read, sample.asked) == ((SIZE,), 1, 5)


def test_a_size_behind_the_first_bytes_is_not_read(store, put):
    far = b"II*\0" + (2 * HEADER_BYTES).to_bytes(4, "little") + bytes(3 * HEADER_BYTES)
    assert sample_sizes(store, put(far)).sizes == ()


def test_a_store_that_does_not_answer_for_one_picture_costs_that_picture(store, put, monkeypatch):
    addresses = put(picture("PNG"), picture("GIF"))
    read_start = store.read_start

    def answer(address, length):
        if address == addresses[0]:
            raise StoreUnavailable("busy")
        return read_start(address, length)

    monkeypatch.setattr(store, "read_start", answer)
    assert (sample_sizes(store, addresses).read, sample_sizes(store, addresses).asked) == (1, 2)


def test_no_more_than_a_sample_is_asked(store, put):
    addresses = put(picture("PNG")) * (SAMPLE + 10)
    assert sample_sizes(store, addresses).asked == SAMPLE
    assert sample_sizes(store, addresses, most=3).asked == 3


@given(count=st.integers(0, 2000), most=st.integers(1, 100))
def test_a_sample_is_spread_evenly_and_takes_nothing_twice(count, most):
    items = [Address("b", str(number)) for number in range(count)]
    places = [int(item.key) for item in spread(items, most)]
    assert len(places) == min(count, most)
    steps = [after - before for before, after in pairwise(places)]
    assert not steps or (min(steps) >= 1 and max(steps) - min(steps) <= 1)
