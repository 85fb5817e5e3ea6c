"""One input that can't be read is that row's error, with a code that says what to do about it."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from jobs import errors
from jobs.addresses import Address
from jobs.errors import UserError, ZeroshiftError
from jobs.order import PinnedInput
from jobs.store.bucket import Store
from worker.errors import FetchError
from worker.fetch import ATTEMPTS, fetch


@pytest.fixture(autouse=True)
def waits(monkeypatch) -> list[float]:
    """What would have been waited between attempts."""
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def pin(store: Store, bucket: str) -> Callable[[bytes], PinnedInput]:
    def pin(body: bytes) -> PinnedInput:
        found = write(store, f"s3://{bucket}/in/a b+c%20é.jpg", body)
        return PinnedInput(address=str(found.address), etag=found.etag, size=found.size)

    return pin


def write(store: Store, address: str, body: bytes):
    store.write(Address.parse(address), body)
    return store.look(Address.parse(address))


class FailingStore:
    """Raises each of `failures` once, then answers."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.asked = 0

    def read(self, address: Address, etag: str) -> bytes:
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return b"bytes"


PINNED = PinnedInput(address="s3://b/k.jpg", etag="e", size=5)


def failed(store: object, pinned: PinnedInput = PINNED) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(store, pinned)
    assert caught.value.stage == "fetch"
    return caught.value


def test_the_bytes_are_those_that_were_pinned_whatever_the_key_looks_like(store, pin):
    assert fetch(store, pin(b"picture")) == b"picture"


def test_an_object_that_is_gone_is_named_as_such(store, pin):
    pinned = pin(b"picture")
    store.delete(Address.parse(pinned.address))
    error = failed(store, pinned)
    assert (error.code, error.retryable) == ("object_gone", False)
    assert pinned.address in str(error)


def test_an_object_that_changed_since_is_not_read(store, pin):
    pinned = pin(b"before")
    write(store, pinned.address, b"after")
    assert failed(store, pinned).code == "input_changed"


@pytest.mark.parametrize(
    ("problem", "code", "retryable"),
    [
        (errors.NotFound("x"), "object_gone", False),
        (errors.Conflict("x"), "input_changed", False),
        (errors.AccessDenied("x"), "access_denied", False),
        (errors.PermanentError("archived; restore it first"), "unreadable", False),
    ],
)
def test_what_trying_again_does_not_change_is_asked_once(problem, code, retryable, waits):
    store = FailingStore(problem)
    error = failed(store)
    assert (error.code, error.retryable, str(error)) == (code, retryable, str(problem))
    assert store.asked == 1
    assert waits == []


def test_every_error_of_a_store_has_a_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    concrete = [k for k in kinds if issubclass(k, ZeroshiftError) and not k.__subclasses__()]
    writing = (UserError, errors.RowsSpooled)  # no error of reading an object
    for kind in [k for k in concrete if not issubclass(k, writing)]:
        assert failed(FailingStore(*[kind("x")] * ATTEMPTS)).code


def test_a_store_that_throttles_is_asked_again_after_growing_waits(waits):
    store = FailingStore(*[errors.StoreUnavailable("SlowDown")] * (ATTEMPTS - 1))
    assert fetch(store, PINNED) == b"bytes"
    assert len(waits) == ATTEMPTS - 1
    assert all(0 <= wait <= 10 for wait in waits)


def test_a_store_that_never_answers_is_an_error_that_may_be_retried():
    store = FailingStore(*[errors.StoreUnavailable("SlowDown")] * 99)
    error = failed(store)
    assert (error.code, error.retryable) == ("read_failed", True)
    assert store.asked == ATTEMPTS


def test_missing_credentials_are_no_pictures_fault():
    with pytest.raises(UserError, match="no credentials"):
        fetch(FailingStore(UserError("no credentials")), PINNED)
