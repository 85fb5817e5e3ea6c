"""The planner against what vLLM logged: public logs, each with its source, none left out.

A row says what was measured, what of it is judged, and why the rest can't be. Residuals are shown
in docs/planner.md.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.catalogue.gpus import find_gpu
from infra.catalogue.models import catalogued_models
from infra.planner.engine import settings_for
from infra.planner.judge import Given, engine_of
from infra.planner.kv_cache import kv_bytes_per_token
from infra.planner.memory import Memory, rank_memory
from infra.planner.sizes import GIB
from infra.planner.weights import weigh
from infra.planner.workload import Workload, tokens_of

MODELS = catalogued_models()
ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "measured_memory.json").read_text()
)
BATCHED_TOKENS = 8192  # where a log of weights alone does not say
FORMER_UTILIZATION = 0.9  # vLLM's default in all of these versions
GRAPHS_COUNT = ("0.23", "0.27")  # from 0.21 on vLLM takes graphs off the KV cache
WEIGHTS, WEIGHTS_AWQ, KV = 0.01, 0.02, 0.1


def judged(fact: str) -> list[Any]:
    """Rows on which `fact` is judged; a wrong one must stay wrong for the reason it gives."""
    marked = []
    for row in ROWS:
        if fact in row["judged"]:
            reason = row.get("wrong", {}).get(fact)
            marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
            marked.append(pytest.param(row, id=row["id"], marks=marks))
    return marked


def planned(row: dict[str, Any]) -> Memory:
    """The plan of a row, with vLLM's own defaults wherever it says nothing."""
    spec, gpu = MODELS[row["model"]], find_gpu(row["on"])
    given = {"utilization": FORMER_UTILIZATION, **row["given"]}
    if "videos" not in given:
        given["videos"] = given.pop("video", 0)
    work = Workload(1, ((1280, 960),), max_pixels=given.pop("max_pixels", None))
    quantization = given.pop("quantization", spec.quantization)
    asked = Given(**given)
    ours = settings_for(spec, quantization, work, tokens_of(spec, work), asked.tensor_parallel)
    return rank_memory(spec, gpu, quantization, engine_of(spec, gpu, asked, ours))


def planned_weights_gib(row: dict[str, Any]) -> float:
    spec, given = MODELS[row["model"]], row["given"]
    batched = given.get("max_num_batched_tokens", BATCHED_TOKENS)
    return weigh(spec, spec.quantization, given["tensor_parallel"], batched).rank / GIB


def planned_kv_gib(row: dict[str, Any]) -> float:
    """As the version of the row counts it: before 0.21 the graphs are not taken off."""
    memory = planned(row)
    later = (row["vllm"] or "").startswith(GRAPHS_COUNT)
    return memory.kv_gib + (0 if later else memory.graphs_gib)


def measured_kv_gib(row: dict[str, Any]) -> float:
    measured = row["measured"]
    if "kv_gib" in measured:
        return float(measured["kv_gib"])
    decoder = MODELS[row["model"]].decoder
    each = kv_bytes_per_token(decoder, row["given"]["tensor_parallel"])
    return float(measured["kv_tokens"] * each / GIB)


@pytest.mark.parametrize("row", judged("weights"))
def test_weights_are_within_one_percent_and_two_for_awq(row):
    allowed = WEIGHTS_AWQ if MODELS[row["model"]].quantization == "awq" else WEIGHTS
    assert planned_weights_gib(row) == pytest.approx(row["measured"]["weights"], rel=allowed)


@pytest.mark.parametrize("row", judged("kv"))
def test_the_kv_cache_is_within_ten_percent_where_the_inputs_are_known(row):
    assert planned_kv_gib(row) == pytest.approx(measured_kv_gib(row), rel=KV)


@pytest.mark.parametrize("row", judged("fits"))
def test_what_started_fits_and_what_did_not_does_not(row):
    assert planned(row).fits is row["measured"]["fits"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_whatever_is_not_judged_says_why(row):
    facts = {key.split("_")[0] for key in row["measured"]}
    assert facts >= set(row["judged"]) >= set(row.get("wrong", {}))
    assert (facts > set(row["judged"])) == bool(row.get("unjudged"))
    assert row["source"]


def test_no_row_is_lost_and_enough_of_them_are_judged():
    assert len(ROWS) == len({row["id"] for row in ROWS}) == 55
    counts = {fact: len(judged(fact)) for fact in ("weights", "kv", "fits")}
    assert counts == {"weights": 21, "kv": 6, "fits": 16}


def test_a_log_of_bytes_a_token_is_the_planners():
    """q3-4b-784: "36.00 GiB KV cache is needed" for 262,144 tokens."""
    decoder = MODELS["Qwen/Qwen3-VL-4B-Instruct"].decoder
    assert kv_bytes_per_token(decoder, 1) * 262_144 == 36 * GIB


def test_a_card_of_another_size_would_be_judged_by_its_own_total():
    row = next(row for row in ROWS if row["id"] == "q3-8b-eager")
    spec, given = MODELS[row["model"]], dict(row["given"])
    work = Workload(1, ((1280, 960),), max_pixels=given.pop("max_pixels"))
    asked = Given(**given)
    gpu = replace(find_gpu("L40S"), total_gib=47.5)
    ours = settings_for(spec, "none", work, tokens_of(spec, work), 1)
    memory = rank_memory(spec, gpu, "none", engine_of(spec, gpu, asked, ours))
    assert memory.kv_tokens == pytest.approx(row["measured"]["kv_tokens"], rel=0.01)
