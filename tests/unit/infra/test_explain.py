"""Every figure of a quote is explained, and explained by the figure that the report shows."""

import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from infra.planner.ask import Limits, Request, judged, quote
from infra.planner.explain import explain
from infra.planner.judge import Given
from infra.planner.measured import Measured
from infra.planner.report import to_json
from infra.planner.workload import Workload

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"]
LLAMA = MODELS["meta-llama/Llama-3.2-11B-Vision-Instruct"]
OFFERS = catalogued_offers()
WORK = Workload(3000, ((1920, 1080),))
TODAY = date(2026, 11, 30)
MEMORY = {
    "budget": "budget_gib",
    "weights": "weights_gib",
    "activation": "activation_gib",
    "non-torch": "non_torch_gib",
    "CUDA graphs": "graphs_gib",
    "KV cache": "kv_gib",
}


def chosen(spec=QWEN_7B, known=None):
    return quote(Request(spec, WORK, known=known or {}), Limits(), OFFERS, TODAY)


def lines(found):
    return {line.figure: line for line in explain(found)}


def numbers(text):
    return [float(each.replace(",", "")) for each in re.findall(r"-?[\d,]*\d(?:\.\d+)?", text)]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(MODELS)), st.sampled_from(["H100", "H200", "L40S"]), st.integers(1, 3)
)
def test_what_is_explained_is_what_is_reported(name, gpu, pictures):
    spec = MODELS[name]
    work = Workload(3000, ((1920, 1080), (640, 480)), pictures=pictures)
    found = judged(Request(spec, work), gpu, Given(), OFFERS)
    shown, told = to_json(found), lines(found)
    for figure, key in MEMORY.items():
        assert numbers(told[figure].value)[0] == pytest.approx(shown["memory"][key], abs=0.006)
    assert numbers(told["KV cache"].value)[1] == shown["memory"]["kv_tokens"]
    spread = shown["image_tokens"]["distribution"]
    assert numbers(told["image tokens"].value)[1:] == [
        spread["median"],
        95,
        spread["p95"],
        spread["max"],
    ]


def test_time_and_cost_are_explained_by_the_reports_own():
    found = chosen()
    shown, told = to_json(found), lines(found)
    for figure in ("start", "work", "rest"):
        part = shown["time_s"][figure]
        ends = [part["low"], part["high"], part["expected"]]
        assert numbers(told[figure].value) == pytest.approx(ends, abs=0.51)
    assert told["cost"].value == f"{shown['cost']['usd']} USD"
    assert f"{shown['cost']['billed_s']:,} node-seconds" in told["cost"].formula


def test_the_weights_formula_adds_up():
    line = lines(chosen())["weights"]
    encoder, linears, embeddings, rest = numbers(line.formula)[:4]
    buffers = numbers(line.formula)[-1]
    total = (encoder + linears + embeddings + rest) * (1 + 1 / 400) + buffers
    assert numbers(line.value)[0] == pytest.approx(total, abs=0.03)


def test_the_tokens_of_a_question_add_up_also_where_pictures_are_not_in_the_prompt():
    for spec in (QWEN_7B, LLAMA):
        line = lines(judged(Request(spec, WORK), "H200", Given(), OFFERS))["tokens of a question"]
        count, *parts = numbers(line.formula)
        picture, *text = parts if spec is QWEN_7B else [0.0, *parts]
        assert numbers(line.value) == [count * (picture + text[0]) + text[1] + text[2]]


def test_what_was_measured_is_not_explained_by_a_roofline():
    known = {name: Measured(3, 1e-6, 2e-6, 4e-6, 90.0, 100.0) for name in ("H100", "L40S")}
    assert "arithmetic of a question" in lines(chosen())
    measured = lines(chosen(known=known))
    assert "arithmetic of a question" not in measured
    assert measured["work"].formula.endswith("measured by 3 earlier jobs")


def test_without_a_choice_the_tokens_are_still_explained():
    small = [offer for offer in OFFERS if offer.gpu == "L40S"]
    spec = MODELS["Qwen/Qwen2.5-VL-72B-Instruct"]
    found = quote(Request(spec, WORK), Limits(), small, TODAY)
    assert found.choice is None
    assert list(lines(found)) == ["image tokens", "tokens of a question"]


def test_what_has_no_time_and_no_price_explains_neither():
    found = judged(Request(QWEN_7B, WORK), "H100-NVL", Given(), OFFERS)
    assert {"start", "work", "rest", "cost"}.isdisjoint(lines(found))
