"""What is wrong with an input is its row's error; what is wrong with the store is raised."""

import json
import tracemalloc
from datetime import UTC, datetime

import pytest

from jobs import errors
from jobs.addresses import Address, JobPaths
from jobs.inputs.pin import pin, pinned_inputs
from jobs.manifest.manifest import Inputs
from jobs.store.bucket import Found

PATHS = JobPaths.of("b", "j")
NOW = datetime(2026, 11, 30, tzinfo=UTC)
OF_THE_KEY = {
    errors.NotFound: "object_gone",
    errors.AccessDenied: "access_denied",
    errors.Archived: "archived",
    errors.NotSupported: "unreadable",
    errors.PermanentError: "unreadable",
}
OF_THE_STORE = [
    errors.StoreUnavailable,
    errors.Throttled,
    errors.Conflict,
    errors.CredentialsExpired,
    errors.UserError,
]
NAMED = {
    "keys": Inputs(keys=("s3://b/in/good", "s3://b/in/bad")),
    "index": Inputs(index="s3://b/each.jsonl"),
    "one prompt": Inputs(index="s3://b/several.jsonl", max_pictures=2),
    "group": Inputs(index="s3://b/each.jsonl", group_by="folder"),
}
INDEXES = {
    "each.jsonl": [{"key": "s3://b/in/good"}, {"key": "s3://b/in/bad"}],
    "several.jsonl": [{"keys": ["s3://b/in/good", "s3://b/in/bad"]}],
}


class OneBad:
    """A store of which one object can't be looked at."""

    def __init__(self, error: errors.ZeroshiftError) -> None:
        self._error = error

    def look(self, address: Address) -> Found:
        if address.name == "bad":
            raise self._error
        return Found(address, 1, "e", NOW)

    def read(self, address: Address) -> bytes:
        return "\n".join(map(json.dumps, INDEXES[address.name])).encode()


def every_kind(base: type) -> set[type]:
    return {base}.union(*(every_kind(kind) for kind in base.__subclasses__()))


def test_every_error_that_a_store_translates_to_has_been_thought_of():
    of_the_store = {errors.ZeroshiftError, errors.TemporaryError, errors.RowsSpooled}
    elsewhere = {errors.ManifestError, errors.SettingsError, errors.IllegalMove}
    elsewhere |= {errors.JobFailed, errors.RowsMissing, errors.Unreadable}
    known = of_the_store | elsewhere | set(OF_THE_KEY) | set(OF_THE_STORE)
    ours = {kind for kind in every_kind(errors.ZeroshiftError) if kind.__module__ == "jobs.errors"}
    assert ours == known


@pytest.mark.parametrize("inputs", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize(("kind", "code"), OF_THE_KEY.items())
def test_a_fault_of_a_key_is_in_the_list_for_its_row_to_tell(inputs, kind, code):
    pinned = pinned_inputs(OneBad(kind("s3://b/in/bad: it is so")), inputs)
    [fault] = [each.fault for each in pinned if each.fault]
    assert (fault.code, fault.message) == (code, "s3://b/in/bad: it is so")
    bad = next(each for one in pinned for each in one.objects if each.address.endswith("bad"))
    assert bad.etag == ""
    assert len(pinned) == (1 if inputs in (NAMED["one prompt"], NAMED["group"]) else 2)


@pytest.mark.parametrize("inputs", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("kind", OF_THE_STORE)
def test_a_fault_of_the_store_pins_nothing_by_guess(inputs, kind):
    with pytest.raises(kind):
        pinned_inputs(OneBad(kind("away")), inputs)


class Endless:
    """A store that lists so many objects, and keeps none of what is written."""

    def __init__(self, count: int) -> None:
        self._count = count

    def list(self, prefix: Address):
        for number in range(self._count):
            yield Found(prefix / f"picture-{number:09d}.png", 1000, "0" * 32, NOW)

    def write(self, address: Address, body: bytes, kind: str) -> None:
        pass


def peak_of_pinning(count: int) -> int:
    """Bytes in use at most."""
    tracemalloc.start()
    try:
        assert pin(Endless(count), PATHS, Inputs(prefix="s3://b/in/"), None)[0] == count
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_memory_of_pinning_does_not_grow_with_the_inputs(monkeypatch):
    monkeypatch.setattr(
        "jobs.inputs.pin.LARGEST_SHARD", 16
    )  # so that few are many: tracing is slow
    few, many = peak_of_pinning(500), peak_of_pinning(2_500)
    assert many - few < 200_000  # 2,000 inputs held would take several times that


def test_a_job_that_is_set_back_while_it_is_pinned_is_pinned_anew(
    store, bucket, controller, submitted, put_pictures, load, monkeypatch
):
    put_pictures(2)
    keys = [f"s3://{bucket}/in/000.png", f"s3://{bucket}/in/001.png"]
    job = submitted(inputs={"keys": keys}, output=f"s3://{bucket}/out/")
    look, failures = store.look, [errors.StoreUnavailable("away")]

    def once_away(address):
        if address.name == "001.png" and failures:
            raise failures.pop()
        return look(address)

    monkeypatch.setattr(store, "look", once_away)
    worker = controller()
    with pytest.raises(errors.StoreUnavailable):
        worker.run(job.job_id)
    assert worker.run(job.job_id).counts.done == 2
    worker.leave()
    assert load(job).state == "completed"
