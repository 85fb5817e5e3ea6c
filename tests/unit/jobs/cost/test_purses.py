"""What is left of a budget is what the ledger and running jobs say, and is not read twice."""

from decimal import Decimal

import pytest

from jobs.addresses import JobPaths
from jobs.control.resume import resume
from jobs.cost.budgets import Spending
from jobs.cost.ledger import write
from jobs.cost.purses import Purses
from jobs.errors import ManifestError, UserError
from jobs.queue import enqueue, queued
from jobs.record import Record, RecordFile
from jobs.settings.budgets import Budget
from jobs.settings.settings import Settings, load_settings
from jobs.states import State
from jobs.store.memory import MemoryStore
from jobs.submit.gates import spent_gate

DAY_S = 86400.0
HERE = Settings(bucket="b")


@pytest.fixture
def books():
    store = MemoryStore()
    store.make_bucket("b")
    return store


@pytest.fixture
def clock(noon):
    class Clock:
        now = noon + 60

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def purses(books, clock):
    return lambda *budgets: Purses(books, "b", budgets, clock)


def budget(**changes) -> Budget:
    return Budget(**{"usd": Decimal(10), **changes})


def spent(found) -> list[Decimal]:
    return [purse.spent for _, purse in found]


def test_a_label_is_paid_from_its_own_purse_and_from_that_of_all(books, purses, make_entry):
    other, nobodys = {"line": "5"}, make_entry(None, 50, labels={})
    write(books, "b", [make_entry("a"), make_entry("b", 200, labels=other), nobodys])
    both = purses(budget(label="line=4"), budget(per="day"))
    assert spent(both.of({"line": "4"})) == [Decimal("0.1"), Decimal("0.35")]
    assert spent(both.of({"line": "5"})) == [Decimal("0.35")]
    assert purses(budget(label="line=4")).of({}) == []


def test_only_what_lies_in_the_period_counts(books, purses, make_entry, noon):
    write(
        books,
        "b",
        [
            make_entry("now"),
            make_entry("yesterday", until=noon - DAY_S),
            make_entry("last-month", until=noon - 20 * DAY_S),
            make_entry("unknown", price=None),
        ],
    )
    periods = purses(budget(per="month"), budget(per="day"), budget(per="hour"))
    assert spent(periods.of({})) == [Decimal("0.2"), Decimal("0.1"), 0]


def record(store, job_id, **changes):
    told = {"created_at": 0.0, "output": "s3://b/o/", "model": "m", "labels": {"line": "4"}}
    one = Record(job_id=job_id, **{**told, **changes})
    assert RecordFile(store, JobPaths.of("b", job_id)).create(one)
    enqueue(store, "b", job_id)
    return one


def test_running_jobs_count_before_the_ledger_has_them_and_not_twice(
    books, purses, make_entry, noon
):
    at_work = {"state": State.RUNNING, "owner": "c", "entered": {"provisioning": noon}}
    record(books, "job-1", cost_usd=Decimal("1.5"), **at_work)
    record(books, "job-2", cost_usd=Decimal("0.3"), **at_work)
    record(books, "job-3")
    write(books, "b", [make_entry("job-1", 500)])  # of an earlier cluster
    found = purses(budget())
    assert spent(found.of({})) == [Decimal("1.8")]
    own = Spending("job-1", {"line": "4"}, noon, noon + 60, Decimal(1))
    [(_, purse)] = found.of({"line": "4"}, own)
    assert (purse.own, purse.spent) == (1, Decimal("0.8"))


def test_a_second_look_reads_only_what_is_new(books, purses, make_entry, clock, noon, monkeypatch):
    write(books, "b", [make_entry(f"job-{number}") for number in range(20)])
    found, reads = purses(budget()), []
    assert spent(found.of({})) == [2]
    read = books.read
    monkeypatch.setattr(books, "read", lambda address: (reads.append(address), read(address))[1])
    write(books, "b", [make_entry("new")])
    assert spent(found.of({})) == [2]  # too soon to look
    clock.now += 31
    assert spent(found.of({})) == [Decimal("2.1")]
    assert [each.name for each in reads] == ["new-c-n1-1.json"]


def test_a_new_month_begins_with_full_purses(books, purses, make_entry, clock):
    write(books, "b", [make_entry(seconds=10000)])
    found = purses(budget(usd=Decimal(5)))
    with pytest.raises(ManifestError) as refused:
        spent_gate(found.of({}), clock())
    assert str(refused.value) == (
        "budgets: 10.00 of 5 USD are spent, all per month; allowed: after 2026-12-01 00:00 UTC, "
        "or a higher budget in the settings"
    )
    clock.now += 31 * DAY_S
    [checked] = spent_gate(found.of({}), clock())
    assert checked.found == "0.000000 USD are spent"


def test_a_soft_budget_refuses_nobody(books, purses, make_entry, clock):
    write(books, "b", [make_entry(seconds=10000)])
    assert spent_gate(purses(budget(usd=Decimal(5), kind="soft")).of({}), clock())


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('usd = "5"\nlabel = "line"', "label: found"),
        ("usd = 0", "usd: found 0; allowed: "),
        ('label = "line=4"', "usd: missing"),
        ('usd = "5"\nper = "week"', "per: found"),
        ('usd = "5"\nwebhook = "http://example.com/"', "allowed: https, or http to 127.0.0.1"),
        ('usd = "5"\nsecret_variable = "ZEROSHIFT_SECRET"', "allowed: a name without ZEROSHIFT_"),
        ('usd = "5"\n[[budgets]]\nusd = "6"', "found hard all per month twice"),
    ],
)
def test_a_wrong_budget_is_one_line(tmp_path, table, said):
    (tmp_path / "zeroshift.toml").write_text(f'bucket = "b"\n[[budgets]]\n{table}\n')
    with pytest.raises(UserError) as caught:
        load_settings({}, tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def over(store, **changes):
    told = {"state": State.OVER_BUDGET, "cost_usd": Decimal("0.5"), "epoch": 3, "shards": 4}
    return record(store, "job-1", **{**told, **changes})


@pytest.fixture
def asked(make_manifest):
    return make_manifest(budget={"max_usd": 0.5})


def test_a_job_over_its_budget_goes_on_with_a_higher_one(books, asked):
    over(books)
    new = resume(books, HERE, "job-1", asked, Decimal(2), 100.0)
    assert (new.state, new.reason, new.max_usd) == (State.QUEUED, "resumed", 2)
    assert (new.epoch, new.shards) == (3, 4)  # a claim makes the epoch; shards stay pinned
    assert queued(books, "b") == ["job-1"]
    assert resume(books, HERE, "job-1", asked, Decimal(2), 101.0) == new  # asked twice


@pytest.mark.parametrize("more", [None, Decimal("0.4"), Decimal("0.5")])
def test_a_job_does_not_go_on_with_what_it_has_spent(books, asked, more):
    over(books)
    with pytest.raises(UserError, match="allowed: "):
        resume(books, HERE, "job-1", asked, more, 100.0)


def test_a_job_that_another_budget_stopped_goes_on_with_its_own(books, asked):
    over(books, cost_usd=Decimal("0.2"))
    assert resume(books, HERE, "job-1", asked, None, 100.0).max_usd is None


@pytest.mark.parametrize("state", [s for s in State if s is not State.OVER_BUDGET])
def test_no_other_job_is_resumed(books, asked, state):
    over(books, state=state)
    with pytest.raises(UserError, match=f"job-1 is {state.value}; allowed: a job over its budget"):
        resume(books, HERE, "job-1", asked, Decimal(9), 100.0)
