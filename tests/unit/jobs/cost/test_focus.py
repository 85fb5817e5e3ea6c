"""The export keeps FOCUS's rules, and the rules find what breaks them."""

import json
from decimal import Decimal

import pytest

from jobs.cost.focus import COLUMNS, Focus
from jobs.cost.focus_columns import MANDATORY
from jobs.cost.focus_files import (
    csv_header,
    parquet_header,
    read_csv,
    read_parquet,
    write_csv,
    write_parquet,
)
from jobs.cost.focus_rules import check_header, check_rows

NAMES = [each.name for each in COLUMNS]


@pytest.fixture
def ledger(make_entry, noon):
    """An entry of each kind, and what is odd about prices."""
    return [
        make_entry(),
        make_entry(None, 7, until=noon + 0.25, labels={}, model=""),
        make_entry(seconds=3607, offer={"usd_per_hour": Decimal("2.99"), "gpu": "H200"}),
        make_entry(offer={"spot": True, "async_discount": Decimal("0.25"), "name": "x/y"}),
        make_entry(kind="head", offer={"head_usd_per_hour": Decimal("3.60")}),
        requests_of(make_entry),
        make_entry(price=None),
    ]


def requests_of(make_entry):
    entry = make_entry(
        node=None,
        kind="requests",
        quantity=Decimal(4000),
        unit="requests",
        usd={"requests": Decimal("0.02")},
    )
    return entry.model_copy(update={"price": Decimal("0.000005")})


@pytest.fixture
def row(make_entry):
    return Focus("bucket").row(make_entry())


def broken(row) -> str:
    return "; ".join(str(each) for each in check_rows([row]))


def test_all_mandatory_columns_of_1_2_are_there_and_ours_come_last():
    assert len(MANDATORY) == 21
    assert check_header(NAMES) == []
    assert NAMES.index("x_JobId") > NAMES.index("Tags")


@pytest.mark.parametrize(
    ("write", "read", "header"),
    [(write_csv, read_csv, csv_header), (write_parquet, read_parquet, parquet_header)],
)
def test_what_is_written_keeps_every_rule_when_it_is_read_back(
    ledger, tmp_path, write, read, header
):
    focus, path = Focus("bucket"), tmp_path / "x"
    write(path, focus.rows(ledger))
    assert check_header(header(path)) == []
    assert list(check_rows(read(path))) == []
    assert (len(list(read(path))), focus.unpriced) == (len(ledger) - 1, 1)
    billed = sum(Decimal(each["BilledCost"]) for each in read(path))
    assert billed == sum(entry.amount for entry in ledger if entry.amount is not None)


def test_an_empty_ledger_is_a_file_with_a_header(tmp_path):
    for write, header in ((write_csv, csv_header), (write_parquet, parquet_header)):
        write(tmp_path / "x", [])
        assert header(tmp_path / "x") == NAMES


def test_a_row_says_whose_node_it_was_and_when_it_ran(row):
    assert row["ResourceId"] == "c-n1"
    assert json.loads(row["Tags"]) == {"line": "4"}
    assert (row["ChargePeriodStart"], row["ChargePeriodEnd"]) == (
        "2026-11-10T11:58:20Z",
        "2026-11-10T12:00:00Z",
    )
    assert (row["BillingPeriodStart"], row["BillingPeriodEnd"]) == (
        "2026-11-01T00:00:00Z",
        "2026-12-01T00:00:00Z",
    )
    assert (row["PricingQuantity"], row["PricingUnit"]) == ("0.027777777778", "Hours")
    assert (row["x_JobId"], row["x_WorkCost"], row["x_IdleCost"]) == (
        "line-4-1",
        "0.100000000",
        None,
    )


def test_the_list_price_is_that_before_a_discount(make_entry):
    row = Focus("b").row(make_entry(seconds=3600, offer={"async_discount": Decimal("0.25")}))
    assert (Decimal(row["ListCost"]), Decimal(row["BilledCost"])) == (
        Decimal("3.6"),
        Decimal("2.7"),
    )
    assert broken(row) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"BilledCost": None}, "BilledCost: is null"),
        ({"BilledCost": "1,000"}, "BilledCost: is '1,000'; allowed: digits"),
        ({"BilledCost": "+1"}, "BilledCost: is '+1'"),
        ({"EffectiveCost": "1E+7"}, "EffectiveCost: is '1E+7'"),
        ({"ListUnitPrice": "-1", "ListCost": "-1"}, "ListUnitPrice: is -1; allowed: 0 or more"),
        ({"ListCost": "0.2"}, "ListCost: is 0.2, but ListUnitPrice x PricingQuantity is 0.1"),
        ({"ContractedCost": "0"}, "ContractedCost: is 0, but"),
        ({"BillingCurrency": "usd"}, "BillingCurrency: is 'usd'; allowed: a currency code of ISO"),
        ({"ChargePeriodEnd": "2026-11-10 12:00:00"}, "allowed: YYYY-MM-DDTHH:mm:ssZ"),
        ({"ChargePeriodEnd": "2026-11-10T12:00:00+01:00"}, "ChargePeriodEnd: is"),
        ({"ChargePeriodEnd": "2026-13-10T12:00:00Z"}, "ChargePeriodEnd: is"),
        ({"ChargePeriodEnd": "2026-11-10T11:58:20Z"}, "ChargePeriodEnd: is not after"),
        ({"BillingPeriodEnd": "2026-11-01T00:00:00Z"}, "BillingPeriodEnd: is not after"),
        ({"ChargeCategory": "usage"}, "ChargeCategory: is 'usage'; allowed: Adjustment"),
        ({"ChargeClass": "None"}, "ChargeClass: is 'None'; allowed: Correction"),
        ({"ServiceName": " "}, "ServiceName: is an empty text"),
        ({"ServiceCategory": "Storage"}, "ServiceSubcategory: belongs to ServiceCategory Compute"),
        ({"PricingQuantity": None}, "PricingQuantity: is null though ChargeCategory is Usage"),
        ({"PricingUnit": None}, "PricingUnit: and PricingQuantity must be null together"),
        ({"ConsumedUnit": None}, "ConsumedUnit: and ConsumedQuantity must be null together"),
        ({"SkuId": None}, "SkuMeter: is not null though SkuId is"),
        ({"ResourceName": "c-n1"}, "ResourceName: repeats ResourceId"),
        ({"ChargeCategory": "Tax"}, "ListUnitPrice: is not null though the charge is a tax"),
        ({"ChargeCategory": "Purchase"}, "ChargeFrequency: is Usage-Based though"),
        ({"ChargeCategory": "Credit", "EffectiveCost": "9"}, "EffectiveCost: of a credit"),
        ({"Tags": "line=4"}, "Tags: is not JSON"),
        ({"Tags": "[]"}, "Tags: is not an object"),
        ({"Tags": '{"a": 1, "a": 2}'}, "Tags: has a key twice"),
        ({"Tags": '{"a": {"b": 1}}'}, "Tags: has an object or a list under 'a'"),
    ],
)
def test_a_broken_rule_is_named_with_its_row_and_column(row, changes, said):
    assert broken(row) == ""
    assert said in broken({**row, **changes})


def test_a_service_with_two_categories_is_found_across_rows(row):
    other = {**row, "ServiceCategory": "Storage", "ServiceSubcategory": "Object Storage"}
    [found] = check_rows([row, other])
    assert str(found) == "row 2: ServiceName: 'Nodes' has more than one ServiceCategory"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([n for n in NAMES if n != "BilledCost"], "BilledCost: is missing"),
        ([*NAMES, "Tags"], "Tags: stands twice"),
        ([*NAMES, "JobId"], "JobId: is no column of FOCUS"),
        (["x_First", *NAMES], "x_First: stands before columns of FOCUS"),
    ],
)
def test_a_header_is_judged_too(names, said):
    assert said in "; ".join(map(str, check_header(names)))
