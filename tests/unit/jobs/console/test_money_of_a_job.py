"""What the page of a job tells of its money, and how one over its budget goes on."""

import json
import re
import time
from decimal import Decimal

import pytest

from jobs.addresses import Address, JobPaths
from jobs.api.shelf import SETTLED_S, Shelf
from jobs.cost.entry import CLASSES
from jobs.queue import dequeue, queued
from jobs.record import Counts, Record, RecordFile
from jobs.states import State


@pytest.fixture
def change(store, bucket):
    def apply(record: Record, **changes) -> Record:
        file = RecordFile(store, JobPaths.of(bucket, record.job_id))
        return file.change(lambda old: old.model_copy(update=changes))

    return apply


@pytest.fixture
def job(submitted, put_pictures) -> Record:
    put_pictures(1)
    return submitted()


@pytest.fixture
def over_budget(submitted, put_pictures, change, store, bucket) -> Record:
    put_pictures(1)
    record = submitted(budget={"max_usd": 1})
    dequeue(store, bucket, record.job_id)
    entered = {"over_budget": time.time() - 2 * SETTLED_S}
    return change(record, state=State.OVER_BUDGET, cost_usd=Decimal("0.9"), entered=entered)


def test_a_job_that_runs_tells_its_cost_so_far_and_at_the_end(local, job, change):
    now = time.time()
    entered = {"provisioning": now - 100, "running": now - 50}
    record = change(
        job,
        state=State.RUNNING,
        entered=entered,
        counts=Counts(total=100, done=50),
        cost_usd=Decimal("0.1"),
        owner="o",
    )
    text = local.get(f"/live/jobs/{record.job_id}").text
    assert "Cost so far" in text
    [end] = re.findall(r"At the end, about</dt><dd>([\d.]+) ", text)
    assert Decimal("0.15") < Decimal(end) < Decimal("1")


def test_a_job_of_an_unknown_price_has_no_end(local, job, change):
    record = change(job, state=State.RUNNING, owner="o")
    text = local.get(f"/jobs/{record.job_id}").text
    assert 'At the end, about</dt><dd><span class="quiet">\u2013<' in text


def test_the_bill_names_all_seven_classes(local, submitted, put_pictures, controller, load):
    put_pictures(2)
    record = submitted()
    controller().once()
    text = local.get(f"/jobs/{load(record).job_id}").text
    bill = text[text.index('id="about-title"') :].casefold()
    assert all(name.replace("_", " ") in bill for name in CLASSES)
    assert "At the end, about" not in text


def test_setbacks_and_preemptions_are_told_with_what_each_cluster_cost(
    local, submitted, put_pictures, controller, load, change, store
):
    put_pictures(2)
    record = submitted()
    controller().once()
    record = change(record, setbacks=("the <b>node</b> went away",), preemptions=1)
    place = Address.parse(load(record).output) / "receipt.json"
    receipt = json.loads(store.read(place))
    stay = {"cluster_id": "zs-1", "epoch": 1, "since": 1.0, "until": 2.0, "nodes": 1}
    stay |= {"billed_s": "1", "usd": "0.25", "setback": True, "preempted": True}
    other = {**stay, "epoch": 2, "usd": None, "setback": False, "preempted": False}
    receipt["bill"] |= {"stays": [stay, other], "setback_usd": "0.25"}
    store.write(place, json.dumps(receipt).encode())
    text = local.get(f"/jobs/{record.job_id}").text
    assert "1 setback, 1 preemption" in text
    assert "the &lt;b&gt;node&lt;/b&gt; went away" in text
    rows = re.findall(r"claim (\d)</span></th><td>([^<]+)</td>.*?<td>([^<]+)</td></tr>", text)
    assert rows == [("1", "preemption", "0.250000"), ("2", "its work", "unknown")]
    assert "0.250000 USD went into claims" in text


def test_claims_that_a_stop_ended_are_told_without_a_setback(
    local, submitted, put_pictures, controller, load, store
):
    put_pictures(2)
    record = submitted()
    controller().once()
    place = Address.parse(load(record).output) / "receipt.json"
    receipt = json.loads(store.read(place))
    [stay] = receipt["bill"]["stays"]
    receipt["bill"]["stays"] = [stay, {**stay, "epoch": 2}]
    store.write(place, json.dumps(receipt).encode())
    text = local.get(f"/jobs/{record.job_id}").text
    assert "Setbacks" not in text
    rows = re.findall(r"claim (\d)</span></th><td>([^<]+)</td>", text)
    assert rows == [("1", "a stop"), ("2", "its work")]


def test_a_job_over_its_budget_goes_on_with_more(local, send, over_budget, load, store, bucket):
    page = f"/jobs/{over_budget.job_id}"
    text = local.get(page).text
    assert 'data-open="resume"' in text
    assert "Until now it is 1.0000 USD" in text
    answer = send(local, f"{page}/resume", page, max_usd=" 2.50 ")
    assert (answer.status_code, answer.headers["location"]) == (303, page)
    found = load(over_budget)
    assert (found.state, found.max_usd) == (State.QUEUED, Decimal("2.50"))
    assert queued(store, bucket) == [over_budget.job_id]
    assert 'data-open="resume"' not in local.get(page).text


def test_a_job_that_another_budget_stopped_goes_on_with_its_own(local, send, over_budget, load):
    page = f"/jobs/{over_budget.job_id}"
    assert send(local, f"{page}/resume", page, max_usd="").status_code == 303
    assert load(over_budget).state is State.QUEUED


@pytest.mark.parametrize("amount", ["1", "0.5", "much", "nan", "-3", "1e400", "inf"])
def test_a_wrong_budget_is_refused_in_one_line(local, send, over_budget, load, amount):
    page = f"/jobs/{over_budget.job_id}"
    answer = send(local, f"{page}/resume", page, max_usd=amount)
    assert answer.status_code == 400
    assert "max_usd: found" in answer.text
    assert load(over_budget) == over_budget


def test_a_job_that_is_not_over_its_budget_is_not_resumed(local, send, job, load):
    page = f"/jobs/{job.job_id}"
    answer = send(local, f"{page}/resume", page, max_usd="5")
    assert answer.status_code == 400
    assert "allowed: a job over its budget" in answer.text
    assert load(job) == job


def test_who_may_only_read_can_not_resume(signed_in, send, over_budget, load):
    browser, page = signed_in("read"), f"/jobs/{over_budget.job_id}"
    assert "data-open" not in browser.get(page).text
    assert send(browser, f"{page}/resume", "/", max_usd="5").status_code == 403
    assert load(over_budget) == over_budget


def test_a_resumed_job_is_not_listed_as_ended_for_ever(store, bucket, over_budget, change):
    shelf = Shelf(store, bucket, 1.0)
    assert [each.state for each in shelf.all()] == [State.OVER_BUDGET]
    change(over_budget, state=State.QUEUED)
    assert [each.state for each in shelf.all()] == [State.QUEUED]
