"""The worker tells when its engine was busy, in stretches that are apart."""

from itertools import pairwise

import pytest

from worker.busy import MOST, Busy


class Hand:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def hand() -> Hand:
    return Hand()


def test_questions_that_overlap_are_one_stretch(hand):
    busy = Busy(hand)
    with busy.asking():
        hand.at = 101.0
        with busy.asking():
            hand.at = 103.0
    hand.at = 110.0
    with busy.asking():
        hand.at = 111.0
    assert busy.stretches() == ((100.0, 103.0), (110.0, 111.0))


def test_a_question_that_is_still_with_the_engine_counts_so_far(hand):
    busy = Busy(hand)
    with busy.asking():
        hand.at = 105.0
        assert busy.stretches() == ((100.0, 105.0),)


def test_a_question_that_fails_ends_its_stretch(hand):
    busy = Busy(hand)

    def dies() -> None:
        with busy.asking():
            hand.at = 102.0
            raise RuntimeError("dead")

    with pytest.raises(RuntimeError):
        dies()
    hand.at = 200.0
    assert busy.stretches() == ((100.0, 102.0),)


def test_any_number_of_stretches_is_told_in_some_and_the_widest_gaps_stay(hand):
    busy = Busy(hand)
    for number in range(5000):
        with busy.asking():
            hand.at += 0.01
        hand.at += 60.0 if number == 2500 else 0.01
    told = busy.stretches()
    assert len(told) == MOST
    assert max(after[0] - before[1] for before, after in pairwise(told)) > 59
