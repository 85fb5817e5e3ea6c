"""The traces are what their seeds make, and on each the policy is near the optimum."""

from importlib.resources import files

import pytest

from jobs.errors import UserError
from jobs.policy.arrivals import NAMES, parse_trace, read_trace
from jobs.policy.costs import assumed
from jobs.policy.generate import KINDS, SEED, trace_text
from jobs.policy.table import compare, total_usd


def test_every_kind_has_a_trace():
    assert tuple(KINDS) == NAMES


@pytest.mark.parametrize("kind", NAMES)
def test_a_trace_is_what_its_seed_makes(kind):
    kept = (files("jobs.policy") / "traces" / f"{kind}.csv").read_text()
    assert kept == trace_text(kind)
    assert kept.startswith(f"# jobs.policy.generate, {kind}, seed {SEED}\n")
    assert kept != trace_text(kind, SEED + 1)


@pytest.fixture(scope="module")
def rows():
    return compare({name: read_trace(name) for name in NAMES}, assumed())


def test_the_policy_is_within_a_third_of_the_optimum_on_each_trace(rows):
    learned = {row.trace: row.ratio for row in rows if row.outcome.policy == "learned"}
    assert set(learned) == set(NAMES)
    assert max(learned.values()) <= 1.35


def test_the_policy_is_cheaper_than_what_clusters_are_usually_set_to(rows):
    ours = total_usd(rows, "learned")
    for usual in ("always on", "fixed 60 s", "fixed 900 s", "break-even"):
        assert 0 < ours < total_usd(rows, usual)


def test_nothing_is_cheaper_than_the_optimum(rows):
    assert min(row.ratio for row in rows) == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found no header"),
        ("at_s,work_s,images\n", "found no arrivals"),
        ("# c\nat_s,work_s,images\n1,x,3\n", "t:3: found '1,x,3'"),
        ("at_s,work_s,images\n1,2\n", "t:2: found '1,2'"),
        ("at_s,work_s,images\nnan,2,3\n", "t:2: found 'nan,2,3'"),
        ("at_s,work_s,images\n1,-2,3\n", "t:2: found '1,-2,3'"),
    ],
)
def test_a_trace_that_is_none_is_told_in_one_line(text, said):
    with pytest.raises(UserError, match="allowed: ") as caught:
        parse_trace(text, "t")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_trace_that_is_not_there_names_those_that_are():
    with pytest.raises(UserError, match=r"No such file.*nightly, poisson"):
        read_trace("/nowhere/at/all.csv")
