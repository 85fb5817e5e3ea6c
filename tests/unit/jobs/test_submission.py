"""A request becomes one job or one clear refusal, and a refusal leaves nothing behind."""

import pytest

from jobs.addresses import Address, JobPaths
from jobs.errors import ManifestError, StoreUnavailable
from jobs.queue import all_jobs, queued
from jobs.record import RecordFile
from jobs.states import State
from jobs.submit.submission import load_manifest, resolved, submit


@pytest.fixture
def request_it(store, settings, make_manifest):
    return lambda **changes: submit(store, settings, make_manifest(**changes))


@pytest.fixture
def pictures(put_pictures):
    put_pictures(1)


def test_a_request_is_written_down_and_queued(store, bucket, request_it, make_manifest, pictures):
    submitted = request_it(name="line-4", labels={"a": "b"})
    paths = JobPaths.of(bucket, submitted.record.job_id)
    assert submitted.created
    assert RecordFile(store, paths).load() == submitted.record
    assert (submitted.record.state, submitted.record.labels) == (State.QUEUED, {"a": "b"})
    assert submitted.record.output == f"s3://{bucket}/results/line-4/"
    assert queued(store, bucket) == [submitted.record.job_id]
    manifest = make_manifest(name="line-4", labels={"a": "b"})
    assert load_manifest(store, paths) == resolved(manifest)


def test_the_same_request_twice_is_one_job(store, bucket, request_it, pictures):
    first, second = request_it(), request_it()
    assert (first.created, second.created) == (True, False)
    assert first.record == second.record
    assert list(all_jobs(store, bucket)) == [first.record.job_id]


def test_two_requests_with_one_idempotency_key_are_one_job(request_it, pictures):
    first = request_it(idempotency_key="k", labels={"a": "1"})
    second = request_it(idempotency_key="k", labels={"a": "2"})
    assert not second.created
    assert second.record == first.record


def test_another_question_is_another_job(request_it, bucket, pictures):
    first = request_it()
    second = request_it(sampling={"max_tokens": 9}, output=f"s3://{bucket}/elsewhere/")
    assert second.created
    assert second.record.job_id != first.record.job_id


def test_a_job_that_is_there_is_found_even_when_its_inputs_are_gone(
    store, bucket, request_it, pictures
):
    first = request_it()
    store.delete(Address(bucket, "in/000.png"))
    assert request_it().record == first.record


REFUSED = {
    "a model that is not there": ({"model": "no/such-model"}, "model: 'no/such-model'"),
    "an offer that is not there": ({"hardware": {"offer": "moon"}}, "offer 'moon'; allowed: local"),
    "more replicas than nodes": ({"hardware": {"replicas": 9}}, "allowed: 1 to 1"),
    "a promise of residency": ({"residency": {"regions": ["eu"]}}, r"^residency\.regions: "),
    "an empty prefix": ({"inputs": {"prefix": "s3://BUCKET/none/"}}, r"inputs\.prefix: nothing"),
    "a prefix of markers": (
        {"inputs": {"prefix": "s3://BUCKET/done/"}},
        r"inputs\.prefix: nothing",
    ),
    "a bucket that is not there": ({"inputs": {"prefix": "s3://no-such-b/in/"}}, r"inputs\.prefix"),
    "an impossible bucket": ({"inputs": {"prefix": "s3://no..pe!/in/"}}, r"inputs\.prefix"),
    "an index that is not there": ({"inputs": {"index": "s3://BUCKET/x.jsonl"}}, r"inputs\.index"),
    "results of another job": ({"output": "s3://BUCKET/taken/"}, "results of another job"),
    "an output that can't be": ({"output": "s3://no-such..b/out/"}, "^output: "),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_can_not_be_met_is_refused_and_leaves_nothing(
    store, bucket, request_it, pictures, changes, message
):
    store.write(Address(bucket, "taken/_SUCCESS"), b'{"job_id": "other-0123456789ab"}')
    store.write(Address(bucket, "done/_SUCCESS"), b"")

    def here(value):
        if isinstance(value, dict):
            return {key: here(each) for key, each in value.items()}
        return value.replace("BUCKET", bucket) if isinstance(value, str) else value

    with pytest.raises(ManifestError, match=message) as caught:
        request_it(**here(changes))
    assert "\n" not in str(caught.value)
    assert list(store.list(Address(bucket, "zeroshift/"))) == []


def test_a_model_in_another_format_is_refused(request_it, pictures, tmp_path):
    (tmp_path / "model" / "x.safetensors").rename(tmp_path / "model" / "x.bin")
    with pytest.raises(ManifestError, match="no safetensors"):
        request_it()


def test_the_output_of_the_same_job_is_no_reason_to_refuse(store, bucket, request_it, pictures):
    done = request_it().record
    store.write(Address.parse(done.output) / "_SUCCESS", done.job_id.encode())
    store.delete(JobPaths.of(bucket, done.job_id).record)
    assert request_it().created


def test_a_store_that_does_not_answer_is_not_called_a_wrong_manifest(
    store, request_it, pictures, monkeypatch
):
    def busy(prefix):
        raise StoreUnavailable("busy")

    monkeypatch.setattr(store, "list", busy)
    with pytest.raises(StoreUnavailable):
        request_it()
