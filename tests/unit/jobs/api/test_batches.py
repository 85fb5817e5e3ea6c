"""A batch: from lines to jobs, from rows to lines; every request gets exactly one."""

import json
import threading
import time

import pytest

from jobs.addresses import Address, JobPaths
from jobs.api.batch import intake
from jobs.api.batch.record import BatchPaths, batch_document, open_root
from jobs.api.batch.work import BatchWork
from jobs.errors import AccessDenied, Conflict, StoreUnavailable
from jobs.queue import all_jobs, queued
from jobs.record import RecordFile
from jobs.states import State
from jobs.submit.submission import load_manifest, submit
from tests.batch_lines import FORMAT, line


@pytest.fixture
def see(client):
    return lambda batch_id: client.get(f"/v1/batches/{batch_id}").json()


@pytest.fixture
def finish(work, controller, see):
    """Works a batch to its end; answers it."""

    def do(batch_id):
        work.round()
        worker = controller()
        while worker.look():
            pass
        worker.leave()
        work.round()
        return see(batch_id)

    return do


def test_a_batch_becomes_a_job_and_its_answers_a_file(batch_of, body, finish, lines_in, model):
    ended = finish(batch_of(line("a", body()), line("b", body(text="And this?"))))
    assert ended["status"] == "completed"
    assert ended["request_counts"] == {"total": 2, "completed": 2, "failed": 0}
    assert ended["error_file_id"] is None
    assert ended["usage"]["total_tokens"] > 0
    found = {each["custom_id"]: each for each in lines_in(ended["output_file_id"])}
    assert sorted(found) == ["a", "b"]
    answer = found["a"]["response"]
    assert (answer["status_code"], found["a"]["error"]) == (200, None)
    message = answer["body"]["choices"][0]["message"]
    assert json.loads(message["content"]) == {"verdict": "ok"}
    assert answer["body"]["model"] == model


def test_requests_of_one_shape_are_one_job(batch_of, body, work, store, bucket):
    batch_of(*(line(f"r{n}", body(text=f"{n}")) for n in range(5)))
    work.round()
    assert len(list(all_jobs(store, bucket))) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"temperature": 0.5},
        {"seed": 5},
        {"max_tokens": 50},
        {"response_format": {"type": "json_object"}},
        {"response_format": None},
    ],
)
def test_requests_of_another_shape_are_another_job(batch_of, body, work, store, bucket, more):
    batch_of(line("a", body()), line("b", body(**more)))
    work.round()
    assert len(list(all_jobs(store, bucket))) == 2


def test_a_picture_in_many_requests_is_one_object(batch_of, body, work, store, bucket):
    batch_id = batch_of(*(line(f"r{n}", body()) for n in range(3)))
    work.round()
    folder = BatchPaths(bucket, batch_id).folder / "pictures/"
    assert len(list(store.list(folder))) == 1


def test_several_pictures_stand_in_one_prompt(
    batch_of, body, finish, lines_in, store, bucket, png, data_url
):
    store.write(Address(bucket, "in/one.png"), png)
    ended = finish(batch_of(line("a", body(f"s3://{bucket}/in/one.png", data_url))))
    [answer] = lines_in(ended["output_file_id"])
    assert answer["response"]["status_code"] == 200
    [job_id] = ended["job_ids"]
    assert load_manifest(store, JobPaths.of(bucket, job_id)).pictures_per_prompt > 1


def test_a_text_answer_is_the_message_itself(batch_of, body, finish, lines_in):
    ended = finish(batch_of(line("a", body(response_format={"type": "text"}))))
    [answer] = lines_in(ended["output_file_id"])
    assert answer["response"]["body"]["choices"][0]["message"]["content"] == ""


def test_a_request_that_can_not_be_asked_is_an_error_line_that_names_it(
    batch_of, body, finish, lines_in
):
    ended = finish(batch_of(line("good", body()), line("bad", body(tools=[{}]))))
    assert ended["status"] == "completed"
    assert ended["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    [error] = lines_in(ended["error_file_id"])
    assert (error["custom_id"], error["error"]) == ("bad", None)
    assert error["response"]["status_code"] == 400
    said = error["response"]["body"]["error"]
    assert (said["type"], said["param"]) == ("invalid_request_error", "tools")


def test_a_file_that_is_no_picture_is_an_error_line(
    batch_of, body, finish, lines_in, store, bucket
):
    store.write(Address(bucket, "in/x.png"), b"no picture")
    urls = {"broken": f"s3://{bucket}/in/x.png", "gone": f"s3://{bucket}/in/none.png"}
    ended = finish(batch_of(*(line(name, body(url)) for name, url in urls.items())))
    found = {each["custom_id"]: each["response"] for each in lines_in(ended["error_file_id"])}
    assert found["broken"]["body"]["error"]["code"] == "not_an_image"
    assert found["gone"]["body"]["error"]["code"] == "object_gone"
    assert ended["output_file_id"] is None


def test_a_batch_of_nothing_but_wrong_requests_makes_no_job(batch_of, body, finish, store, bucket):
    ended = finish(batch_of(line("bad", body(n=2))))
    assert (ended["status"], ended["request_counts"]["failed"]) == ("completed", 1)
    assert list(all_jobs(store, bucket)) == []


def test_a_job_that_is_refused_makes_its_requests_error_lines(batch_of, body, finish, lines_in):
    refused = {"type": "json_schema", "json_schema": {"schema": {"enum": []}}}
    ended = finish(batch_of(line("a", body(response_format=refused)), line("b", body())))
    [error] = lines_in(ended["error_file_id"])
    assert error["custom_id"] == "a"
    assert "task.schema" in error["response"]["body"]["error"]["message"]
    assert ended["request_counts"] == {"total": 2, "completed": 1, "failed": 1}


def test_a_job_that_fails_makes_its_requests_error_lines(
    batch_of, body, finish, lines_in, workshop
):
    workshop.before = lambda paths, epoch: 1
    ended = finish(batch_of(line("a", body())))
    [error] = lines_in(ended["error_file_id"])
    assert (error["response"], error["error"]["code"]) == (None, "job_failed")
    assert ended["status"] == "completed"


@pytest.mark.parametrize(
    ("lines", "code", "number"),
    [
        (["{"], "invalid_json_line", 1),
        (["[]"], "invalid_json_line", 1),
        ([""], "empty_file", None),
        ([line("a", {}), line("a", {})], "duplicate_custom_id", 2),
        ([line("a", {}), "", line("", {})], "invalid_type", 3),
        ([line("a", {}, method="GET")], "invalid_method", 1),
        ([line("a", {}, url="/v1/embeddings")], "mismatched_url", 1),
        ([line("a", None)], "missing_required_parameter", 1),
        ([line("a", [])], "invalid_type", 1),
        ([line("\ud800", {})], "invalid_json_line", 1),
        ([line("a", {"messages": "half \udfff"})], "invalid_json_line", 1),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_fails_the_batch(
    batch_of, work, see, store, bucket, lines, code, number
):
    batch_id = batch_of(*lines)
    work.round()
    ended = see(batch_id)
    assert ended["status"] == "failed"
    [error] = ended["errors"]["data"]
    assert (error["code"], error["line"]) == (code, number)
    assert list(store.list(open_root(bucket))) == []


def test_a_file_that_was_deleted_fails_the_batch(client, batch_of, body, work, see):
    batch_id = batch_of(line("a", body()))
    client.delete(f"/v1/files/{see(batch_id)['input_file_id']}")
    work.round()
    assert see(batch_id)["errors"]["data"][0]["code"] == "invalid_input_file"


@pytest.mark.parametrize("looked", [False, True])
def test_a_batch_that_is_cancelled_says_so_in_its_lines(
    client, batch_of, body, finish, work, lines_in, looked, store, bucket
):
    batch_id = batch_of(line("a", body()))
    if looked:
        work.round()
    assert client.post(f"/v1/batches/{batch_id}/cancel").json()["status"] == "cancelling"
    ended = finish(batch_id)
    assert ended["status"] == "cancelled"
    codes = [each["error"]["code"] for each in lines_in(ended["error_file_id"])]
    assert codes == (["batch_cancelled"] if looked else [])
    assert queued(store, bucket) == []


def test_a_batch_that_has_ended_can_not_be_cancelled(client, batch_of, body, finish):
    batch_id = batch_of(line("a", body()))
    finish(batch_id)
    assert client.post(f"/v1/batches/{batch_id}/cancel").status_code == 409


def test_a_batch_whose_window_is_over_expires(
    store, settings, batch_of, body, see, lines_in, bucket
):
    batch_id = batch_of(line("a", body()), completion_window="2h")
    late = see(batch_id)["expires_at"] + 1
    work = BatchWork(store, settings, clock=lambda: late)
    work.round()
    work.round()
    ended = see(batch_id)
    assert ended["status"] == "expired"
    [error] = lines_in(ended["error_file_id"])
    assert error["error"]["code"] == "batch_expired"
    assert queued(store, bucket) == []


def test_a_restart_at_any_request_goes_on_and_loses_nothing(
    store, settings, batch_of, body, controller, see, lines_in, monkeypatch, bucket
):
    """The process dies at each write in turn; the next one finds what there is."""
    wrong = line("bad", body(n=2))
    batch_id = batch_of(line("a", body()), wrong, line("c", body(seed=4)))
    dead, real = [0], type(store).write

    def write(self, address, *rest, **more):
        dead[0] -= 1
        if dead[0] == 0:
            raise StoreUnavailable("killed here")
        return real(self, address, *rest, **more)

    for turn in range(1, 40):
        work = BatchWork(store, settings)
        monkeypatch.setattr(type(store), "write", write)
        dead[0] = turn
        work.round()
        monkeypatch.setattr(type(store), "write", real)
        worker = controller()
        while worker.look():
            pass
        worker.leave()
        if see(batch_id)["status"] == "completed":
            break
    ended = see(batch_id)
    answered = [each["custom_id"] for each in lines_in(ended["output_file_id"])]
    failed = [each["custom_id"] for each in lines_in(ended["error_file_id"])]
    assert (sorted(answered), failed) == (["a", "c"], ["bad"])
    assert turn > 3


def test_two_processes_that_take_a_batch_in_make_its_jobs_once(
    store, settings, batch_of, body, finish, monkeypatch, bucket, lines_in
):
    batch_id = batch_of(line("a", body()))
    write = intake.Intake.write

    def overtaken(self, *arguments):
        monkeypatch.setattr(intake.Intake, "write", write)
        BatchWork(store, settings).advance(batch_id)
        return write(self, *arguments)

    monkeypatch.setattr(intake.Intake, "write", overtaken)
    ended = finish(batch_id)
    assert len(ended["job_ids"]) == len(list(all_jobs(store, bucket))) == 1
    assert len(lines_in(ended["output_file_id"])) == 1


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_job_that_was_made_just_before_a_crash_ends_with_its_batch(
    store, bucket, settings, batch_of, body, client, see, monkeypatch, cancelled
):
    """Else it would work for nobody, and be paid for."""
    batch_id, late = batch_of(line("a", body())), [time.time()]
    work = BatchWork(store, settings, clock=lambda: late[0])
    with monkeypatch.context() as crash:
        crash.setattr("jobs.api.batch.work._with_group", lambda group: _killed())
        work.round()
    assert (see(batch_id)["status"], see(batch_id)["job_ids"]) == ("in_progress", [])
    if cancelled:
        client.post(f"/v1/batches/{batch_id}/cancel")
    else:
        late[0] = see(batch_id)["expires_at"] + 1.0
    for _ in range(4):
        work.round()
    ended = see(batch_id)
    [job_id] = all_jobs(store, bucket)
    assert (ended["status"], ended["job_ids"]) == (
        "cancelled" if cancelled else "expired",
        [job_id],
    )
    assert RecordFile(store, JobPaths.of(bucket, job_id)).load().state is State.CANCELLED
    assert queued(store, bucket) == []


def _killed():
    raise StoreUnavailable("killed here")


def test_a_batch_whose_answer_from_the_store_was_lost_is_made_all_the_same(
    batch_of, body, see, monkeypatch, store
):
    """Told of a conflict, its client would make another one, and pay for both."""
    create = type(store).create

    def lossy(self, *rest, **more):
        create(self, *rest, **more)
        raise Conflict("changed by somebody else")

    monkeypatch.setattr(type(store), "create", lossy)
    batch_id = batch_of(line("a", body()))
    monkeypatch.undo()
    assert see(batch_id)["status"] == "validating"


def test_who_could_not_submit_does_not_take_the_job_of_who_could(
    store, bucket, settings, batch_of, body, work, see, monkeypatch
):
    batch_id = batch_of(line("a", body()))

    def overtaken(*_):
        monkeypatch.setattr("jobs.submit.submission.submit", submit)
        BatchWork(store, settings).advance(batch_id)
        raise AccessDenied("not us")

    monkeypatch.setattr("jobs.submit.submission.submit", overtaken)
    work.round()
    assert see(batch_id)["job_ids"] == list(all_jobs(store, bucket))
    assert len(see(batch_id)["job_ids"]) == 1


def test_too_many_shapes_are_error_lines(batch_of, body, finish, lines_in, monkeypatch):
    monkeypatch.setattr(intake, "MOST_SHAPES", 1)
    ended = finish(batch_of(line("a", body()), line("b", body(seed=2))))
    [error] = lines_in(ended["error_file_id"])
    assert error["response"]["body"]["error"]["code"] == "too_many_shapes"


def test_a_batch_that_can_not_be_worked_does_not_keep_others_waiting(
    batch_of, body, finish, store, bucket
):
    store.write(open_root(bucket) / "batch_000000000000aa", b"")
    store.write(BatchPaths(bucket, "batch_000000000000aa").record, b"{}")
    assert finish(batch_of(line("a", body())))["status"] == "completed"


def test_a_step_is_broken_off_when_the_process_is_to_end_and_begun_anew(
    store, settings, batch_of, body, see, work, bucket
):
    batch_id, stop = batch_of(line("a", body())), threading.Event()
    stop.set()
    BatchWork(store, settings, stop=stop).round()
    assert see(batch_id)["status"] == "validating"
    assert list(all_jobs(store, bucket)) == []
    work.round()
    assert see(batch_id)["status"] == "in_progress"


def test_a_batch_that_was_answered_in_time_does_not_expire_afterwards(
    store, settings, batch_of, body, see, work, controller
):
    batch_id = batch_of(line("a", body()))
    work.round()
    worker = controller()
    worker.look()
    worker.leave()
    BatchWork(store, settings, clock=lambda: see(batch_id)["expires_at"] + 1).round()
    assert see(batch_id)["status"] == "completed"


def test_progress_is_told_while_the_job_runs(store, bucket, batch_of, body, work, see):
    batch_id = batch_of(line("a", body()), line("b", body()))
    work.round()
    assert see(batch_id)["status"] == "in_progress"
    [job_id] = see(batch_id)["job_ids"]

    def count(old):
        return old.model_copy(update={"counts": old.counts.model_copy(update={"done": 1})})

    RecordFile(store, JobPaths.of(bucket, job_id)).change(count)
    work.round()
    assert see(batch_id)["request_counts"] == {"total": 2, "completed": 1, "failed": 0}


def test_labels_tell_a_batchs_jobs(batch_of, body, work, client):
    batch_id = batch_of(line("a", body()))
    work.round()
    [job] = client.get("/v1/jobs", params={"label": f"batch:{batch_id}"}).json()["data"]
    assert job["labels"] == {"batch": batch_id}


def test_lists_have_the_newest_first_and_pages(client, batch_of, body):
    made = [batch_of(line("a", body())) for _ in range(3)]
    first = client.get("/v1/batches", params={"limit": 2}).json()
    second = client.get("/v1/batches", params={"limit": 2, "after": first["last_id"]}).json()
    assert [each["id"] for each in first["data"]] == [made[2], made[1]]
    assert (first["has_more"], second["has_more"]) == (True, False)
    assert [each["id"] for each in second["data"]] == [made[0]]


@pytest.mark.parametrize(
    ("wanted", "param"),
    [
        ({"completion_window": "1d"}, "completion_window"),
        ({"completion_window": "0h"}, "completion_window"),
        ({"endpoint": "/v1/embeddings"}, "endpoint"),
        ({"input_file_id": "file-000000000000"}, "input_file_id"),
        ({"metadata": {"a": 3}}, "metadata.a"),
        ({"metadata": {"a": "x" * 513}}, "metadata.a"),
    ],
)
def test_a_wrong_request_for_a_batch_names_the_field(client, upload, wanted, param):
    whole = {
        "input_file_id": upload("x"),
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        **wanted,
    }
    answer = client.post("/v1/batches", json=whole)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


def test_metadata_comes_back(client, batch_of, body, see):
    batch_id = batch_of(line("a", body()), metadata={"line": "4"})
    assert see(batch_id)["metadata"] == {"line": "4"}


def test_the_format_of_answers_reaches_the_job(batch_of, body, work, store, bucket):
    batch_of(line("a", body(temperature=0.25, max_tokens=33, seed=9)))
    work.round()
    [job_id] = all_jobs(store, bucket)
    manifest = load_manifest(store, JobPaths.of(bucket, job_id))
    assert manifest.task.json_schema == FORMAT["json_schema"]["schema"]
    sampling = manifest.sampling
    assert (sampling.temperature, sampling.max_tokens, sampling.seed) == (0.25, 33, 9)


def test_a_finished_batch_is_left_alone(store, bucket, batch_of, body, finish, work):
    batch_id = batch_of(line("a", body()))
    finish(batch_id)
    before = batch_document(store, bucket, batch_id).load()
    work.advance(batch_id)
    assert batch_document(store, bucket, batch_id).load() == before
