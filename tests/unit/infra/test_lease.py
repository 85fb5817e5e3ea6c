"""A lease is judged by one monotonic clock: no wall clock ends a cluster early, or never."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.clusters.local import lease
from infra.clusters.local.lease import Judge


def text(lease_s: object, mark: str = "a") -> str:
    return json.dumps({"lease_s": lease_s, "mark": mark})


def test_a_lease_holds_for_its_length_from_when_it_was_seen_to_change():
    judge = Judge(born=0, lifetime_s=1000)
    assert judge.verdict(text(10), 5) == ""
    assert judge.verdict(text(10), 14.9) == ""
    assert judge.verdict(text(10), 15) == "its lease of 10 s was not renewed"


def test_a_renewed_lease_counts_anew_and_with_its_own_length():
    judge = Judge(born=0, lifetime_s=1000)
    judge.verdict(text(10, "a"), 0)
    assert judge.verdict(text(90, "b"), 9) == ""
    assert judge.verdict(text(90, "b"), 98.9) == ""
    assert judge.verdict(text(90, "b"), 99) != ""


def test_a_lifetime_ends_a_cluster_with_a_fresh_lease():
    judge = Judge(born=100, lifetime_s=50)
    assert judge.verdict(text(10, "a"), 149) == ""
    assert judge.verdict(text(10, "b"), 150) == "its lifetime of 50 s is over"


def test_a_cluster_without_a_lease_must_end():
    assert Judge(born=0, lifetime_s=1000).verdict(None, 1) == "its lease was removed"


@pytest.mark.parametrize("torn", ["", "{", "[]", "null", text(None), text("long"), "\0"])
def test_a_lease_that_can_not_be_read_has_run_out(torn):
    assert "was not renewed" in Judge(born=0, lifetime_s=1000).verdict(torn, 1)


def test_each_grant_differs_so_that_a_renewal_by_the_same_length_is_seen(tmp_path):
    lease.grant(tmp_path, 30)
    first = lease.read(tmp_path)
    lease.grant(tmp_path, 30)
    assert lease.read(tmp_path) != first
    assert [file.name for file in tmp_path.iterdir()] == [lease.NAME]


def test_a_grant_into_a_folder_that_is_gone_is_an_error_and_makes_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        lease.grant(tmp_path / "gone", 30)
    assert lease.read(tmp_path / "gone") is None


@given(
    beats=st.lists(st.floats(0.1, 9.9), max_size=20),
    step=st.floats(-1e9, 1e9),
    length=st.floats(10, 100),
)
def test_whatever_the_wall_clock_does_a_lease_ends_exactly_its_length_after_the_last_beat(
    beats, step, length
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: step)
        judge, now = Judge(born=0, lifetime_s=1e6), 0.0
        for number, pause in enumerate(beats):
            assert judge.verdict(text(length, str(number)), now) == ""
            now += pause
        last = str(len(beats))
        assert judge.verdict(text(length, last), now) == ""
        assert judge.verdict(text(length, last), now + length * 0.99) == ""
        assert judge.verdict(text(length, last), now + length * 1.01) != ""
