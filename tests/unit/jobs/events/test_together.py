"""Requests that come while another is seen to share one look, and none gets an older answer."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.events.hints import Seen, Sightings
from jobs.events.messages import ObjectEvent
from jobs.events.together import Together


def event(number):
    return ObjectEvent("b", f"inbox/{number}/1.png", "created")


class Looks:
    """Looks that wait for a sign; what each was asked."""

    def __init__(self):
        self.asked, self.began, self.may_end = [], threading.Semaphore(0), threading.Semaphore(0)
        self.breaks = 0

    def __call__(self, events):
        self.asked.append(list(events))
        self.began.release()
        assert self.may_end.acquire(timeout=30)
        if self.breaks:
            self.breaks -= 1
            raise ValueError("broke")
        return Sightings({(each.bucket, each.key): Seen.DONE for each in events})


@pytest.fixture
def looks():
    return Looks()


@pytest.fixture
def crowd(looks):
    """One is being seen to, and twenty wait."""
    together = Together(looks)
    with ThreadPoolExecutor(21) as pool:
        first = pool.submit(together.see, [event(0)])
        assert looks.began.acquire(timeout=30)
        others = [pool.submit(together.see, [event(each)]) for each in range(1, 21)]
        while len(together._waiting) < 20:
            threading.Event().wait(0.001)
        yield [first, *others]


def test_all_who_wait_share_the_next_look(looks, crowd):
    for _ in range(2):
        looks.may_end.release()
    seen = [each.result(30) for each in crowd]
    assert [len(each) for each in looks.asked] == [1, 20]
    assert all(one.of([event(n)]) is Seen.DONE for n, one in enumerate(seen))


def test_a_look_that_breaks_is_the_error_of_one_and_the_others_look_again(looks, crowd):
    looks.breaks = 1
    for _ in range(40):
        looks.may_end.release()
    done = [each.exception(30) for each in crowd]
    assert [type(each) for each in done if each] == [ValueError]
    assert all(each.result().of([event(n)]) is Seen.DONE for n, each in enumerate(crowd) if n)
