"""Small pictures lie beside the rows that they belong to, and never cost a row."""

import io

import pytest
from PIL import Image

from jobs.addresses import Address
from jobs.errors import StoreUnavailable
from jobs.order import Marker
from jobs.rows import ImageFacts
from jobs.store.bucket import Store
from jobs.thumbs import LEAST_SIDE, ROOM_BYTES, SIDES, pack, side_for, unpack
from tests.photographs import jpeg, photograph, psnr_db
from worker.pictures import Prepared
from worker.thumbs import small


def kept(shard) -> dict[int, list[Image.Image]]:
    marker = Marker.model_validate_json(shard.store.read(shard.paths.marker_of(0)))
    found = unpack(shard.store.read(shard.paths.thumbs / marker.thumbs))
    return {row: [Image.open(io.BytesIO(each)) for each in all_] for row, all_ in found.items()}


def test_each_decoded_picture_is_kept_small_and_upright_under_its_row(shard, engine, picture):
    shard.put([picture(40, (12, 48)), b"no picture", picture(200)])
    shard.work(engine(), thumbs=True)
    found = kept(shard)
    assert sorted(found) == [0, 2]
    [first], [last] = found[0], found[2]
    assert first.size == (12, 48)
    assert last.size == (56, 56)
    assert first.getpixel((9, 9))[0] < 60 < 180 < last.getpixel((9, 9))[0]


def test_of_a_small_job_they_are_as_large_as_people_want_whatever_the_model_sees(shard, engine):
    whole = photograph(1600, 1200)
    shard.put([jpeg(whole)])
    seen = []
    for side in (LEAST_SIDE, 768):
        shard.forget()
        asked = engine(lambda question: seen.append(question.images[0].tobytes()) or "no")
        shard.work(asked, thumbs=True, thumbs_side=side, retry=False)
        [[found]] = kept(shard).values()
        assert found.size == ((56, 42) if side == LEAST_SIDE else (768, 576))
    assert seen[0] == seen[1]  # the report changes nothing of what the model sees
    assert psnr_db(found.convert("RGB"), whole.resize((768, 576))) > 25


def test_a_file_of_many_frames_has_no_more_room_than_one_picture(shard, engine):
    frames = [Image.new("RGB", (400, 300), (40 * n, 0, 0)) for n in range(4)]
    file = io.BytesIO()
    frames[0].save(file, "TIFF", save_all=True, append_images=frames[1:])
    shard.put([file.getvalue()])
    shard.work(engine(), thumbs=True, thumbs_side=1024, frames="all")
    assert {picture.size for [picture] in kept(shard).values()} == {(56, 42)}


def test_noise_is_kept_smaller_so_that_all_pictures_stay_within_their_room():
    noise = Image.effect_noise((1024, 1024), 90).convert("RGB")
    facts = ImageFacts(
        format="png",
        width=1024,
        height=1024,
        stored_width=1024,
        stored_height=1024,
        orientation=1,
        model_width=1024,
        model_height=1024,
    )
    for side in SIDES:
        body = small(Prepared(noise, facts, ()), side)
        assert len(body) <= SIDES[side]
        assert max(Image.open(io.BytesIO(body)).size) < side


def test_the_side_is_the_longest_at_which_all_pictures_have_room():
    assert [side_for(count) for count in (1, 682, 683, 1365, 2730, 2731, 10**6)] == [
        1024,
        1024,
        768,
        768,
        480,
        LEAST_SIDE,
        LEAST_SIDE,
    ]
    for count in (1, 600, 1300, 2700):
        assert count * SIDES[side_for(count)] <= ROOM_BYTES


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
