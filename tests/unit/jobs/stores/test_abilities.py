"""What a store can do is found out at start; what it can't is said aloud, or refused."""

import pytest
from botocore.exceptions import ConnectionClosedError

from jobs.addresses import Address
from jobs.control.abilities import Abilities, probe, require_fit
from jobs.control.presence import announce
from jobs.errors import Conflict, UserError
from jobs.store.memory import MemoryClient, MemoryStore
from jobs.store.patience import Patience

STORES = ["moto", pytest.param("ceph", marks=pytest.mark.ceph)]
THING = Address("b", "thing")


@pytest.mark.parametrize("server", STORES, indirect=True)
def test_a_store_that_enforces_conditions_takes_any_number_of_controllers(store, bucket):
    found = probe(store, bucket)
    assert (found.create, found.replace, found.listed) == ("enforced", "enforced", True)
    assert found.many_controllers
    assert "any number of controllers" in found.line()
    assert list(store.list(Address(bucket, ""))) == []


@pytest.mark.parametrize("server", STORES, indirect=True)
def test_the_start_does_not_mind_another_controller_where_conditions_hold(store, bucket):
    announce(store, bucket, "other")
    assert require_fit(store, bucket, "me").many_controllers


@pytest.mark.parametrize(
    ("knob", "word"), [("ignores", "ignored"), ("lacks", "missing")], ids=["ignores", "lacks"]
)
@pytest.mark.parametrize(
    ("header", "field"), [("If-None-Match", "create"), ("If-Match", "replace")]
)
def test_a_condition_that_is_ignored_or_missing_is_found(stub, stubbed, knob, word, header, field):
    getattr(stub, knob).add(header)
    store = stubbed()
    found = probe(store, "b")
    other = {"create": "replace", "replace": "create"}[field]
    assert (getattr(found, field), getattr(found, other)) == (word, "enforced")
    assert not found.many_controllers
    assert f"{header} {word}" in found.line()
    assert "one controller at a time" in found.line()
    assert not store.options.conditional


@pytest.mark.parametrize("wanted", ["bare", "quoted"])
@pytest.mark.parametrize("tried", ["bare", "quoted"])
def test_the_right_etag_is_spelled_as_the_store_takes_it(stub, stubbed, wanted, tried):
    stub.spelling = wanted
    store = stubbed(etags=tried)
    assert probe(store, "b") == Abilities("enforced", "enforced", wanted, listed=True)
    assert store.options.etags == wanted


def test_a_store_finds_the_spelling_without_a_probe_too(stub, stubbed):
    stub.spelling = "quoted"
    store = stubbed()
    store.replace(THING, b"2", store.create(THING, b"1"))
    assert store.options.etags == "quoted"
    with pytest.raises(Conflict):
        store.replace(THING, b"3", "0" * 32)


def test_a_store_that_refuses_every_etag_has_one_controller(stub, stubbed):
    stub.spelling = "bare"
    stub.holds = lambda wanted, there: wanted == "*" and there is None
    assert probe(stubbed(), "b").replace == "refused"


def test_without_conditions_a_write_still_looks_first(stub, stubbed):
    stub.lacks |= {"If-None-Match", "If-Match"}
    store = stubbed()
    etag = store.create(THING, b"1")
    with pytest.raises(Conflict):
        store.create(THING, b"2")
    with pytest.raises(Conflict):
        store.replace(THING, b"2", "0" * 32)
    assert store.read(THING) == b"1"
    store.replace(THING, b"2", etag)
    assert store.read(THING) == b"2"


def test_a_second_controller_is_refused_where_conditions_do_not_hold(stub, stubbed):
    stub.ignores.add("If-Match")
    store = stubbed()
    announce(store, "b", "first")
    assert require_fit(store, "b", "first").replace == "ignored"
    with pytest.raises(UserError, match="controller first is at work, and the store does not"):
        require_fit(store, "b", "second")


def test_a_store_that_keeps_the_framing_of_an_upload_is_refused_with_the_setting(stub, stubbed):
    stub.keep = lambda body: (
        b"%x\r\n%b\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"
        % (
            len(body),
            body,
        )
    )
    with pytest.raises(UserError, match=r'framing of an upload.*checksums = "when_required"'):
        probe(stubbed(), "b")


@pytest.mark.parametrize(
    "keep", [lambda body: body[:-1], lambda body: body.replace(b"\n", b"\r\n"), bytes.upper]
)
def test_a_store_that_changes_bytes_is_refused(stub, stubbed, keep):
    stub.keep = keep
    with pytest.raises(UserError, match=r"that are not the .* written"):
        probe(stubbed(), "b")


def test_a_store_that_shows_a_write_late_is_refused(stub, stubbed, monkeypatch):
    monkeypatch.setattr(
        stub, "keep", lambda body: stub.answers.append((404, "NoSuchKey", {})) or b""
    )
    with pytest.raises(UserError, match="not there right after it was written"):
        probe(stubbed(), "b")


def test_a_listing_that_lags_is_said(stub, stubbed):
    stub.lists = False
    found = probe(stubbed(), "b")
    assert not found.listed
    assert "listings lag behind" in found.line()


def test_a_custom_endpoint_gets_no_checksum_that_it_did_not_ask_for(stub, stubbed):
    stubbed().write(THING, b"x")
    stubbed(checksums="when_supported").write(THING, b"x")
    (_, _, plain), (_, _, summed) = stub.seen
    assert not [name for name in plain if "checksum" in name.lower()]
    assert [name for name in summed if name.lower() == "x-amz-checksum-crc32"]


@pytest.mark.parametrize("lost", range(1, 8))
def test_an_answer_that_is_lost_on_the_way_says_nothing_about_the_store(lost):
    class Lossy(MemoryClient):
        writes = 0

        def put_object(self, **more):
            answer = super().put_object(**more)
            self.writes += 1
            if self.writes == lost:
                raise ConnectionClosedError(endpoint_url="memory")
            return answer

    client = Lossy()
    client.create_bucket(Bucket="b")
    found = probe(MemoryStore(client, Patience(4, sleep=lambda s: None)), "b")
    assert (found.create, found.replace) == ("enforced", "enforced")
