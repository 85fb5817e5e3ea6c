"""What stores really do: throttle, redirect, refuse, archive, drop the line, run out of time."""

import threading

import pytest

from jobs.addresses import Address
from jobs.errors import (
    AccessDenied,
    Archived,
    Conflict,
    CredentialsExpired,
    PermanentError,
    StoreUnavailable,
    Throttled,
    UserError,
)
from jobs.order import PinnedInput
from jobs.store.body import PIECE, TooSlow, read_body
from jobs.store.bucket import Store, StoreOptions
from jobs.store.patience import LONGEST_WAIT_S, TRIES, Patience
from worker.errors import FetchError
from worker.fetch import fetch

THING = Address("b", "thing")
SLOW = (503, "SlowDown", {})


def test_five_times_slow_down_and_then_success_is_success(stub, stubbed, waits):
    stub.objects["thing"] = b"bytes"
    stub.answers.extend([SLOW] * 5)
    assert stubbed().read(THING) == b"bytes"
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2]  # the ends of the ranges that waits are drawn from


def test_waits_are_drawn_at_random_and_end_at_a_ceiling():
    drawn = []
    patience = Patience(1, 12, sleep=lambda s: None, draw=lambda low, high: drawn.append(high) or 0)
    with pytest.raises(StoreUnavailable):
        patience.run(fail(StoreUnavailable("x")))
    assert len(drawn) == 11
    assert max(drawn) == LONGEST_WAIT_S


def fail(error):
    def request():
        raise error

    return request


def test_a_store_that_throttles_for_good_is_given_up_as_throttled(stub, stubbed):
    stub.answers.extend([SLOW] * TRIES)
    with pytest.raises(Throttled, match="SlowDown"):
        stubbed().write(THING, b"x")
    assert len(stub.seen) == TRIES


def test_a_picture_that_throttling_kept_from_us_is_retryable(stub, stubbed, monkeypatch):
    monkeypatch.setattr("worker.fetch.LONGEST_WAIT_S", 0.0)
    stub.answers.extend([SLOW] * 100)
    error = failed_fetch(stubbed())
    assert (error.code, error.retryable) == ("read_throttled", True)


def failed_fetch(store) -> FetchError:
    with pytest.raises(FetchError) as caught:
        fetch(store, PinnedInput(address=str(THING), etag="e", size=1))
    return caught.value


def test_throttling_halves_what_is_in_the_air_once_for_all_that_were_there_together():
    patience = Patience(16, tries=1)
    together = threading.Barrier(4)

    def request():
        together.wait()
        raise Throttled("slow down")

    def ask():
        with pytest.raises(Throttled):
            patience.run(request)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert patience.limit == 8


def test_concurrency_falls_to_one_and_comes_back():
    patience = Patience(8, tries=1)
    for _ in range(5):
        with pytest.raises(Throttled):
            patience.run(fail(Throttled("slow down")))
    assert patience.limit == 1
    for _ in range(40):
        patience.run(lambda: None)
    assert patience.limit == 8


def test_no_more_requests_are_in_the_air_than_the_limit():
    patience, now, most, lock = Patience(3), [0], [0], threading.Lock()

    def request():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        threading.Event().wait(0.001)
        with lock:
            now[0] -= 1

    threads = [threading.Thread(target=patience.run, args=(request,)) for _ in range(24)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most[0] <= 3


def test_an_outage_is_no_reason_for_fewer_requests():
    patience = Patience(8, tries=2, sleep=lambda s: None)
    with pytest.raises(StoreUnavailable):
        patience.run(fail(StoreUnavailable("down")))
    assert patience.limit == 8


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
def test_every_answer_of_overload_is_tried_again(stub, stubbed, status):
    stub.answers.append((status, "Odd", {}))
    stubbed().write(THING, b"x")
    assert stub.objects["thing"] == b"x"


def test_a_body_that_breaks_off_is_read_again(stub, stubbed):
    stub.objects["thing"] = b"bytes"
    stub.answers.append(
        (200, "x", {"Content-Length": "9999", "ETag": '"e"', "Connection": "close"})
    )
    store = stubbed()
    stub.server.RequestHandlerClass.protocol_version = "HTTP/1.0"
    assert store.read(THING) == b"bytes"


def test_a_body_that_trickles_is_given_up_in_its_time_and_read_again(stub, stubbed, monkeypatch):
    monkeypatch.setattr("jobs.store.body.LEAST_S", 0.05)
    monkeypatch.setattr("jobs.store.body.SLOWEST", 10**9)
    stub.objects["thing"] = b"bytes"
    stub.answers.extend(["trickle"] * 2)
    assert stubbed().read(THING) == b"bytes"
    assert len(stub.seen) == 3
    stub.answers.extend(["trickle"] * TRIES)
    with pytest.raises(StoreUnavailable, match=r"of 1000000 bytes came in 0 s"):
        stubbed().read(THING)


def test_the_time_for_a_body_grows_with_its_size():
    class Body:
        closed = False

        def __init__(self, pieces):
            self._left = pieces

        def read(self, amount):
            clock.now += 10.0
            self._left -= 1
            return b"x" * amount if self._left >= 0 else b""

        def close(self):
            self.closed = True

    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    clock = Clock()
    large = 100 * PIECE  # 400 s more at the slowest
    assert len(read_body(Body(45), large, clock)) == 45 * PIECE
    slow = Body(50)
    with pytest.raises(TooSlow, match=f"of {large} bytes came in 460 s"):
        read_body(slow, large, clock)
    assert slow.closed


@pytest.mark.parametrize("size", [0, 1, 3 * PIECE + 1])
def test_a_body_of_any_size_is_read_to_its_end(store, bucket, size):
    address = Address(bucket, "some")
    store.write(address, b"x" * size)
    assert store.read(address) == b"x" * size


def test_a_dropped_connection_is_tried_again(stub, stubbed):
    stub.answers.append("lose")
    stubbed().write(THING, b"x")
    assert len(stub.seen) == 2


def test_a_create_whose_answer_was_lost_is_a_conflict_with_oneself(stub, stubbed):
    stub.answers.append("lose")
    with pytest.raises(Conflict):
        stubbed().create(THING, b"mine")
    assert stub.objects["thing"] == b"mine"


@pytest.mark.parametrize(
    ("status", "code"),
    [(301, "PermanentRedirect"), (400, "AuthorizationHeaderMalformed"), (307, "TemporaryRedirect")],
)
def test_a_bucket_in_another_region_is_named_with_the_setting(stub, stubbed, status, code):
    stub.answers.extend([(status, code, {"x-amz-bucket-region": "eu-west-3"})] * 40)
    store = stubbed()
    with pytest.raises(UserError, match='set region = "eu-west-3"'):
        store.write(THING, b"x")
    with pytest.raises(UserError, match='set region = "eu-west-3"'):
        store.check("b")


def test_a_custom_endpoint_is_asked_by_path_unless_told_otherwise(stub, stubbed):
    stubbed().write(THING, b"x")
    assert [path for _, path, _ in stub.seen] == ["/b/thing"]
    elsewhere = Store(
        StoreOptions("http://no-such-host.invalid", addressing="virtual"),
        patience=Patience(1, tries=1),
    )
    with pytest.raises(UserError, match="see settings bucket, endpoint_url"):
        elsewhere.check("b")


@pytest.mark.parametrize(
    ("status", "code", "kind", "row"),
    [
        (403, "InvalidObjectState", Archived, "archived"),
        (403, "AccessDenied", AccessDenied, "access_denied"),
        (403, "Odd", PermanentError, "unreadable"),
    ],
)
def test_what_is_listed_but_not_readable_is_a_row_with_its_reason(
    stub, stubbed, status, code, kind, row
):
    stub.answers.extend([(status, code, {})] * 4)
    store = stubbed()
    with pytest.raises(kind):
        store.read(THING)
    error = failed_fetch(store)
    assert (error.code, error.retryable) == (row, False)


def test_a_denied_object_is_told_with_what_to_look_at(stub, stubbed):
    stub.answers.append((403, "AccessDenied", {}))
    with pytest.raises(AccessDenied, match="KMS key, and requester-pays"):
        stubbed().read(THING)


def test_an_archived_object_is_archived_on_the_embedded_store_too(store, bucket):
    address = Address(bucket, "cold")
    store._client.put_object(Bucket=bucket, Key="cold", Body=b"x", StorageClass="GLACIER")
    with pytest.raises(Archived, match="restore it first"):
        store.read(address)


def test_an_archived_object_that_was_restored_is_read(store, bucket):
    address = Address(bucket, "thawed")
    store._client.put_object(Bucket=bucket, Key="thawed", Body=b"x", StorageClass="GLACIER")
    restore = {"Days": 1, "GlacierJobParameters": {"Tier": "Standard"}}
    store._client.restore_object(Bucket=bucket, Key="thawed", RestoreRequest=restore)
    assert 'ongoing-request="false"' in store._call("head_object", address)["Restore"]
    assert store.read(address) == b"x"


@pytest.mark.parametrize(
    ("restore", "said"),
    [
        ('ongoing-request="true"', "archived, its restore is under way; submit again"),
        (None, "archived; restore it first"),
    ],
)
def test_an_archived_object_says_whether_its_restore_is_under_way(stub, stubbed, restore, said):
    headers = {"x-amz-restore": restore} if restore else {}
    stub.objects["thing"] = b"cold"
    facts = {"ETag": '"e"', "Last-Modified": "Mon, 30 Nov 2026 08:00:00 GMT"}
    stub.answers.extend([(403, "InvalidObjectState", {}), (200, "", {**facts, **headers})])
    error = failed_fetch(stubbed())
    assert error.code == "archived"
    assert said in str(error)


def test_expired_credentials_are_read_anew_once(stub, stubbed, monkeypatch):
    store = stubbed()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "fresh")
    stub.answers.append((400, "ExpiredToken", {}))
    store.write(THING, b"x")
    assert ["fresh/" in headers["Authorization"] for _, _, headers in stub.seen] == [False, True]
    stub.answers.extend([(400, "ExpiredToken", {})] * 2)
    with pytest.raises(CredentialsExpired, match="renew them"):
        store.write(THING, b"x")


def test_a_clock_that_is_off_is_named(stub, stubbed):
    stub.answers.append((403, "RequestTimeTooSkewed", {}))
    with pytest.raises(UserError, match="set the clock"):
        stubbed().read(THING)


def test_a_store_that_ignores_conditions_on_reading_passes_no_changed_object(stub, stubbed):
    stub.objects["thing"] = b"changed"
    with pytest.raises(Conflict):
        stubbed().read(THING, "0" * 32)


class CutOff:
    """A client whose listings say that there is more, without saying where, or where they were."""

    def __init__(self, token: str | None) -> None:
        self._more = {"NextContinuationToken": token} if token else {}

    def list_objects_v2(self, **arguments: object) -> dict[str, object]:
        return {"IsTruncated": True, "Contents": [], "CommonPrefixes": [], **self._more}


@pytest.mark.parametrize("token", [None, "the same again"])
@pytest.mark.parametrize("ask", [Store.list, Store.folders])
def test_a_listing_that_is_cut_off_without_a_new_token_is_an_error(stubbed, ask, token):
    store = stubbed()
    store._client.close()
    store._client = CutOff(token)
    with pytest.raises(StoreUnavailable, match="cut off"):
        list(ask(store, Address("b", "in/")))


def test_a_profile_that_does_not_exist_is_the_users_error(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    with pytest.raises(UserError, match="no-such-profile"):
        Store(StoreOptions())
