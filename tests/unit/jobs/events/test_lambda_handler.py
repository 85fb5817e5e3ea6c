"""A function in the cloud takes what any trigger hands it, and gives back what failed."""

import json

import pytest

from jobs.addresses import schedules_root
from jobs.errors import StoreUnavailable
from jobs.events import folders
from jobs.events import lambda_handler as module
from jobs.events.lambda_handler import handle
from jobs.queue import queued


@pytest.fixture
def call(store, make_settings, make_rule):
    return lambda event: handle(event, store, make_settings(rules=(make_rule(),)))


@pytest.fixture
def body(bucket, put, close):
    put("a/1.png")
    close("a")
    what = {"key": "inbox/a/1.png", "size": 1}
    s3 = {"bucket": {"name": bucket}, "object": what}
    record = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": s3}
    return {"Records": [record]}


def of_queue(*bodies):
    return {
        "Records": [
            {"messageId": str(n), "eventSource": "aws:sqs", "body": each}
            for n, each in enumerate(bodies)
        ]
    }


@pytest.mark.parametrize("trigger", ["s3", "sqs", "sns", "eventbridge", "clock", "by hand"])
def test_every_trigger_makes_the_job(call, body, store, bucket, trigger):
    event = {
        "s3": body,
        "sqs": of_queue(json.dumps(body)),
        "sns": {"Records": [{"EventSource": "aws:sns", "Sns": {"Message": json.dumps(body)}}]},
        "eventbridge": {
            "source": "aws.s3",
            "detail-type": "Object Created",
            "detail": body["Records"][0]["s3"],
        },
        "clock": {"source": "aws.scheduler", "detail-type": "Scheduled Event", "detail": "{}"},
        "by hand": ["look"],
    }[trigger]
    assert call(event) == {"batchItemFailures": []}
    assert len(queued(store, bucket)) == 1


def test_messages_that_can_not_be_read_are_given_back_alone(call, body, store, bucket):
    test = json.dumps({"Event": "s3:TestEvent"})
    answer = call(of_queue("nonsense", json.dumps(body), test))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert len(queued(store, bucket)) == 1


def test_what_could_not_be_looked_at_comes_again(call, body, monkeypatch):
    def busy(*arguments):
        raise StoreUnavailable("busy")

    monkeypatch.setattr("jobs.events.folders.submit", busy)
    assert call(of_queue(json.dumps(body))) == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    with pytest.raises(RuntimeError, match="Lambda calls again"):
        call(body)


def test_a_clock_looks_at_the_schedules_too(call, store, bucket, caplog):
    store.write(schedules_root(bucket) / "broken.json", b"{}")
    call({"source": "aws.scheduler"})
    assert "no schedule of ours" in caplog.text


def test_a_clock_that_could_not_look_at_all_says_so_that_lambda_calls_again(
    call, put, close, store, bucket, monkeypatch
):
    for folder in ("bad", "good"):
        put(f"{folder}/1.png")
        close(folder)
    judge = folders.judge
    broken = "/bad/"
    monkeypatch.setattr(
        folders,
        "judge",
        lambda folder, *rest: 1 / 0 if broken in str(folder.address) else judge(folder, *rest),
    )
    with pytest.raises(RuntimeError, match=r"could not look at s3://.*/inbox/bad/"):
        call({"source": "aws.scheduler"})
    assert len(queued(store, bucket)) == 1


def test_settings_and_client_are_made_once_for_all_calls(monkeypatch, bucket, model):
    monkeypatch.setenv("ZEROSHIFT_BUCKET", bucket)
    made = []
    monkeypatch.setattr(module, "handle", lambda event, store, settings: made.append(store))
    module._standing.cache_clear()
    try:
        module.handler({})
        module.handler({})
    finally:
        module._standing.cache_clear()
    assert made[0] is made[1]
