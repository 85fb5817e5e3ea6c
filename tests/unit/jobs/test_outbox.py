"""Whoever is to hear of a job's end hears of it at least once, over restarts, and nobody else."""

from decimal import Decimal

import pytest

from jobs.addresses import JobPaths
from jobs.control.controller import Controller
from jobs.control.resume import resume
from jobs.errors import ManifestError, SettingsError, StoreUnavailable
from jobs.record import RecordFile
from jobs.settings.api import Webhook
from jobs.states import State
from jobs.submit.submission import load_manifest, submit
from jobs.telling.outbox import FIRST_WAIT_S, GIVEN_UP_S, Letter, Outbox, make_outbox, outbox_root

URL = "https://hooks.example.com/jobs"


class FakeNotifier:
    """Takes what it is sent, or does not."""

    def __init__(self):
        self.takes, self.sent = True, []

    def send(self, event_id, kind, body):
        self.sent.append((event_id, kind, body))
        return self.takes


@pytest.fixture
def notifier():
    return FakeNotifier()


@pytest.fixture
def settings(make_settings):
    return make_settings(webhook=Webhook(allowed=("https://hooks.example.com/",)))


@pytest.fixture
def now():
    return [1000.0]


@pytest.fixture
def outbox(store, bucket, notifier, now):
    def notifier_for(url):
        assert url == URL
        return notifier

    return Outbox(store, bucket, notifier_for, lambda: now[0])


@pytest.fixture
def job(store, settings, make_manifest, put_pictures):
    put_pictures(1)
    return submit(store, settings, make_manifest(webhook=URL)).record


@pytest.fixture
def end(store, bucket, job):
    def do():
        paths = JobPaths.of(bucket, job.job_id)
        RecordFile(store, paths).change(lambda old: old.moved(State.CANCELLED, 1.0, "by me"))

    return do


def test_nothing_is_said_before_the_end_and_once_after_it(outbox, notifier, job, end):
    outbox.round()
    assert notifier.sent == []
    end()
    outbox.round()
    outbox.round()
    [(event_id, kind, body)] = notifier.sent
    assert (event_id, kind) == (f"evt-{job.job_id}-0-cancelled", "job.ended")
    assert (body["job_id"], body["state"], body["reason"]) == (job.job_id, "cancelled", "by me")


def test_what_is_not_taken_is_sent_again_later_under_the_same_id(
    store, bucket, outbox, notifier, now, end
):
    notifier.takes = False
    end()
    outbox.round()
    outbox.round()
    assert len(notifier.sent) == 1
    for turn in range(3):
        now[0] += FIRST_WAIT_S * 2**turn
        notifier.takes = turn == 2
        outbox.round()
    assert len(notifier.sent) == 4
    assert len({event_id for event_id, _, _ in notifier.sent}) == 1
    assert list(store.list(outbox_root(bucket))) == []


def test_what_nobody_takes_is_given_up_with_an_error(
    store, bucket, outbox, notifier, now, end, caplog
):
    notifier.takes = False
    end()
    outbox.round()
    now[0] += GIVEN_UP_S + 1
    outbox.round()
    assert "given up" in caplog.text
    assert list(store.list(outbox_root(bucket))) == []


def test_a_crash_after_sending_sends_again_rather_than_never(outbox, notifier, end, monkeypatch):
    end()
    with monkeypatch.context() as crash:
        crash.setattr("jobs.store.bucket.Store.delete", lambda *_: _killed())
        outbox.round()
    outbox.round()
    assert len(notifier.sent) == 2


def _killed():
    raise StoreUnavailable("killed here")


def test_one_that_fails_does_not_keep_others_waiting(
    store, bucket, settings, make_manifest, outbox, notifier, end
):
    end()
    store.write(
        outbox_root(bucket) / "gone-0123456789ab.json", Letter(url=URL).model_dump_json().encode()
    )
    outbox.round()
    assert len(notifier.sent) == 1


def test_a_controller_tells_of_jobs_that_ended_before_its_time(
    store, settings, outbox, notifier, end, workshop
):
    end()
    Controller(store, settings, "fake", make=workshop.make, outbox=outbox).once()
    assert len(notifier.sent) == 1


def test_the_settings_address_hears_of_every_job(
    store, bucket, make_settings, make_manifest, put_pictures
):
    put_pictures(1)
    job = submit(store, make_settings(webhook=Webhook(url=URL)), make_manifest()).record
    letter = store.read(outbox_root(bucket) / f"{job.job_id}.json")
    assert Letter.model_validate_json(letter).url == URL


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "https://hooks.example.com.evil.example/",
        "https://hooks.example.com@evil.example/",
        "http://hooks.example.com/",
        "https://hooks.example.com/../other",
        "https://hooks.example.com/a/%2e%2e/other",
        "https://hooks.example.com/a b",
        "https://hooks.example.com/\x7f",
    ],
)
def test_an_address_that_is_not_allowed_is_refused(
    store, bucket, settings, make_manifest, put_pictures, url
):
    put_pictures(1)
    with pytest.raises(ManifestError, match="webhook"):
        submit(store, settings, make_manifest(webhook=url))
    assert list(store.list(outbox_root(bucket))) == []


def test_without_anybody_to_tell_there_is_no_outbox(store, bucket):
    assert make_outbox(store, bucket, Webhook(), {}) is None


def test_without_a_key_to_sign_with_nobody_is_told(store, bucket):
    with pytest.raises(SettingsError, match="WEBHOOK_SECRET is not set"):
        make_outbox(store, bucket, Webhook(url=URL), {})


@pytest.mark.parametrize("prefix", ["https://example.com", "example.com/", "ftp://example.com/"])
def test_an_allowed_address_ends_its_host(prefix):
    with pytest.raises(ValueError, match="allowed"):
        Webhook(allowed=(prefix,))


@pytest.mark.parametrize("body", [b"{}", b"not JSON", b'{"version": 2}'])
def test_a_letter_that_nobody_can_read_does_not_keep_others_waiting(
    store, bucket, outbox, notifier, end, body
):
    end()
    store.write(outbox_root(bucket) / "aaa-0123456789ab.json", body)
    outbox.round()
    assert len(notifier.sent) == 1


def test_a_letter_to_an_address_that_is_not_allowed_is_kept_and_not_sent(
    store, bucket, settings, notifier, job, end
):
    """Others may write to the bucket, and settings change."""
    end()
    where = outbox_root(bucket) / f"{job.job_id}.json"
    store.write(where, Letter(url="http://169.254.169.254/").model_dump_json().encode())
    allows = settings.webhook.allows
    Outbox(store, bucket, lambda url: notifier, lambda: 1.0, allows).round()
    assert notifier.sent == []
    assert Letter.model_validate_json(store.read(where)).tries == 1


@pytest.fixture
def stop_and_resume(store, bucket, settings, job):
    """The job ends over its budget, again and again, with a claim between."""
    paths = JobPaths.of(bucket, job.job_id)

    def stop():
        file = RecordFile(store, paths)
        file.change(lambda old: old.model_copy(update={"epoch": old.epoch + 1}))
        file.change(lambda old: old.moved(State.OVER_BUDGET, 1.0))

    def go_on(usd):
        resume(store, settings, job.job_id, load_manifest(store, paths), Decimal(usd), 2.0)

    return stop, go_on


def test_whoever_heard_of_the_end_of_a_job_hears_of_its_next_end_too(
    outbox, notifier, stop_and_resume
):
    stop, go_on = stop_and_resume
    stop()
    outbox.round()
    go_on(1)
    outbox.round()
    stop()
    outbox.round()
    assert [body["state"] for _, _, body in notifier.sent] == ["over_budget", "over_budget"]
    assert len({event for event, _, _ in notifier.sent}) == 2  # no repetition of the same


def test_a_job_that_is_resumed_while_it_is_told_of_is_told_of_again(
    outbox, notifier, stop_and_resume
):
    stop, go_on = stop_and_resume
    send = notifier.send

    def meanwhile(*event):
        notifier.send = send
        go_on(1)
        return send(*event)

    notifier.send = meanwhile
    stop()
    outbox.round()
    stop()
    outbox.round()
    assert len(notifier.sent) == 2
