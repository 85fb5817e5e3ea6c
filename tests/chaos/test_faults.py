"""The seeds of the chaos runs stand for what they say."""

from tests.chaos.faults import FAULTS, LATEST, draw


def test_a_seed_stands_for_the_same_fault_always() -> None:
    assert draw(11) == draw(11)


def test_as_many_seeds_as_faults_have_each_fault_once() -> None:
    assert {draw(seed).name for seed in range(len(FAULTS))} == set(FAULTS)


def test_faults_strike_at_the_start_and_all_along() -> None:
    moments = [draw(seed).after for seed in range(200)]
    assert None in moments
    assert {after // 10 for after in moments if after} == set(range((LATEST + 9) // 10))


def test_the_network_has_trouble_for_its_own_faults_alone() -> None:
    for seed in range(100):
        fault = draw(seed)
        assert (fault.trouble is not None) == fault.name.startswith("s3 ")
