"""A quote as JSON: the keys that programs rely on, unknowns as null, money as text."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from infra.catalogue.endpoints import find_endpoint
from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from infra.planner.ask import Limits, Request, judged, quote
from infra.planner.judge import Given
from infra.planner.report import endpoint_to_json, to_json
from infra.planner.workload import Workload

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
QWEN_72B = MODELS["Qwen/Qwen2.5-VL-72B-Instruct"]
LLAMA = MODELS["meta-llama/Llama-3.2-11B-Vision-Instruct"]
OFFERS = catalogued_offers()
WORK = Workload(3000, ((1920, 1080), (640, 480)))
TODAY = date(2026, 11, 30)
PROMISED = {
    "choice": {"gpu", "count", "tensor_parallel", "offer"},
    "memory": {
        "budget_gib",
        "weights_gib",
        "activation_gib",
        "non_torch_gib",
        "graphs_gib",
        "kv_gib",
        "kv_tokens",
        "fits",
        "reason",
    },
    "image_tokens": {"patches", "tokens", "model_width", "model_height"},
    "time_s": {"low", "expected", "high"},
    "cost": {"usd", "usd_per_1000_images", "billed_s"},
}


def chosen(spec=QWEN_7B, offers=OFFERS, limits=None):
    return quote(Request(spec, WORK), limits or Limits(), offers, TODAY)


def given(spec=QWEN_7B, gpu="H100"):
    return judged(Request(spec, WORK), gpu, Given(), OFFERS)


@pytest.mark.parametrize("found", [chosen(), given()], ids=["chosen", "given"])
def test_both_forms_hold_what_programs_rely_on(found):
    shown = to_json(found)
    for part, keys in PROMISED.items():
        assert keys <= set(shown[part])
    assert shown["engine"] == found.choice.engine.to_vllm()
    assert isinstance(shown["rejected"], list)


def test_the_same_keys_come_whether_chosen_given_or_an_endpoint():
    endpoint = endpoint_to_json(find_endpoint("gemini-2.5-pro"), WORK)
    assert set(to_json(chosen())) == set(to_json(given())) == set(endpoint)


@pytest.mark.parametrize("found", [chosen(), given()], ids=["chosen", "given"])
def test_a_quote_survives_json_unchanged(found):
    shown = to_json(found, explained=True)
    assert json.loads(json.dumps(shown)) == shown


def test_figures_are_those_of_the_choice():
    found = chosen()
    shown, choice = to_json(found), found.choice
    assert shown["memory"]["kv_tokens"] == choice.memory.kv_tokens
    assert shown["memory"]["weights_gib"] == round(choice.memory.weights_gib, 3)
    assert shown["time_s"]["expected"] == round(choice.duration.wall.expected, 1)
    assert Decimal(shown["cost"]["usd"]) == choice.cost.usd
    assert shown["choice"]["count"] == choice.gpus
    assert len(shown["runners_up"]) == 2


def test_image_tokens_are_of_the_first_picture_and_their_spread_over_all():
    shown = to_json(chosen())["image_tokens"]
    assert (shown["patches"], shown["tokens"]) == (10_764, 2691)
    assert (shown["model_width"], shown["model_height"]) == (1932, 1092)
    assert (shown["distribution"]["min"], shown["distribution"]["max"]) == (391, 2691)
    assert all(0 < step["saved"] < 1 for step in shown["reductions"])


def test_nothing_that_fits_is_null_and_not_zero():
    small = [offer for offer in OFFERS if offer.gpu == "L40S"]
    shown = to_json(chosen(QWEN_72B, small))
    parts = ("choice", "memory", "engine", "time_s", "cost")
    assert [shown[part] for part in parts] == [None] * 5
    assert shown["rejected"]
    assert shown["kv_explosion"] == []


def test_an_unknown_price_is_null_with_a_warning():
    offers = [replace(o, usd_per_hour=None) for o in OFFERS if o.gpu == "H100"]
    shown = to_json(chosen(offers=offers))
    assert (shown["cost"]["usd"], shown["cost"]["usd_per_1000_images"]) == (None, None)
    assert shown["cost"]["billed_s"] > 0
    assert any("unknown, not zero" in told for told in shown["warnings"])


def test_the_kv_table_says_where_heads_are_copied():
    found = judged(Request(QWEN_7B, WORK), "H100", Given(tensor_parallel=4), OFFERS)
    assert not any(row["heads_replicated"] for row in to_json(found)["kv_explosion"])
    wide = replace(QWEN_7B, decoder=replace(QWEN_7B.decoder, kv_heads=2))
    found = judged(Request(wide, WORK), "H100", Given(tensor_parallel=4), OFFERS)
    assert all(row["heads_replicated"] for row in to_json(found)["kv_explosion"])


def test_tokens_beside_the_prompt_are_said_to_be():
    assert to_json(given(LLAMA, "H200"))["image_tokens"]["in_prompt"] is False


def test_an_endpoint_has_a_price_and_neither_hardware_nor_a_time():
    shown = endpoint_to_json(find_endpoint("gemini-2.5-pro"), WORK)
    assert (shown["choice"]["gpu"], shown["choice"]["count"]) == (None, 0)
    assert (shown["memory"], shown["engine"], shown["time_s"]) == (None, None, None)
    usd, each = Decimal(shown["cost"]["usd"]), Decimal(shown["cost"]["usd_per_1000_images"])
    assert usd > 0
    assert each == pytest.approx(usd / 3, abs=Decimal("0.0001"))
    assert each.as_tuple().exponent == -4


def test_an_endpoint_that_does_not_say_how_it_counts_pictures_has_an_unknown_cost():
    shown = endpoint_to_json(find_endpoint("nebius/qwen2.5-vl-72b-instruct"), WORK)
    assert shown["cost"]["usd"] is None
    assert shown["warnings"][0] == "what nebius/qwen2.5-vl-72b-instruct costs is unknown"
