"""A few small pictures stand in the page, many in chunks beside it; none is lost on the way."""

import base64
import json

from jobs.report.pictures import CHUNK_BYTES, INLINE_CHUNKS, Chunks


def chunked(sizes: list[list[int]]):
    """Rows of pictures of these sizes: their places, the chunks in the page, those beside it."""
    beside: dict[str, str] = {}
    chunks = Chunks(lambda name, body, kind: beside.__setitem__(name, body.decode()))
    pictures = [[bytes([row % 256]) * size for size in row_] for row, row_ in enumerate(sizes)]
    places = [chunks.add(each) for each in pictures]
    return pictures, places, chunks.finish(), beside


def found(places, chunks):
    return [
        [base64.b64decode(text) for text in chunks[chunk][first : first + count]]
        for chunk, first, count in places
    ]


def test_a_few_pictures_stand_in_the_page():
    pictures, places, inside, beside = chunked([[10], [20, 30]])
    assert beside == {}
    assert found(places, inside) == pictures


def test_many_pictures_lie_in_chunks_beside_the_page():
    each = CHUNK_BYTES // 4
    pictures, places, inside, beside = chunked([[each]] * (INLINE_CHUNKS * 4 + 1))
    assert inside == []
    assert list(beside) == [f"report-thumbs-{n:05d}.js" for n in range(len(beside))]
    chunks = []
    for number, script in enumerate(beside.values()):
        called = json.loads("[" + script.removeprefix("zeroshiftThumbs(").rstrip()[:-1] + "]")
        assert called[0] == number
        chunks.append(called[1])
    assert found(places, chunks) == pictures


def test_as_much_as_the_page_may_hold_is_not_written_beside_it():
    whole = CHUNK_BYTES * 3 // 4  # of bytes, which is a chunk of base64
    _, places, inside, beside = chunked([[whole]] * (INLINE_CHUNKS - 1) + [[10]])
    assert (len(inside), beside) == (INLINE_CHUNKS, {})
    assert [place[0] for place in places] == list(range(INLINE_CHUNKS))


def test_no_pictures_are_no_chunks():
    assert chunked([])[2:] == ([], {})
