"""What must be written is written once the store takes it, in order, and given up with a word."""

import logging
from itertools import pairwise

import pytest

from jobs.clusters.owed import LONGEST_WAIT_S, Owed
from jobs.errors import AccessDenied, Conflict, StoreUnavailable


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def owed(clock):
    return Owed(clock, clock.sleep)


def failing(log, name, *errors):
    """A write that fails with each error once, and then notes its name."""
    waiting = list(errors)

    def write():
        if waiting:
            raise waiting.pop(0)
        log.append(name)

    return write


@pytest.mark.parametrize("error", [StoreUnavailable("away"), AccessDenied("expired")])
def test_writes_that_the_store_does_not_take_are_made_later_and_in_order(owed, clock, error):
    log = []
    owed.write("one", failing(log, "one", error))
    owed.write("two", failing(log, "two"))
    owed.catch_up()
    assert (log, len(owed)) == ([], 2)
    clock.now += 1.0
    owed.catch_up()
    assert (log, len(owed)) == (["one", "two"], 0)


def test_tries_become_rare_but_never_end(owed, clock):
    tries = []

    def write():
        tries.append(clock.now)
        raise StoreUnavailable("away")

    owed.write("one", write)
    for _ in range(1000):
        clock.now += 1.0
        owed.catch_up()
    gaps = [later - before for before, later in pairwise(tries)]
    assert gaps[:3] == [1.0, 2.0, 4.0]
    assert gaps[-1] == LONGEST_WAIT_S


def test_a_write_that_was_lost_to_another_is_told_and_holds_up_nothing(owed, caplog):
    log = []
    owed.write("one", failing(log, "one", Conflict("taken over")))
    owed.write("two", failing(log, "two"))
    assert (log, len(owed)) == (["two"], 0)
    assert "one: taken over" in caplog.text


def test_before_leaving_the_store_is_waited_for_but_not_for_ever(owed, clock, caplog):
    caplog.set_level(logging.ERROR, "zeroshift")
    owed.write("the bill", failing([], "x", *[StoreUnavailable("away")] * 1000))
    owed.settle_up(30.0)
    assert clock.now == 1030.0
    assert [each.message for each in caplog.records] == [
        "the bill: not written in 30 s; the reaper will do it"
    ]
    assert len(owed) == 0


def test_with_nothing_owed_leaving_takes_no_time(owed, clock):
    owed.settle_up(30.0)
    assert clock.now == 1000.0
