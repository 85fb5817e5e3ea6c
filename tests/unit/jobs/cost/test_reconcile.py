"""An invoice is held against the ledger by node and day, and a bad file is one line."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cost.focus import Focus
from jobs.cost.focus_files import write_csv
from jobs.cost.invoice import Line, read_invoice
from jobs.cost.reconcile import Reconciliation, by_day
from jobs.errors import UserError

SIMPLE = "resource_id,start,end,seconds,amount,currency\n"
DAY = "2026-11-10T00:00:00Z,2026-11-11T00:00:00Z"


@pytest.fixture
def held(tmp_path):
    """Holds an invoice's text against entries; answers node to outcome."""

    def hold(text: str, *entries) -> dict[str, tuple[str, str]]:
        (tmp_path / "i.csv").write_text(text)
        both = Reconciliation()
        both.add_invoice(read_invoice(tmp_path / "i.csv"))
        both.add_ledger(entries)
        return {each.node_id: (each.outcome, each.why) for each in both.verdicts()}

    return hold


def line(node="c-n1", amount="0.1", currency="USD", period=DAY) -> str:
    return f"{node},{period},100,{amount},{currency}\n"


def test_what_both_have_to_a_cent_matches(held, make_entry):
    assert held(SIMPLE + line(amount="0.11"), make_entry()) == {"c-n1": ("matched", "")}
    outcome, why = held(SIMPLE + line(amount="0.111"), make_entry())["c-n1"]
    assert (outcome, why) == ("differs", "by 0.011000")


def test_lines_and_tenancies_of_a_node_are_summed_before_they_are_compared(held, make_entry, noon):
    entries = [make_entry(), make_entry("next", until=noon + 100)]
    assert held(SIMPLE + line(amount="0.15") + line(amount="0.05"), *entries) == {
        "c-n1": ("matched", "")
    }


def test_what_ran_without_our_knowing_is_told_from_what_was_not_invoiced(held, make_entry):
    found = held(SIMPLE + line("stranger"), make_entry())
    assert found["stranger"][0] == "missing_in_ledger"
    assert found["c-n1"][0] == "missing_in_invoice"


def test_another_currency_and_an_unknown_price_never_match(held, make_entry):
    assert held(SIMPLE + line(currency="EUR"), make_entry()) == {
        "c-n1": ("differs", "another currency")
    }
    assert held(SIMPLE + line(), make_entry(price=None)) == {
        "c-n1": ("differs", "its price is unknown to the ledger")
    }


def test_a_night_is_cut_at_midnight_on_both_sides(held, make_entry, noon):
    entry = make_entry(seconds=7200, until=noon + 13 * 3600)  # 23:00 to 01:00
    before = line(amount="3.6", period="2026-11-10T00:00:00Z,2026-11-11T00:00:00Z")
    after = line(amount="3.6", period="2026-11-11T00:00:00Z,2026-11-12T00:00:00Z")
    assert held(SIMPLE + before + after, entry) == {"c-n1": ("matched", "")}


def test_our_own_export_reconciles_with_the_ledger(make_entry, tmp_path, noon):
    entries = [make_entry(), make_entry("next", 9000, until=noon + 50000.7, node="c-n2")]
    write_csv(tmp_path / "f.csv", Focus("b").rows(entries))
    both = Reconciliation()
    both.add_invoice(read_invoice(tmp_path / "f.csv"))
    both.add_ledger(entries)
    assert {each.outcome for each in both.verdicts()} == {"matched"}


@given(start=st.integers(0, 2_000_000_000), length=st.floats(0, 10 * 86400, allow_subnormal=False))
def test_parts_of_a_time_sum_to_all_of_it(start, length):
    parts = list(by_day(start, start + length))
    assert sum(part for _, part in parts) == 1
    assert all(part >= 0 for _, part in parts)
    assert sorted({day for day, _ in parts}) == [day for day, _ in parts]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "its header is empty; allowed: resource_id, start"),
        ("a,b\n1,2\n", "its header is a, b; allowed: resource_id, start"),
        (SIMPLE + line(amount="ten"), "line 2: amount: found 'ten'; allowed: a number"),
        (SIMPLE + line(amount="NaN"), "line 2: amount: found 'NaN'; allowed: a number"),
        (SIMPLE + line(currency="$"), "line 2: currency: found '$'; allowed: a currency code"),
        (SIMPLE + line(node=""), "line 2: resource_id: missing; it is required"),
        (SIMPLE + "n,2026-11-10,x,1,1,USD\n", "line 2: start: found '2026-11-10'; allowed: such"),
        (SIMPLE + "n\n", "line 2: start: missing"),
        (SIMPLE + line(period=",".join(DAY.split(",")[::-1])), "line 2: end: found an end before"),
        (SIMPLE + '"n', "not CSV"),
    ],
)
def test_a_file_that_can_not_be_read_is_one_line(tmp_path, text, said):
    (tmp_path / "i.csv").write_text(text)
    with pytest.raises(UserError) as caught:
        list(read_invoice(tmp_path / "i.csv"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_not_text_is_one_line(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        list(read_invoice(tmp_path / "none"))
    (tmp_path / "i.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8"):
        list(read_invoice(tmp_path / "i.csv"))


def test_focus_lines_about_no_resource_are_passed_over(tmp_path):
    text = "ResourceId,ChargePeriodStart,ChargePeriodEnd,BilledCost,BillingCurrency\n"
    (tmp_path / "i.csv").write_text(text + f",{DAY},5,USD\nn,{DAY},1,USD\n")
    [found] = read_invoice(tmp_path / "i.csv")
    assert (found.resource_id, found.amount) == ("n", Decimal(1))
    assert isinstance(found, Line)


@pytest.mark.parametrize(
    ("end", "amount", "said"),
    [
        ("9999-12-31T23:59:59Z", "1", "end: found more than a year"),
        ("2026-11-10T10:00:00Z", "1e400000", "amount: found '1e400000'; allowed: up to"),
        ("2026-11-10T10:00:00Z", "9" * 5000, "amount: found '999"),
    ],
)
def test_what_no_invoice_can_say_is_one_short_line(tmp_path, end, amount, said):
    header = "resource_id,start,end,seconds,amount,currency"
    path = tmp_path / "i.csv"
    path.write_text(f"{header}\nx,2026-11-10T09:00:00Z,{end},1,{amount},USD\n")
    with pytest.raises(UserError, match="line 2") as caught:
        list(read_invoice(path))
    assert said in str(caught.value)
    assert len(str(caught.value)) < 200 + len(str(path))
