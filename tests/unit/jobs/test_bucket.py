"""The contract that claims and listings rest on: kept by the fake store, moto and Ceph."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from jobs.addresses import Address
from jobs.errors import Conflict, NotFound, UserError

pytestmark = pytest.mark.parametrize(
    "server", ["memory", "moto", pytest.param("ceph", marks=pytest.mark.ceph)], indirect=True
)


@pytest.fixture
def thing(bucket: str) -> Address:
    return Address(bucket, "a/thing")


@pytest.fixture
def fill(request, store, bucket):
    """Writes empty objects; into the embedded store by the back door, where requests are slow."""

    def directly(keys: list[str]) -> None:
        for key in keys:
            s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(bucket, key, b"")

    def by_requests(keys: list[str]) -> None:
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda key: store.write(Address(bucket, key), b""), keys))

    return directly if request.node.callspec.params["server"] == "moto" else by_requests


def test_what_is_written_is_read_back(store, thing):
    store.write(thing, b"bytes")
    body, etag = store.read_tagged(thing)
    assert (body, store.read(thing, etag), store.look(thing).size) == (b"bytes", b"bytes", 5)


def test_an_object_is_created_only_once(store, thing):
    store.create(thing, b"first")
    with pytest.raises(Conflict):
        store.create(thing, b"second")
    assert store.read(thing) == b"first"


def test_a_replacement_needs_the_etag_that_the_object_has(store, thing):
    etag = store.create(thing, b"first")
    newer = store.replace(thing, b"second", etag)
    with pytest.raises(Conflict):
        store.replace(thing, b"third", etag)
    assert store.replace(thing, b"fourth", newer)
    assert store.read(thing) == b"fourth"


def test_what_was_deleted_can_not_be_replaced(store, thing):
    etag = store.create(thing, b"first")
    store.delete(thing)
    with pytest.raises(Conflict):
        store.replace(thing, b"second", etag)
    assert not store.exists(thing)


def test_a_file_is_written_under_a_condition_too(store, thing, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"rows" * 1000)
    etag = store.create(thing, path, "text/plain")
    with pytest.raises(Conflict):
        store.create(thing, path)
    assert store.replace(thing, path, etag) == etag
    assert store.read(thing) == b"rows" * 1000


def test_bytes_are_read_back_as_they_were_written(store, thing):
    for body in (b"", bytes(range(256)), b"\r\n" * 9, "é\u2028".encode()):
        store.write(thing, body)
        assert store.read(thing) == body


def test_the_start_of_an_object_is_read_alone(store, thing):
    store.write(thing, b"bytes")
    assert (store.read_start(thing, 2), store.read_start(thing, 99)) == (b"by", b"bytes")
    store.write(thing, b"")
    assert store.read_start(thing, 2) == b""


@pytest.mark.parametrize("key", ["in/a b+c é.jpg", "100%25.jpg", "a//b", "q?x=1&y#z", "ü\u2028"])
def test_keys_are_taken_as_they_stand(store, bucket, key):
    store.write(Address(bucket, key), b"x")
    assert [found.address.key for found in store.list(Address(bucket, ""))] == [key]
    assert store.read(Address(bucket, key)) == b"x"


def test_reading_an_object_that_changed_since_it_was_pinned_is_a_conflict(store, thing):
    etag = store.create(thing, b"first")
    store.write(thing, b"second")
    with pytest.raises(Conflict):
        store.read(thing, etag)


def test_a_missing_object_is_not_found_by_every_way_of_asking(store, thing):
    for ask in (store.read, store.read_tagged, store.look):
        with pytest.raises(NotFound, match="a/thing: not found"):
            ask(thing)
    assert not store.exists(thing)


def test_the_start_of_an_object_is_read_by_a_range(store, thing):
    store.write(thing, b"0123456789")
    assert store.read_start(thing, 4) == b"0123"
    assert store.read_start(thing, 99) == b"0123456789"
    store.write(thing, b"")
    assert store.read_start(thing, 4) == b""


def test_the_start_of_what_is_not_there_is_not_found(store, thing):
    with pytest.raises(NotFound):
        store.read_start(thing, 4)


def test_deleting_what_is_not_there_is_no_error(store, thing):
    store.write(thing, b"")
    store.delete(thing)
    store.delete(thing)
    assert not store.exists(thing)


def test_a_listing_longer_than_a_page_is_complete_and_in_key_order(store, bucket, fill):
    keys = [f"many/{number:04d}" for number in range(1005)]
    fill(list(reversed(keys)))
    assert [found.address.key for found in store.list(Address(bucket, "many/"))] == keys


def test_a_listing_of_nothing_is_empty(store, bucket):
    assert list(store.list(Address(bucket, "none/"))) == []


def test_folders_are_the_prefixes_one_level_down(store, bucket):
    for key in ("in/a/1", "in/a/2", "in/b/c/3", "in/loose"):
        store.write(Address(bucket, key), b"")
    assert [each.key for each in store.folders(Address(bucket, "in/"))] == ["in/a/", "in/b/"]


def test_a_bucket_that_is_not_there_is_said_in_one_line_with_what_to_do(store):
    said = r"bucket 'no-such-bucket' at (http|AWS).*see settings bucket"
    with pytest.raises(UserError, match=said):
        store.check("no-such-bucket")


def test_a_file_is_uploaded_and_a_failed_upload_is_ours(store, thing, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"rows")
    store.upload(thing, str(path), "text/plain")
    with pytest.raises(NotFound, match="no-such-bucket"):
        store.upload(Address("no-such-bucket", "k"), str(path), "text/plain")
    assert store.read(thing) == b"rows"


def test_a_swap_is_lost_to_another_and_never_to_oneself(store, thing):
    """The answer to a write can be lost after it took effect."""
    first = store.swap(thing, b"one, by me")
    assert store.swap(thing, b"one, by me") == first  # as after a lost answer
    with pytest.raises(Conflict):
        store.swap(thing, b"one, by you")
    second = store.swap(thing, b"two, by me", first)
    assert store.swap(thing, b"two, by me", first) == second
    with pytest.raises(Conflict):
        store.swap(thing, b"two, by you", first)
    assert store.read_tagged(thing) == (b"two, by me", second)
