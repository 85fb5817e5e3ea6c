"""Offers of the catalogue: whole, consistent, unknown where nothing was published; and filtered."""

from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.dates import CONFIGURED, known_date, stale, told
from infra.catalogue.gpus import gpus
from infra.catalogue.offers import catalogued_offers, in_region, matches

OFFERS = {offer.name: offer for offer in catalogued_offers()}
PRICED = 33  # 32 published prices and one for Europe
LONDON = replace(OFFERS["aws/p5.4xlarge"], regions=("eu-west-2",), eu=False)


def test_every_published_price_is_there():
    assert sum(offer.usd_per_hour is not None for offer in OFFERS.values()) == PRICED
    providers = Counter(offer.provider for offer in OFFERS.values())
    assert providers == {
        "AWS": 7,
        "Azure": 5,
        "GCP": 4,
        "Lambda": 5,
        "RunPod": 7,
        "Nebius": 2,
        "CoreWeave": 3,
        "Lyceum": 2,
    }


def test_every_offer_has_its_own_name_source_and_date():
    assert len(OFFERS) == len(catalogued_offers())
    for offer in OFFERS.values():
        assert offer.source
        assert offer.billing_source
        assert offer.dated == "undated" or known_date(offer.dated)


def test_every_offer_is_of_a_gpu_in_the_catalogue_by_its_canonical_name():
    assert {offer.gpu for offer in OFFERS.values()} <= set(gpus())


def test_prices_are_positive_exact_or_unknown_and_never_zero():
    for offer in OFFERS.values():
        for price in (offer.usd_per_hour, offer.spot_usd_per_hour):
            assert price is None or (isinstance(price, Decimal) and price > 0)
        spot, full = offer.spot_usd_per_hour, offer.usd_per_hour
        assert spot is None or (full is not None and spot < full)


def test_a_node_and_its_gpus_agree():
    for offer in OFFERS.values():
        assert offer.gpus in offer.gpus_per_node
        assert list(offer.gpus_per_node) == sorted(set(offer.gpus_per_node))
        if offer.usd_per_hour is not None:
            assert offer.usd_per_gpu_hour * offer.gpus == pytest.approx(offer.usd_per_hour)
            assert Decimal("0.5") < offer.usd_per_gpu_hour < 20


@pytest.mark.parametrize(
    ("name", "usd", "each"),
    [
        ("aws/p5.48xlarge", "55.04", "6.88"),
        ("gcp/a3-ultragpu-8g", "84.806908493", "10.600863561625"),
        ("azure/Standard_NC80adis_H100_v5", "17.64", "8.82"),
        ("runpod/h200", "4.59", "4.59"),
    ],
)
def test_prices_are_carried_over_to_the_last_digit(name, usd, each):
    assert OFFERS[name].usd_per_hour == Decimal(usd)
    assert OFFERS[name].usd_per_gpu_hour == Decimal(each)


def test_what_a_provider_does_not_publish_is_unknown():
    lyceum = OFFERS["lyceum/h200"]
    assert (lyceum.usd_per_hour, lyceum.usd_per_gpu_hour, lyceum.eu) == (None, None, True)
    assert lyceum.async_discount == Decimal("0.5")
    nebius = OFFERS["nebius/gpu-h100-sxm"]
    assert (nebius.granularity_s, nebius.minimum_s) == (None, None)


@pytest.mark.parametrize(
    ("provider", "meter"),
    [("AWS", (1, 60)), ("GCP", (1, 60)), ("Azure", (1, None)), ("Lambda", (60, None))],
)
def test_each_provider_has_one_meter(provider, meter):
    meters = {(o.granularity_s, o.minimum_s) for o in OFFERS.values() if o.provider == provider}
    assert meters == {meter}


@pytest.mark.parametrize(
    ("name", "region", "inside"),
    [
        ("aws/p5.48xlarge", "us-east-1", True),
        ("aws/p5.48xlarge", "US-*", True),
        ("aws/p5.48xlarge", "us-east", False),
        ("aws/p5.48xlarge", "eu-*", False),
        ("nebius/gpu-h100-sxm", "eu-north1", True),
        ("nebius/gpu-h100-sxm", "eu-*", True),
        ("lambda/gpu_8x_h100_sxm5", "eu-*", True),
        ("lambda/gpu_8x_h100_sxm5", "europe-*", True),
        ("lambda/gpu_1x_h100_sxm5", "eu-*", False),
        ("lyceum/h100", "eu-*", True),
        ("lyceum/h100", "eu-north1", False),
        ("lyceum/h100", "*", False),
        ("azure/Standard_ND96isr_H200_v5", "*", False),
    ],
)
def test_a_region_is_a_name_or_the_european_union_and_unknown_is_neither(name, region, inside):
    assert in_region(OFFERS[name], region) is inside


def test_a_region_that_only_sounds_european_is_not_in_the_union():
    assert not in_region(LONDON, "eu-*")
    assert in_region(LONDON, "eu-west-2")
    assert in_region(replace(LONDON, eu=None), "eu-*"), "by its name, when nothing else is known"


def test_offers_are_filtered_by_gpu_region_and_spot():
    def found(*asked):
        return [offer.name for offer in OFFERS.values() if matches(offer, *asked)]

    assert found() == list(OFFERS)
    assert found(("B200",)) == [
        "aws/p6-b200.48xlarge",
        "lambda/gpu_1x_b200_sxm6",
        "runpod/b200",
        "coreweave/hgx-b200",
    ]
    assert found(("H200",), "eu-*") == [
        "nebius/gpu-h200-sxm",
        "gcp/a3-ultragpu-8g-europe-west1",
        "lyceum/h200",
    ]
    assert found((), None, True) == ["gcp/a3-highgpu-1g", "gcp/a3-ultragpu-8g-europe-west1"]


@given(st.sampled_from(list(OFFERS.values())), st.sampled_from(["eu-*", "us-*", "*", "x"]))
def test_a_restriction_never_adds_an_offer(offer, region):
    assert matches(offer, (), region) <= matches(offer)
    assert matches(offer, (offer.gpu,), region, True) <= matches(offer, (), region)


@pytest.mark.parametrize(
    ("dated", "old"),
    [
        ("2026-11-30", False),
        ("2026-10-01", False),
        ("2026-09-30", True),
        ("2026-10", False),
        ("2026-09", True),
        ("2027-01-01", False),
        ("undated", True),
        ("2026 (file undated)", True),
        ("2026-13", True),
        ("2026-02-30", True),
        ("", True),
        (CONFIGURED, False),
    ],
)
def test_a_price_is_stale_after_60_days_or_without_a_date(dated, old):
    today = date(2026, 11, 30)
    assert stale(dated, today) is old
    assert told(dated, today) == (f"{dated} (stale)" if old else dated)
