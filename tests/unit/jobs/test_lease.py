"""Rounds go on after any error: nobody would miss a thread that ended."""

import threading

import pytest

from jobs.errors import StoreUnavailable
from jobs.lease import Heartbeat, Rounds


@pytest.mark.parametrize("error", [StoreUnavailable("away"), ValueError("a bug"), KeyError("x")])
def test_a_round_that_fails_is_logged_and_the_next_one_comes(error, caplog):
    turns, again = [], threading.Event()

    def act():
        turns.append(1)
        if len(turns) == 1:
            raise error
        again.set()

    with Rounds(act, 0.001, "outbox"):
        assert again.wait(5)
    assert "outbox" in caplog.text


def test_a_heart_beats_on_after_a_bug():
    turns, again = [], threading.Event()

    def beat():
        turns.append(1)
        if len(turns) == 1:
            raise ValueError("a bug")
        again.set()

    with Heartbeat(beat, 0.004) as heart:
        assert again.wait(5)
    assert not heart.lost
