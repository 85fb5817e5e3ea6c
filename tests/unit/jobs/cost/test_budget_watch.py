"""A budget lets what is in flight be finished, keeps it, and lets more money go on from there."""

import time
from decimal import Decimal

import pytest

from jobs.addresses import Address, JobPaths
from jobs.closing.results import rows_of
from jobs.control.budget_news import BudgetNews
from jobs.control.budget_watch import BudgetKeeper, Seen, shard_seconds
from jobs.control.controller import Controller
from jobs.control.resume import resume
from jobs.cost.budgets import Purse, Verdict
from jobs.cost.ledger import entries, write
from jobs.errors import ManifestError
from jobs.order import Marker
from jobs.queue import queued
from jobs.record import OfferSnapshot, Record
from jobs.settings.budgets import Budget
from jobs.states import State
from jobs.store.memory import MemoryStore
from jobs.submit.submission import load_manifest, submit

OFFER = OfferSnapshot(
    name="x",
    usd_per_hour=Decimal(3600),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="today",
)


@pytest.fixture
def dear(make_settings):
    """A node costs a USD a second, and is gone at once when it is idle."""
    return make_settings("3600", idle_window_s=0, shard_size=2)


def test_what_is_in_flight_is_finished_and_more_money_goes_on_from_there(
    store, bucket, dear, make_manifest, put_pictures, load, workshop
):
    put_pictures(6)
    job = submit(store, dear, make_manifest(budget={"max_usd": 1000})).record
    ahead = [0.0]

    def controller():
        return Controller(store, dear, "fake", lambda: time.time() + ahead[0], workshop.make)

    def first_then_wind_down(paths: JobPaths, epoch: int) -> int:
        ahead[0] = 500.0  # half of the budget is spent, and the first shard takes long
        while not store.exists(paths.wind_down_of(epoch)) and not workshop.stopped.wait(0.01):
            pass
        ahead[0] = 0.0
        return workshop.work_shards(paths, epoch, [0])  # it was in flight

    workshop.before = first_then_wind_down
    controller().once()
    stopped = load(job)
    assert stopped.state is State.OVER_BUDGET
    assert "budget.max_usd is 1000; 5" in stopped.reason
    assert len(list(rows_of(store, Address.parse(job.output)))) == 2
    booked = [each.amount for each in entries(store, bucket) if each.kind == "node"]
    assert sum(booked) == stopped.cost_usd <= 1000

    worked = []

    def the_rest(paths: JobPaths, epoch: int) -> int:
        assert not store.exists(paths.wind_down_of(epoch))
        worked.extend(n for n in range(3) if not store.exists(paths.marker_of(n)))
        return workshop.work_shards(paths, epoch, worked)

    workshop.before = the_rest
    manifest = load_manifest(store, JobPaths.of(bucket, job.job_id))
    resume(store, dear, job.job_id, manifest, Decimal(2000), time.time())
    controller().once()
    ended = load(job)
    assert (ended.state, ended.epoch, worked) == (State.COMPLETED, 2, [1, 2])
    assert ended.cost_usd > stopped.cost_usd  # the bill is of both
    assert store.exists(Address.parse(job.output) / "_SUCCESS")
    assert queued(store, bucket) == []


def test_a_job_without_money_for_the_end_of_its_cluster_is_stopped_at_once(
    store, dear, controller, make_manifest, put_pictures, load, workshop
):
    put_pictures(2)
    job = submit(store, dear, make_manifest(budget={"max_usd": 5})).record
    workshop.before = lambda paths, epoch: 0 if workshop.stopped.wait(30) else 1
    controller(dear).once()
    assert load(job).state is State.OVER_BUDGET


def test_a_job_whose_label_has_spent_its_month_is_refused_in_one_line(
    store, bucket, make_settings, make_manifest, put_pictures, controller
):
    put_pictures(1)
    budget = Budget(label="line=4", usd=Decimal("0.000001"))
    settings = make_settings(budgets=(budget,), idle_window_s=0)
    first = make_manifest(labels={"line": "4"}, name="first")
    assert submit(store, make_settings(), first).created
    controller(make_settings(idle_window_s=0)).once()
    with pytest.raises(ManifestError, match="are spent, line=4 per month; allowed: after") as one:
        submit(store, settings, make_manifest(labels={"line": "4"}, name="second"))
    assert "\n" not in str(one.value)
    assert submit(store, settings, make_manifest(labels={"line": "5"}, name="third")).created


@pytest.fixture
def books():
    store = MemoryStore()
    store.make_bucket("b")
    return store


@pytest.fixture
def keeper(books, make_settings):
    """Makes a keeper of `budgets` at a moment, and the list of what it tells."""

    def make(now: float, *budgets: Budget, taken: bool = True):
        told = []

        def tell(budget, event, kind, body):
            told.append((event, kind, body))
            return taken

        news = BudgetNews(books, "b", lambda: now, {}, tell)
        settings = make_settings(bucket="b", budgets=budgets, idle_window_s=20)
        return BudgetKeeper(books, settings, lambda: now, news), news, told

    return make


def seen(now: float, usd: str = "1", shard_s: float = 0.0) -> Seen:
    told = {"created_at": 0.0, "output": "s3://b/o/", "model": "m", "labels": {"line": "4"}}
    record = Record(job_id="j", epoch=2, **told)
    return Seen(record, Decimal(usd), Decimal(0), now - 10, OFFER, 1, shard_s)


def test_the_severest_budget_of_job_and_label_stops_the_job_and_is_told_once(
    books, keeper, make_entry, noon
):
    write(books, "b", [make_entry(seconds=10000)])  # 10 USD
    hook = "https://hooks.example.com/"
    kept, news, told = keeper(noon, Budget(label="line=4", usd=Decimal(50), webhook=hook))
    assert kept.judge(seen(noon), None).verdict is Verdict.GO_ON
    for _ in range(3):
        assert kept.judge(seen(noon, shard_s=20), None).verdict is Verdict.WIND_DOWN
    assert kept.judge(seen(noon, usd="15"), None).verdict is Verdict.STOP
    assert kept.judge(seen(noon), Decimal(5)).verdict is Verdict.STOP  # the job's own
    news.close()
    [(event, kind, body)] = told
    assert kind == "budget.job_stopped"
    assert event.endswith("-j-2")
    assert (body["job_id"], body["usd"], body["budget"]) == ("j", "50", "line=4 per month")


def test_a_soft_budget_is_told_when_it_is_used_up_and_stops_nothing(
    books, keeper, make_entry, noon, caplog
):
    write(books, "b", [make_entry(seconds=10000)])
    soft = Budget(usd=Decimal(10), kind="soft", webhook="https://hooks.example.com/")
    kept, news, told = keeper(noon, soft)
    assert kept.judge(seen(noon), None).verdict is Verdict.GO_ON
    news.close()
    assert [kind for _, kind, _ in told] == ["budget.used_up"]
    assert "budget.used_up: 11.000000 of 10 USD, all per month" in caplog.text


def test_without_a_key_to_sign_with_nothing_is_sent(books, make_entry, noon, caplog):
    write(books, "b", [make_entry(seconds=10000)])
    budget = Budget(usd=Decimal(10), webhook="https://hooks.example.com/")
    news = BudgetNews(books, "b", lambda: noon, {})

    news.used_up(budget, Purse("all per month", Decimal(10), spent=Decimal(10)))
    news.close()
    assert "is not told: WEBHOOK_SECRET is not set" in caplog.text


def test_a_shard_takes_what_shards_took_and_before_the_first_what_it_took_so_far():
    def marker(took):
        told = {"epoch": 1, "attempt": 1, "rows": 1, "errors": 0, "digest": "d"}
        return Marker(shard=0, started_at=100.0, ended_at=100.0 + took, **told)

    assert shard_seconds([marker(10), marker(20)], 90.0, 500.0) == 15
    assert shard_seconds([], 90.0, 100.0) == 10
    assert shard_seconds([], None, 100.0) == 0


def test_a_queued_job_whose_budget_others_have_spent_meanwhile_raises_no_cluster(
    store, bucket, make_settings, make_manifest, put_pictures, make_entry, load, workshop
):
    put_pictures(1)
    settings = make_settings(budgets=(Budget(label="line=4", usd=Decimal("0.05")),))
    job = submit(store, settings, make_manifest(labels={"line": "4"})).record
    write(store, bucket, [make_entry("other", until=time.time())])
    Controller(store, settings, "fake", make=workshop.make).once()
    ended = load(job)
    assert ended.state is State.OVER_BUDGET
    assert ended.reason == "0.100000 of 0.05 USD are spent, line=4 per month"
    assert workshop.made == []
