"""A worker that is told to wind down begins no further shard."""

import pytest

from jobs.addresses import Address
from jobs.errors import StoreUnavailable
from jobs.store.memory import MemoryStore
from worker.wind_down import LOOK_S, WindDown


@pytest.fixture
def wish():
    return Address("b", "wind-down")


def test_the_wish_is_looked_for_now_and_then_and_never_forgotten(wish):
    store, now = MemoryStore(), [0.0]
    store.make_bucket("b")
    wind_down = WindDown(store, wish, lambda: now[0])
    assert not wind_down.told
    store.write(wish, b"")
    assert not wind_down.told  # too soon to look again
    now[0] += LOOK_S
    assert wind_down.told
    store.delete(wish)
    now[0] += LOOK_S
    assert wind_down.told


def test_a_store_that_is_away_is_no_wish(wish, monkeypatch):
    store = MemoryStore()

    def away(address):
        raise StoreUnavailable("away")

    monkeypatch.setattr(store, "exists", away)
    assert not WindDown(store, wish).told
