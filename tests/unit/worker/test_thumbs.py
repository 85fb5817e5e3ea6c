"""Small pictures lie beside the rows that they belong to, and never cost a row."""

import io

import pytest
from PIL import Image

from jobs.addresses import Address
from jobs.errors import StoreUnavailable
from jobs.order import Marker
from jobs.store.bucket import Store
from jobs.thumbs import LONGEST_SIDE, pack, unpack


def kept(shard) -> dict[int, list[Image.Image]]:
    marker = Marker.model_validate_json(shard.store.read(shard.paths.marker_of(0)))
    found = unpack(shard.store.read(shard.paths.thumbs / marker.thumbs))
    return {row: [Image.open(io.BytesIO(each)) for each in all_] for row, all_ in found.items()}


def test_each_decoded_picture_is_kept_small_and_upright_under_its_row(shard, engine, picture):
    shard.put([picture(40, (112, 448)), b"no picture", picture(200)])
    shard.work(engine(), thumbs=True)
    found = kept(shard)
    assert sorted(found) == [0, 2]
    [first], [last] = found[0], found[2]
    assert first.size == (LONGEST_SIDE * 112 // 448, LONGEST_SIDE)
    assert last.size == (56, 56)
    assert first.getpixel((9, 9))[0] < 60 < 180 < last.getpixel((9, 9))[0]


def test_a_wrong_answer_keeps_its_picture(shard, engine, picture):
    shard.put([picture(1)])
    marker = shard.work(engine(lambda question: "no"), thumbs=True)
    assert (marker.errors, sorted(kept(shard))) == (1, [0])


def test_without_the_wish_or_without_a_picture_there_is_no_file(shard, engine, picture):
    shard.put([picture(1)])
    assert shard.work(engine()).thumbs == ""
    assert not any("/thumbs/" in key for key in shard.written())
    shard.put([b"no picture"])
    assert shard.work(engine(), thumbs=True, epoch=3).thumbs == ""


def test_rows_are_committed_though_their_pictures_can_not_be_written(shard, engine, picture):
    class NoThumbs(Store):
        def write(self, address: Address, body: bytes, kind: str = "application/json") -> None:
            if "/thumbs/" in address.key:
                raise StoreUnavailable("away")
            super().write(address, body, kind)

    shard.put([picture(1)])
    marker = shard.work(engine(), store=NoThumbs(shard.store.options), thumbs=True)
    assert (marker.rows, marker.thumbs) == (1, "")


def test_the_pictures_of_a_prompt_keep_their_order():
    assert unpack(pack([(b"a", b"b"), (), (b"c",)])) == {0: [b"a", b"b"], 2: [b"c"]}


@pytest.mark.parametrize("body", [b"", b"PK", pack([(b"a",)])[:-9]])
def test_a_file_that_is_no_zip_of_pictures_is_said_to_be_none(body):
    with pytest.raises(ValueError, match="not small pictures"):
        unpack(body)
