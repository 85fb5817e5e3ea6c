"""The network of the chaos runs does what it says, and the store's client copes with it."""

from collections.abc import Callable, Iterator

import pytest

from jobs.addresses import Address
from jobs.errors import Conflict, StoreUnavailable
from jobs.store.bucket import Store, StoreOptions
from jobs.store.patience import Patience
from tests.chaos.proxy import KINDS, ChaosProxy, Kind, Trouble

BODY = b"x" * 10_000


@pytest.fixture
def proxy(store: Store) -> Iterator[ChaosProxy]:
    with ChaosProxy(str(store.options.endpoint_url), seed=4).serving() as proxy:
        yield proxy


@pytest.fixture
def through(proxy: ChaosProxy) -> Callable[[int], Store]:
    """Makes stores that are reached through the proxy and ask a number of times."""

    def make(tries: int) -> Store:
        return Store(StoreOptions(proxy.url), patience=Patience(4, tries, sleep=lambda s: None))

    return make


def test_without_trouble_nothing_is_changed(
    through: Callable[[int], Store], store: Store, bucket: str
) -> None:
    client, address = through(1), Address(bucket, "a/ü b.bin")
    client.write(address, BODY)
    assert client.read(address) == store.read(address) == BODY
    assert client.look(address) == store.look(address)
    assert list(client.list(Address(bucket, ""))) == list(store.list(Address(bucket, "")))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "twice"])
def test_each_kind_of_trouble_is_an_outage_while_it_lasts(
    kind: Kind, proxy: ChaosProxy, through: Callable[[int], Store], store: Store, bucket: str
) -> None:
    client, address = through(2), Address(bucket, "a")
    store.write(address, BODY)
    proxy.trouble(Trouble((kind,), 1.0, hang_s=0.01))
    with pytest.raises(StoreUnavailable):
        client.read(address)
    assert proxy.done[kind] == 2
    proxy.trouble(None)
    assert client.read(address) == BODY


@pytest.mark.parametrize("kind", KINDS)
def test_half_of_the_requests_in_trouble_lose_nothing(
    kind: Kind, proxy: ChaosProxy, through: Callable[[int], Store], store: Store, bucket: str
) -> None:
    client = through(30)
    proxy.trouble(Trouble((kind,), 0.5, hang_s=0.01))
    for number in range(10):
        client.write(Address(bucket, f"{number}"), BODY)
        assert client.read(Address(bucket, f"{number}")) == BODY
    assert proxy.done[kind] > 0
    assert [found.size for found in store.list(Address(bucket, ""))] == [len(BODY)] * 10


@pytest.mark.parametrize("kind", ["lost", "twice"])
def test_a_write_that_took_effect_unheard_is_told_as_a_conflict_of_its_own(
    kind: Kind, proxy: ChaosProxy, through: Callable[[int], Store], store: Store, bucket: str
) -> None:
    proxy.trouble(Trouble((kind,), 1.0))
    with pytest.raises((Conflict, StoreUnavailable)):
        through(2).create(Address(bucket, "claim"), b"mine")
    assert store.read(Address(bucket, "claim")) == b"mine"
