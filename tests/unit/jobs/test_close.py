"""Results need one row for every input, priced to the last quantum; their marker comes last."""

import hashlib
import io
import json
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from jobs.addresses import Address, JobPaths
from jobs.closing.close import Closing
from jobs.closing.reconcile import read_markers
from jobs.closing.results import rows_of
from jobs.errors import RowsMissing
from jobs.order import Marker, PinnedInput
from jobs.rows import Row, RowError, Usage

FAULT = RowError(code="not_an_image", stage="decode", message="no", retryable=False)


def row(key: str, tokens: int = 10) -> Row:
    usage = Usage(prompt_tokens=tokens, image_tokens=4, output_tokens=3)
    return Row(key=key, version="e", status="ok", output={"verdict": "ok"}, usage=usage)


def failed(key: str) -> Row:
    return Row(key=key, version="e", status="error", error=FAULT)


@pytest.fixture
def closing(store, bucket) -> Closing:
    return Closing(store, JobPaths.of(bucket, "j"), Address(bucket, "out/"), shards=2)


@pytest.fixture
def commit(store, closing):
    """Pins the keys of a shard and commits rows for it."""

    def put(shard: int, keys: list[str], rows: list[Row], **more: object) -> None:
        pinned = [PinnedInput(address=key, etag="e", size=1) for key in keys]
        lines = "".join(each.model_dump_json() + "\n" for each in pinned)
        store.write(closing.paths.inputs_of(shard), lines.encode())
        body = "".join(each.to_line() + "\n" for each in rows).encode()
        marker = Marker(
            shard=shard,
            epoch=1,
            attempt=1,
            rows=len(rows),
            errors=0,
            digest=hashlib.sha256(body).hexdigest(),
            started_at=1.0,
            ended_at=2.0,
            **more,
        )
        store.write(closing.paths.rows_of(shard), body)
        store.write(closing.paths.marker_of(shard), marker.model_dump_json().encode())

    return put


@pytest.fixture
def closable(closing, commit) -> Closing:
    commit(0, ["s3://b/1", "s3://b/2"], [row("s3://b/1", 7), row("s3://b/2", 100)])
    commit(1, ["s3://b/3"], [failed("s3://b/3")])
    return closing


def written(closing: Closing) -> list[dict]:
    return [json.loads(line) for line in rows_of(closing.store, closing.output)]


def test_a_row_for_every_input_is_reconciled(closable):
    assert closable.reconcile() is None


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        (["s3://b/3", "s3://b/4"], ["s3://b/3"]),
        (["s3://b/3"], ["s3://b/3", "s3://b/3"]),
        (["s3://b/3"], ["s3://b/4"]),
        (["s3://b/3"], []),
        ([], ["s3://b/3"]),
        (["s3://b/3", "s3://b/3"], ["s3://b/3"]),
    ],
)
def test_missing_double_and_strange_rows_are_refused(closable, commit, keys, rows):
    commit(1, keys, [row(key) for key in rows])
    with pytest.raises(RowsMissing, match="shard 1: rows do not match inputs"):
        closable.reconcile()


def test_results_of_a_whole_job_are_compared_as_they_are_written(closable, commit):
    commit(1, ["s3://b/3"], [row("s3://b/4")])
    with pytest.raises(RowsMissing, match=r"1 missing \(s3://b/3\); 1 foreign \(s3://b/4\)"):
        closable.write(Decimal(1))


def test_the_first_few_pictures_in_question_are_named(closable, commit):
    keys = [f"s3://b/{number}" for number in range(10, 20)]
    commit(1, keys, [row(keys[0]), row(keys[0])])
    with pytest.raises(RowsMissing) as caught:
        closable.reconcile()
    said = "9 missing (s3://b/11, s3://b/12, s3://b/13, …); 1 double (s3://b/10)"
    assert str(caught.value) == f"shard 1: rows do not match inputs: {said}"


def test_a_row_about_another_version_of_its_picture_is_foreign(closable, commit):
    commit(1, ["s3://b/3"], [row("s3://b/3").model_copy(update={"version": "other"})])
    with pytest.raises(RowsMissing, match=r"1 missing.*1 foreign"):
        closable.reconcile()


def test_a_shard_that_is_none_of_the_jobs_is_refused(closable, commit):
    commit(7, ["s3://b/9"], [row("s3://b/9")])
    with pytest.raises(RowsMissing, match=r"1 shard is none of the job's 2: \[7\]"):
        closable.reconcile()


def test_a_shard_whose_inputs_are_gone_is_refused(closable, store):
    store.delete(closable.paths.inputs_of(1))
    with pytest.raises(RowsMissing, match="shard 1"):
        closable.reconcile()


def test_an_input_named_twice_has_two_rows(closable, commit):
    commit(1, ["s3://b/3", "s3://b/3"], [row("s3://b/3"), row("s3://b/3")])
    assert closable.reconcile() is None


def test_a_shard_without_a_marker_does_not_exist(closable, store):
    store.delete(closable.paths.marker_of(1))
    with pytest.raises(RowsMissing, match=r"1 of 2 shards without rows: \[1\]"):
        closable.reconcile()
    with pytest.raises(RowsMissing, match=r"1 of 2 shards without rows: \[1\]"):
        closable.write(Decimal(1))
    closable.write(Decimal(1), whole=False)
    assert [each["key"] for each in written(closable)] == ["s3://b/1", "s3://b/2"]


def test_rows_other_than_those_that_were_committed_are_refused(closable, store):
    store.write(closable.paths.rows_of(1), row("s3://b/3").to_line().encode())
    with pytest.raises(RowsMissing, match="not those that were committed"):
        closable.reconcile()
    with pytest.raises(RowsMissing):
        closable.write(Decimal(1))


def test_a_marker_whose_rows_are_gone_is_refused(closable, store):
    store.delete(closable.paths.rows_of(1))
    with pytest.raises(RowsMissing, match="shard 1"):
        closable.reconcile()


def test_a_failed_job_publishes_the_sound_shards_alone(closable, store):
    store.delete(closable.paths.rows_of(0))
    assert closable.write(Decimal(1), whole=False).rows == 1
    assert [each["key"] for each in written(closable)] == ["s3://b/3"]


@pytest.mark.parametrize("usd", ["0", "0.000000001", "0.123456789", "7"])
def test_the_prices_of_the_rows_sum_to_the_cost_of_the_work_exactly(closable, usd):
    closable.write(Decimal(usd))
    costs = [Decimal(each["cost_usd"]) for each in written(closable)]
    assert sum(costs) == Decimal(usd)
    assert min(costs) >= 0


def test_a_row_is_priced_by_its_weight_and_one_that_never_reached_the_model_costs_nothing(closable):
    closable.write(Decimal("1.21"))  # tokens of 10 and 103, and 4 of each picture once more
    assert [each["cost_usd"] for each in written(closable)] == [
        "0.140000000",
        "1.070000000",
        "0.000000000",
    ]


def test_where_the_price_is_unknown_rows_have_none(closable):
    closable.write(None)
    assert [each["cost_usd"] for each in written(closable)] == [None, None, None]


def test_totals_are_what_the_rows_add_up_to(closable):
    totals = closable.write(Decimal(1))
    assert (totals.rows, totals.ok, totals.errors) == (3, 2, 1)
    assert totals.codes == {"not_an_image": 1}
    assert (totals.prompt_tokens, totals.image_tokens, totals.output_tokens) == (107, 8, 6)


def test_the_table_says_what_the_lines_say(closable, store):
    closable.write(Decimal(1))
    body = store.read(closable.output / "results.parquet")
    table = pq.read_table(io.BytesIO(body)).to_pylist()
    lines = written(closable)
    assert [each["key"] for each in table] == [each["key"] for each in lines]
    assert [each["cost_usd"] for each in table] == [each["cost_usd"] for each in lines]
    assert json.loads(table[0]["output"]) == {"verdict": "ok"}
    assert (table[2]["status"], table[2]["error_code"]) == ("error", "not_an_image")
    assert table[2]["output"] is None


def test_a_part_is_written_for_each_shard(closable, store):
    closable.write(Decimal(1))
    names = [found.address.name for found in store.list(closable.output)]
    assert names == ["part-00000.jsonl", "part-00001.jsonl", "results.parquet"]


def test_markers_that_are_known_are_not_read_again(closable, store, monkeypatch):
    known = read_markers(store, closable.paths, {})
    monkeypatch.setattr(store, "read", None)
    assert read_markers(store, closable.paths, known) == known


def test_parts_that_an_earlier_job_left_in_the_output_are_removed(closable, store):
    store.write(closable.output / "part-00007.jsonl", b"{}\n")
    closable.write(Decimal(1))
    assert [each["key"] for each in written(closable)] == ["s3://b/1", "s3://b/2", "s3://b/3"]


def frames(key: str, count: int) -> list[Row]:
    return [row(key).model_copy(update={"frame": n, "time_s": n / 2}) for n in range(count)]


def test_a_video_has_a_row_for_each_of_its_frames(closing, commit):
    commit(0, ["s3://b/1", "s3://b/v"], [row("s3://b/1"), *frames("s3://b/v", 3)])
    commit(1, ["s3://b/2"], [row("s3://b/2")])
    assert closing.reconcile() is None
    assert closing.write(Decimal("1")).rows == 5


def test_a_video_without_a_row_and_a_frame_of_no_input_are_found(closing, commit):
    commit(1, ["s3://b/2"], [row("s3://b/2")])
    for rows in ([row("s3://b/1")], [row("s3://b/1"), *frames("s3://b/x", 3)]):
        commit(0, ["s3://b/1", "s3://b/v"], rows)
        with pytest.raises(RowsMissing):
            closing.reconcile()


def test_two_questions_about_one_picture_need_two_rows(closing, commit):
    commit(1, ["s3://b/2"], [row("s3://b/2")])
    commit(0, ["s3://b/1", "s3://b/1"], [row("s3://b/1")] * 2)
    assert closing.reconcile() is None
    commit(0, ["s3://b/1", "s3://b/1"], [row("s3://b/1")])
    with pytest.raises(RowsMissing):
        closing.reconcile()


def test_a_sample_that_disagrees_is_a_warning_and_one_that_agrees_is_none(closing, commit):
    check = {"asked": 8, "agreed": 8, "same": 7}
    commit(1, ["s3://b/2"], [row("s3://b/2")])
    commit(0, ["s3://b/1"], [row("s3://b/1")], grammar_check=check)
    assert closing.write(Decimal("1")).warnings == ()
    commit(0, ["s3://b/1"], [row("s3://b/1")], grammar_check={**check, "agreed": 3})
    [warning] = closing.write(Decimal("1")).warnings
    assert "the grammar may fight the model: of 8 pictures" in warning
    assert "only 3" in warning


def test_waste_is_added_up_and_what_went_wrong_is_in_the_parquet(closing, store, commit):
    usage = Usage(prompt_tokens=9, image_tokens=4, output_tokens=3, wasted_tokens=12)
    error = FAULT.model_copy(update={"detail": {"limit": 8}, "raw": "{"})
    bad = failed("s3://b/1").model_copy(update={"error": error, "usage": usage})
    commit(0, ["s3://b/1"], [bad])
    commit(1, ["s3://b/2"], [row("s3://b/2")])
    assert closing.write(Decimal("1")).wasted_tokens == 12
    table = pq.read_table(io.BytesIO(store.read(closing.output / "results.parquet"))).to_pylist()
    assert (table[0]["error_detail"], table[0]["error_raw"]) == ('{"limit": 8}', "{")
    assert (table[0]["wasted_tokens"], table[1]["wasted_tokens"]) == (12, 0)
