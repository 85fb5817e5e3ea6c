"""A job that closes leaves its report beside its results, and never fails for want of one."""

import json
import re

import pytest

from jobs.addresses import Address
from jobs.errors import Conflict, StoreUnavailable
from jobs.report import closing
from jobs.report.closing import report_at_close
from jobs.report.page import PAGE
from jobs.report.summary import money
from jobs.states import State
from jobs.store.fence import Fence
from tests.finished_jobs import finished_job


@pytest.fixture
def worked(controller, submitted, put_pictures, load):
    """Works a job of four pictures and a broken one to its end."""

    def work(**changes):
        put_pictures(4, broken=1)
        job = submitted(**changes)
        controller().once()
        return load(job)

    return work


def page_of(store, record) -> str:
    return store.read(Address.parse(record.output) / PAGE).decode()


def test_a_job_leaves_a_page_with_its_pictures_errors_and_final_bill(store, worked, receipt):
    record = worked()
    page, bill = page_of(store, record), receipt(record)["bill"]
    [block] = [json.loads(text) for text in re.findall(r'data-kind="rows">(.*?)</script>', page)]
    states = [entry["row"]["status"] for entry in block["rows"]]
    assert sorted(states) == ["error", "ok", "ok", "ok", "ok"]
    pictured = [bool(place) for place in block["pictures"]]
    assert pictured == [state == "ok" for state in states]
    assert "1 of 5 pictures failed" in page
    assert bill["final"]
    assert "Cost so far" not in page
    assert money(bill["total_usd"]) in page


def test_a_job_that_wants_no_report_has_none_and_keeps_no_pictures(store, bucket, worked):
    prefix = f"s3://{bucket}/out/"
    record = worked(output={"prefix": prefix, "report": False})
    assert record.state is State.COMPLETED_WITH_ERRORS
    names = [found.address.key for found in store.list(Address(bucket, ""))]
    assert not [name for name in names if "report" in name or "/thumbs/" in name]


def test_a_page_that_can_not_be_made_costs_nobody_results(store, worked, monkeypatch, caplog):
    def broken(*arguments: object) -> None:
        raise KeyError("a fault of ours")

    monkeypatch.setattr(closing, "write_report", broken)
    record = worked()
    assert record.state is State.COMPLETED_WITH_ERRORS
    assert store.exists(Address.parse(record.output) / "_SUCCESS")
    assert "no report could be written" in caplog.text


@pytest.mark.parametrize("problem", [Conflict("lost"), StoreUnavailable("away")])
def test_a_claim_that_is_lost_and_a_store_that_is_away_are_not_swallowed(
    store, bucket, monkeypatch, problem
):
    paths, output, _ = finished_job(store, bucket, 2, wanted=True)

    def stopped(*arguments: object) -> None:
        raise problem

    monkeypatch.setattr(closing, "write_report", stopped)
    with pytest.raises(type(problem)):
        report_at_close(Fence(store, lambda: None), paths, output)


@pytest.mark.parametrize("wanted", [True, False])
def test_what_an_earlier_job_left_of_its_report_is_emptied_and_nothing_else(store, bucket, wanted):
    paths, output, _ = finished_job(store, bucket, 2, wanted=wanted)
    for name in (PAGE, "report-thumbs-00007.js", "report-of-mine.pdf"):
        store.write(output / name, b"earlier")
    report_at_close(Fence(store, lambda: None), paths, output)
    assert store.read(output / "report-thumbs-00007.js") == b""
    assert store.read(output / "report-of-mine.pdf") == b"earlier"
    page = store.read(output / PAGE)
    assert page.startswith(b"<!doctype html>") if wanted else page == b""
