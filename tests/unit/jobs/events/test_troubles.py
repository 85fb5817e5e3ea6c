"""What fails, whatever it is, is a line now and then, and keeps nothing else from being taken."""

import itertools
import logging

import pytest

from jobs.errors import AccessDenied, StoreUnavailable
from jobs.events import troubles as module
from jobs.events.messages import ObjectEvent
from jobs.events.troubles import MOST_BUSY_S, MOST_S, Troubles
from jobs.settings.doors import Events


class Monotonic:
    """A clock to turn."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def monotonic():
    return Monotonic()


@pytest.fixture
def troubles(monotonic):
    return Troubles(monotonic)


class Breaks:
    """Raises, and counts how often it was asked."""

    def __init__(self, error):
        self.error, self.asked = error, 0

    def __call__(self):
        self.asked += 1
        raise self.error.with_traceback(None)


BUG, BUSY = KeyError("s3"), StoreUnavailable("busy")


def test_the_second_look_comes_at_once_and_then_they_come_ever_later(troubles, monotonic):
    broken = Breaks(BUG)
    asked_at = []
    for _ in range(4000):  # looks every 5 s, for hours
        before = broken.asked
        troubles.attempt("a", broken)
        if broken.asked > before:
            asked_at.append(monotonic.now)
        monotonic.now += 5
    waits = [later - at for at, later in itertools.pairwise(asked_at)]
    assert waits[:6] == [5, 5, 10, 20, 40, 80]
    assert waits[-1] == MOST_S
    assert len(asked_at) < 50


def test_a_store_that_was_busy_is_looked_at_again_soon(troubles, monotonic):
    broken = Breaks(BUSY)
    for _ in range(100):
        troubles.attempt("a", broken)
        monotonic.now += MOST_BUSY_S
    assert broken.asked == 100


def test_one_that_got_well_begins_anew(troubles):
    broken = Breaks(BUG)
    troubles.attempt("a", broken)
    assert troubles.attempt("a", lambda: 7) == 7
    troubles.attempt("a", broken)
    assert troubles.attempt("a", lambda: 8) == 8


@pytest.mark.parametrize(
    ("error", "level", "said"),
    [
        (BUSY, logging.WARNING, "s3://b/a/: will look again (failed once): busy"),
        (AccessDenied("no\nentry"), logging.ERROR, "(failed once): no entry"),
        (BUG, logging.ERROR, "KeyError: 's3' ("),
    ],
)
def test_each_failure_is_one_line_and_a_fault_of_ours_says_where(
    troubles, caplog, error, level, said
):
    troubles.attempt("s3://b/a/", Breaks(error))
    [record] = caplog.records
    assert record.levelno == level
    assert said in record.getMessage()
    assert "\n" not in record.getMessage()
    assert (f"{__file__}:" in record.getMessage()) == (error is BUG)


def test_what_is_kept_of_troubles_is_bounded(troubles, monkeypatch):
    monkeypatch.setattr(module, "MOST_PLACES", 3)
    for number in range(5):
        troubles.attempt(number, Breaks(StoreUnavailable("busy")))
    assert list(troubles._known) == ["2", "3", "4"]


@pytest.fixture
def broken_folder(monkeypatch):
    """A fault of ours in every folder whose name has "bad" in it."""
    from jobs.events import folders

    judge, asked = folders.judge, []

    def broken(folder, memory, now):
        asked.append(folder.address.name)
        if "bad" in folder.address.name:
            raise ZeroDivisionError("a fault of ours")
        return judge(folder, memory, now)

    monkeypatch.setattr(folders, "judge", broken)
    return asked


def test_one_bad_folder_keeps_no_other_from_being_taken_and_is_not_said_at_every_look(
    make_doors, put, close, broken_folder, caplog
):
    clock = Monotonic()
    doors = make_doors()
    doors._troubles._monotonic = clock
    for name in ("a-bad", "good", "z-bad"):
        put(f"{name}/1.png")
        close(name)
    assert len(doors.look()) == 1
    assert [each.rsplit("/", 2)[1] for each in doors.troubled] == ["a-bad", "z-bad"]
    for number in range(100):
        put(f"good-{number}/1.png")
        close(f"good-{number}")
        clock.now += 5
        assert len(doors.look()) == 1
    lines = [each for each in caplog.messages if "a-bad" in each]
    assert len(lines) == broken_folder.count("a-bad") == 8
    assert all("ZeroDivisionError: a fault of ours" in each for each in lines)


@pytest.mark.parametrize("door", ["events", "notes"])
def test_so_it_is_at_every_door(
    store, bucket, make_doors, put, close, clock, broken_folder, started, door
):
    doors = make_doors(closed_by="quiet", quiet_s=5, events=Events(token_variable="X"))
    put("a-bad/1.png", "good/1.png")
    events = [ObjectEvent(bucket, f"inbox/{name}/1.png", "created") for name in ("a-bad", "good")]
    if door == "events":
        clock.ahead_s = 6
        seen = doors.take(events)
        assert (seen.of(events[:1]), seen.of(events[1:])) == (2, 0)
    else:
        for each in events:
            doors._notes.put(doors._hints._where(each).folder, 0.0)
        clock.ahead_s = 6
        doors._listed_at = doors._monotonic()  # no listing comes to its help
        doors.look()
        assert len(doors.troubled) == 1
    assert started(store, bucket) == [("good/1.png",)]


def test_a_prefix_that_can_not_be_listed_keeps_no_other_from_it(
    store, make_doors, make_rule, put, close, monkeypatch, caplog
):
    listing = store.list
    monkeypatch.setattr(
        store,
        "list",
        lambda place: listing(place) if "a-bad" not in place.key else Breaks(AccessDenied("no"))(),
    )
    rules = (make_rule(prefix="a-bad/", output="r/{rule}/{folder}/"), make_rule())
    put("a/1.png")
    close("a")
    doors = make_doors(rules=rules)
    assert len(doors.look()) == 1
    assert len(doors.troubled) == 1
    assert "/a-bad/: will look again (failed once): no" in caplog.text


def test_a_queue_that_is_not_there_keeps_listings_from_nothing(make_doors, put, close, caplog):
    put("a/1.png")
    close("a")
    events = Events(queue_url="http://127.0.0.1:1/none", endpoint_url="http://127.0.0.1:1")
    doors = make_doors(events=events)
    doors._consumer._queue = None  # whatever is asked of it fails
    assert len(doors.look()) == 1
    assert doors.troubled == ["queue http://127.0.0.1:1/none"]
    assert "failed once" in caplog.text
