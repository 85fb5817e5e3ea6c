"""Rows of the results and the small pictures beside them come together in the page."""

import base64
import json
import re

from jobs.addresses import Address
from jobs.report.page import PAGE
from jobs.report.write import finish_report, write_report
from tests.finished_jobs import finished_job, inspected


def entries(page: str) -> tuple[list[dict], list]:
    rows, places = [], []
    for text in re.findall(r'data-kind="rows">(.*?)</script>', page):
        block = json.loads(text)
        rows += block["rows"]
        places += block["pictures"]
    return rows, places


def inside(page: str) -> list[list[str]]:
    return [json.loads(text) for text in re.findall(r'data-kind="pictures">(.*?)</script>', page)]


def test_every_row_is_in_the_page_with_its_price_and_its_picture(report):
    files = report(60, shard_rows=7)
    rows, places = entries(files[PAGE])
    assert list(files) == [PAGE]
    assert [entry["row"]["key"][-9:-4] for entry in rows] == [f"{n:05d}" for n in range(60)]
    assert all(entry["row"]["cost_usd"] for entry in rows)
    chunks = inside(files[PAGE])
    for number, place in enumerate(places):
        _, pictures = inspected(number)
        chunk, first, count = place or (0, 0, 0)
        kept = chunks[chunk][first : first + count] if place else []
        assert [base64.b64decode(text) for text in kept] == pictures


def test_boxes_are_in_pixels_of_the_upright_original(report):
    rows, _ = entries(report(40)[PAGE])
    boxed = next(entry for entry in rows if "boxes" in entry)
    defect = boxed["row"]["output"]["defects"][0]
    assert boxed["boxes"][0] == [*defect["bbox"], defect["kind"], 1]


def test_of_too_many_rows_all_errors_are_kept_and_the_page_says_how_many_are_not(report):
    files = report(900, most=100)
    rows, _ = entries(files[PAGE])
    wrong = [n for n in range(900) if inspected(n)[0].status == "error"]
    shown = [entry["row"] for entry in rows if entry["row"]["status"] == "error"]
    assert len(rows) == 100
    assert [int(row["key"][-9:-4]) for row in shown] == wrong
    assert "800 of 900 rows are left out here" in files[PAGE]


def test_a_shard_whose_pictures_are_gone_keeps_its_rows(store, bucket):
    paths, output, receipt = finished_job(store, bucket, 20, shard_rows=10)
    store.delete(paths.thumbs_of_attempt(0, 1, 1))
    store.write(paths.thumbs_of_attempt(1, 1, 1), b"PK no zip")
    files = {}
    write_report(store, paths, output, receipt, lambda name, body, kind: files.update({name: body}))
    rows, places = entries(files[PAGE].decode())
    assert (len(rows), set(places)) == (20, {0})


def test_a_job_without_rows_has_a_page_too(report):
    page = report(0)[PAGE]
    assert entries(page) == ([], [])
    assert "Throughput" not in page


def test_the_final_bill_comes_into_the_page_and_the_rows_stay(store, bucket):
    paths, output, so_far = finished_job(store, bucket, 30, final=False)
    write = _into(store, output)
    write_report(store, paths, output, so_far, write)
    before = store.read(output / PAGE).decode()
    final = {**so_far, "bill": {**so_far["bill"], "final": True, "total_usd": "12.5"}}
    finish_report(store, output, final, write)
    after = store.read(output / PAGE).decode()
    assert "so far" in before
    assert "so far" not in after
    assert "12.50 <small>USD" in after
    assert entries(after) == entries(before)
    assert inside(after) == inside(before)


def test_no_page_or_a_foreign_one_is_left_as_it_is(store, bucket):
    _, output, receipt = finished_job(store, bucket, 3)
    finish_report(store, output, receipt, _into(store, output))
    assert not store.exists(output / PAGE)
    store.write(output / PAGE, b"mine")
    finish_report(store, output, receipt, _into(store, output))
    assert store.read(output / PAGE) == b"mine"


def _into(store, output: Address):
    return lambda name, body, kind: store.write(output / name, body, kind)
