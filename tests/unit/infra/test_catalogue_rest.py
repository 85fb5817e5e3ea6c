"""Endpoints, licences and the guide: every row sourced, every name in it known."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.dates import known_date
from infra.catalogue.endpoints import endpoints, find_endpoint
from infra.catalogue.guide import advice_for, uses
from infra.catalogue.licences import find_licence, licences
from infra.catalogue.models import catalogued_models

GEMINI = endpoints()["google/gemini-2.5-pro"]
SIDE = st.integers(1, 20_000)


def test_every_fact_of_an_endpoint_has_a_source_and_a_date():
    for each in endpoints().values():
        assert each.source
        assert known_date(each.dated)
        for fact, source, dated in (
            (each.batch_discount, each.batch_source, each.batch_dated),
            (each.image, each.image_source, each.image_dated),
        ):
            assert (fact is None) == (not source) == (known_date(dated) is None)


def test_endpoint_prices_are_positive_and_their_models_are_ours():
    for each in endpoints().values():
        assert each.input_usd_per_million is None or each.input_usd_per_million > 0
        assert each.output_usd_per_million is None or each.output_usd_per_million > 0
        assert each.batch_discount is None or 0 < each.batch_discount < 1
        assert each.model is None or each.model in catalogued_models()


@pytest.mark.parametrize("name", ["google/gemini-2.5-pro", "gemini-2.5-pro", "Gemini 2.5 Pro"])
def test_gemini_is_found_by_the_names_in_use(name):
    assert find_endpoint(name) is GEMINI


def test_gemini_costs_what_was_published_and_half_as_a_batch():
    prices = (GEMINI.input_usd_per_million, GEMINI.output_usd_per_million)
    assert prices == (Decimal("1.25"), Decimal("10.00"))
    assert GEMINI.batch_discount == Decimal("0.5")


def test_another_name_is_no_endpoint():
    assert find_endpoint("Qwen/Qwen2.5-VL-72B-Instruct") is None
    assert find_endpoint("") is None


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (1, 1, 258),
        (384, 384, 258),
        (385, 384, 258),
        (768, 768, 258),
        (769, 768, 516),
        (1920, 1080, 1548),
        (1080, 1920, 1548),
    ],
)
def test_a_picture_is_counted_in_tiles(width, height, tokens):
    assert GEMINI.image_tokens(width, height) == tokens


def test_an_endpoint_that_does_not_say_how_it_counts_has_no_count():
    assert endpoints()["openrouter/qwen3-vl-8b-instruct"].image_tokens(640, 480) is None


@given(SIDE, SIDE, SIDE, SIDE)
def test_a_larger_picture_never_has_fewer_tokens(width, height, wider, higher):
    tokens = GEMINI.image_tokens(width, height)
    assert tokens <= GEMINI.image_tokens(width + wider, height + higher)


def test_every_licence_of_a_model_is_in_the_catalogue():
    assert {spec.licence for spec in catalogued_models().values()} <= set(licences())


def test_every_licence_has_terms_in_one_line_a_source_and_a_date():
    for key, licence in licences().items():
        assert key == licence.key == key.casefold()
        assert len(licence.terms.splitlines()) == 1
        assert licence.source
        assert known_date(licence.dated)


def test_the_licences_that_stop_a_job_say_so():
    research, llama = find_licence("qwen-research"), find_licence("llama-3.2-community")
    assert research.needs_acknowledgement
    assert not research.excludes("eu")
    assert llama.excludes("EU")
    assert not llama.excludes("us")
    assert not find_licence("apache-2.0").needs_acknowledgement
    assert find_licence("qwen").commercial


def test_a_licence_that_is_not_known_keeps_its_name_and_promises_nothing():
    found = find_licence("Some Company License v2")
    assert (found.key, found.name) == ("unknown", "Some Company License v2")
    assert found.commercial is None


def test_the_guide_advises_models_of_the_catalogue_for_every_use():
    assert uses() == ("ocr", "inspection", "video", "edge")
    for use in uses():
        advice = advice_for(use)
        assert len(advice) >= 2
        assert all(each.model in catalogued_models() for each in advice)
        assert all(each.why and each.not_measured and each.source for each in advice)
        assert all(known_date(each.dated) for each in advice)
    assert advice_for("poetry") == ()


def test_the_guide_holds_no_figure_that_the_catalogue_has():
    for use in uses():
        for each in advice_for(use):
            assert not re.search(r"GiB|\d+B\b|\d tokens for", each.why)


def test_what_the_guide_says_of_licences_and_boxes_is_so():
    specs = catalogued_models()
    for each in advice_for("inspection"):
        assert specs[each.model].boxes != "unknown"
    for use in uses():
        for each in advice_for(use):
            assert find_licence(specs[each.model].licence).commercial
            assert specs[each.model].remote_code == ("needs remote code" in each.why)
