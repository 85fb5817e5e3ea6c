"""Every bill can be computed again from its entries, and what was changed in them is found out."""

import tracemalloc
from decimal import Decimal

import pytest

from infra.clusters.base import NodeInterval
from jobs.cost.account import Tenancy
from jobs.cost.entry import read_entry
from jobs.cost.ledger import write
from jobs.cost.lines import token_lines
from jobs.cost.told import Ending, Told
from jobs.cost.verify import problems, verify
from jobs.order import Attempt
from jobs.settings.groups import Prices
from jobs.store.memory import MemoryStore
from tests.cost_histories import BEGAN, offer, record

NODE = NodeInterval("n", BEGAN, BEGAN + 100)


def entries(**changes):
    told = Told(Attempt(epoch=1, ready_at=BEGAN + 20))
    usual = {"ending": Ending(BEGAN + 80), "told": told, "counted": {"reads": 5000, "sent": 10**9}}
    prices = Prices(usd_per_1000_reads=Decimal("0.0004"))
    stay = Tenancy(record("j"), "c", offer(), BEGAN, prices=prices, **{**usual, **changes})
    return stay.entries([NODE], BEGAN + 100)


def changed(**changes):
    found = entries()
    return [found[0].model_copy(update=changes), *found[1:]]


def test_sound_books_have_no_problems():
    assert list(problems(entries())) == []


def test_sound_books_are_sound_when_they_were_written_and_read():
    assert list(problems(read_entry(each.model_dump_json()) for each in entries())) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"usd": {"startup": Decimal("0.02")}},
            "computed again startup 0.02, in",
        ),
        ({"billed_s": {"work": Decimal(100)}}, "billed work 100, computed again startup 20"),
        ({"until": BEGAN + 90}, "computed again"),
        ({"offer": offer("7.20")}, "USD"),
        ({"usd": None}, "USD unknown"),
        ({"raw_s": {"startup": Decimal(-1)}}, "-1 is negative"),
    ],
)
def test_an_entry_that_was_changed_is_found_out(changes, said):
    assert any(said in line for line in problems(changed(**changes)))


def test_a_tenancy_that_is_there_twice_is_found_out():
    found = entries()
    assert any("counted twice" in line for line in problems([*found, found[0]]))


def test_a_line_is_its_quantity_at_its_price():
    [reads] = [each for each in entries() if each.unit == "reads"]
    assert reads.amount == Decimal("0.002")
    wrong = reads.model_copy(update={"usd": {"requests": Decimal(2)}})
    assert list(problems([wrong])) == [
        "j-reads-1.json: USD requests 2, computed again requests 0.002"
    ]


def test_tokens_of_an_endpoint_have_a_line_each():
    lines = token_lines(2_000_000, 1000, Decimal("0.15"), None)
    assert [line.usd for line in lines] == [{"tokens": Decimal("0.30")}, None]


def test_many_jobs_are_verified_in_the_memory_of_a_few():
    few, many = peak_of(50), peak_of(500)
    assert many < few + 256 * 1024


def peak_of(jobs: int) -> int:
    """Bytes at most, while the entries of so many jobs pass by."""

    def stream():
        for number in range(jobs):
            node = NodeInterval(f"n{number}", BEGAN, BEGAN + 100)
            yield from Tenancy(record(f"j{number}"), "c", offer(), BEGAN).entries(
                [node], BEGAN + 100
            )

    tracemalloc.start()
    try:
        assert list(problems(stream())) == []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_books_in_a_bucket_are_verified():
    store = MemoryStore()
    store.make_bucket("b")
    write(store, "b", entries())
    assert list(verify(store, "b")) == []
    write(store, "b", [entries()[0].model_copy(update={"epoch": 2})])
    assert list(verify(store, "b")) != []
