"""Of two attempts at a shard one counts, the last by epoch, and neither spoils the other's rows."""

import pytest

from jobs.addresses import Address, JobPaths
from jobs.closing.close import Closing
from jobs.closing.reconcile import read_markers
from jobs.commit import commit, make_commit, mark
from jobs.errors import Conflict, StoreUnavailable
from jobs.order import PinnedInput
from jobs.rows import Row, Usage

KEY = "s3://b/1"


def rows(answer: str) -> list[Row]:
    usage = Usage(prompt_tokens=7, image_tokens=4, output_tokens=3)
    return [Row(key=KEY, version="e", status="ok", output=answer, usage=usage)]


@pytest.fixture
def paths(bucket, store) -> JobPaths:
    paths = JobPaths.of(bucket, "j")
    line = PinnedInput(address=KEY, etag="e", size=1).model_dump_json()
    store.write(paths.inputs_of(0), line.encode())
    return paths


@pytest.fixture
def put(store, paths):
    def put(epoch: int, attempt: int = 1, store=store):
        body, marker = make_commit(paths, rows(f"{epoch}.{attempt}"), 0, epoch, attempt, 1.0)
        return commit(store, paths, body, marker)

    return put


@pytest.fixture
def answer(store, paths):
    """What the committed rows say, through the marker, as the close reads them."""

    def read() -> str:
        closing = Closing(store, paths, Address(paths.root.bucket, "out/"), shards=1)
        closing.reconcile()
        marker = read_markers(store, paths, {})[0]
        return closing._reader().rows(marker)[0].output

    return read


def test_a_commit_is_read_through_its_marker(put, answer):
    marker = put(1)
    assert answer() == "1.1"
    assert (marker.file, marker.tokens, marker.rows) == ("00000-00001-01.jsonl", 10, 1)


@pytest.mark.parametrize(
    ("first", "second"), [((1, 1), (1, 2)), ((1, 4), (2, 1)), ((2, 1), (10, 1))]
)
@pytest.mark.parametrize("turn", [1, -1])
def test_the_last_attempt_wins_by_epoch_whichever_is_written_last(put, answer, first, second, turn):
    for epoch, attempt in [first, second][::turn]:
        counts = put(epoch, attempt)
    assert answer() == f"{second[0]}.{second[1]}"
    assert counts.rank == second


def test_rows_without_a_marker_are_not_read(store, paths, put, answer):
    put(1)
    body, marker = make_commit(paths, rows("late"), 0, 2, 1, 1.0)
    store.write(paths.rows / marker.file, body)  # and it dies here
    assert answer() == "1.1"


def test_an_old_writer_that_wakes_up_does_not_spoil_what_was_committed(store, paths, put, answer):
    body, late = make_commit(paths, rows("late"), 0, 1, 1, 1.0)
    put(2)
    store.write(paths.rows / late.file, body)
    assert answer() == "2.1"
    assert mark(store, paths, late).rank == (2, 1)
    assert answer() == "2.1"


def test_a_commit_that_is_delivered_twice_is_one(put, answer):
    assert put(1) == put(1).model_copy(update={"ended_at": put(1).ended_at})
    assert answer() == "1.1"


class Refuses:
    """A store whose conditional writes always lose, or lose once after they took effect."""

    def __init__(self, store, effective: bool):
        self._store, self._effective = store, effective

    def __getattr__(self, name):
        return getattr(self._store, name)

    def create(self, *arguments):
        if self._effective:
            self._store.create(*arguments)
        raise Conflict("changed by somebody else")


def test_a_marker_whose_answer_was_lost_counts(put, answer, store):
    assert put(1, store=Refuses(store, effective=True)).rank == (1, 1)
    assert answer() == "1.1"


def test_a_marker_that_can_not_be_written_is_an_error(put, store):
    with pytest.raises(StoreUnavailable, match="the marker changed"):
        put(1, store=Refuses(store, effective=False))
