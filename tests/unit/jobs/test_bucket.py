"""The store keeps the contract that claims and listings rest on, and lets no foreign error out."""

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from jobs.addresses import Address
from jobs.bucket import Store, StoreOptions, translate
from jobs.errors import (
    AccessDenied,
    Conflict,
    NotFound,
    PermanentError,
    StoreUnavailable,
    UserError,
)

CODES = {
    "404": NotFound,
    "NoSuchKey": NotFound,
    "NoSuchBucket": NotFound,
    "403": AccessDenied,
    "AccessDenied": AccessDenied,
    "InvalidAccessKeyId": AccessDenied,
    "SignatureDoesNotMatch": AccessDenied,
    "ExpiredToken": AccessDenied,
    "412": Conflict,
    "PreconditionFailed": Conflict,
    "ConditionalRequestConflict": Conflict,
    "InvalidObjectState": PermanentError,
    "KeyTooLongError": PermanentError,
    "SlowDown": StoreUnavailable,
    "InternalError": StoreUnavailable,
    "ServiceUnavailable": StoreUnavailable,
    "Throttling": StoreUnavailable,
    "TooManyRequests": StoreUnavailable,
    "RequestTimeout": StoreUnavailable,
    "503": StoreUnavailable,
}


def client_error(code: str, status: int = 400) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": "as it is"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "GetObject")


@pytest.fixture
def thing(bucket: str) -> Address:
    return Address(bucket, "a/thing")


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


def test_the_region_of_a_bucket_is_the_stores_own_word(store, bucket):
    store._client.create_bucket(
        Bucket=f"{bucket}-eu", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    assert (store.region(bucket), store.region(f"{bucket}-eu")) == ("us-east-1", "eu-central-1")
    with pytest.raises(NotFound, match="no-such-bucket"):
        store.region("no-such-bucket")


class Silent:
    """A client of a store that does not say where its buckets are."""

    def head_bucket(self, Bucket: str) -> dict[str, object]:  # noqa: N803
        return {"ResponseMetadata": {"HTTPHeaders": {}}}


def test_a_region_that_the_store_does_not_say_is_unknown(monkeypatch, bucket):
    store = Store(StoreOptions("http://127.0.0.1:9"))
    monkeypatch.setattr(store, "_client", Silent())
    assert store.region(bucket) is None


def test_deleting_what_is_not_there_is_no_error(store, thing):
    store.write(thing, b"")
    store.delete(thing)
    store.delete(thing)
    assert not store.exists(thing)


def test_a_listing_longer_than_a_page_is_complete_and_in_key_order(store, bucket):
    keys = [f"many/{number:04d}" for number in range(1005)]
    server = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]  # a thousand requests would take seconds
    for key in reversed(keys):
        server.put_object(bucket, key, b"")
    assert [found.address.key for found in store.list(Address(bucket, "many/"))] == keys


def test_a_listing_of_nothing_is_empty(store, bucket):
    assert list(store.list(Address(bucket, "none/"))) == []


def test_folders_are_the_prefixes_one_level_down(store, bucket):
    for key in ("in/a/1", "in/a/2", "in/b/c/3", "in/loose"):
        store.write(Address(bucket, key), b"")
    assert [each.key for each in store.folders(Address(bucket, "in/"))] == ["in/a/", "in/b/"]


class CutOff:
    """A client whose listings say that there is more, without saying where."""

    def get_paginator(self, name: str) -> "CutOff":
        return self

    def paginate(self, **arguments: object) -> list[dict[str, object]]:
        return [{"IsTruncated": True, "Contents": [], "CommonPrefixes": []}]


@pytest.mark.parametrize("ask", [Store.list, Store.folders])
def test_a_listing_that_is_cut_off_without_a_token_is_an_error(monkeypatch, bucket, ask):
    store = Store(StoreOptions("http://127.0.0.1:9"))
    monkeypatch.setattr(store, "_client", CutOff())
    with pytest.raises(StoreUnavailable, match="cut off"):
        list(ask(store, Address(bucket, "in/")))


@pytest.mark.parametrize(("code", "kind"), CODES.items())
def test_every_code_of_the_store_becomes_one_of_our_errors(code, kind):
    translated = translate(client_error(code), "s3://b/k")
    assert type(translated) is kind
    assert str(translated).startswith("s3://b/k: ")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_an_unknown_code_with_a_status_of_overload_is_worth_trying_again(status):
    assert type(translate(client_error("Odd", status), "x")) is StoreUnavailable


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NoCredentialsError(), UserError),
        (EndpointConnectionError(endpoint_url="http://x"), StoreUnavailable),
        (ConnectTimeoutError(endpoint_url="http://x"), StoreUnavailable),
        (ReadTimeoutError(endpoint_url="http://x"), StoreUnavailable),
        (ParamValidationError(report="bad name"), PermanentError),
    ],
)
def test_every_error_of_botocore_becomes_one_of_ours(error, kind):
    assert type(translate(error, "x")) is kind


def test_a_bucket_that_is_not_there_is_said_in_one_line_with_what_to_do(store):
    with pytest.raises(UserError, match=r"bucket 'no-such-bucket' at http.*see settings bucket"):
        store.check("no-such-bucket")


def test_a_profile_that_does_not_exist_is_the_users_error(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    with pytest.raises(UserError, match="no-such-profile"):
        Store(StoreOptions())


def test_a_file_is_uploaded_and_a_failed_upload_is_ours(store, thing, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"rows")
    store.upload(thing, str(path), "text/plain")
    with pytest.raises((PermanentError, StoreUnavailable), match="no-such-bucket"):
        store.upload(Address("no-such-bucket", "k"), str(path), "text/plain")
    assert store.read(thing) == b"rows"
