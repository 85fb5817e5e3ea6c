"""What must hold before anything is paid for; what was found goes into record and receipt."""

from dataclasses import replace
from decimal import Decimal

import pytest

from infra.catalogue.licences import licences
from infra.catalogue.models import catalogued_models
from infra.models.find import find_spec
from jobs.addresses import Address
from jobs.errors import ManifestError
from jobs.submit.gates import budget_gate, code_gate, engine_gate, licence_gate
from jobs.submit.submission import pass_gates, submit

LLAMA = find_spec("meta-llama/Llama-3.2-11B-Vision-Instruct")
SMALL = find_spec("Qwen/Qwen2.5-VL-3B-Instruct")
FREE = find_spec("Qwen/Qwen2.5-VL-7B-Instruct")
COMMIT = "0123456789" * 4


def refusal(gate, *arguments) -> str:
    with pytest.raises(ManifestError) as caught:
        gate(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("where", ["EU", "eu"])
def test_a_model_whose_licence_excludes_the_union_is_refused_there(where):
    line = refusal(licence_gate, LLAMA, where, ())
    assert line.startswith("model: the licence of meta-llama/Llama-3.2-11B-Vision-Instruct")
    assert "excludes EU" in line


def test_such_a_model_is_refused_when_nobody_said_where_we_are():
    assert "set jurisdiction in the settings" in refusal(licence_gate, LLAMA, None, ())


def test_such_a_model_is_allowed_elsewhere_and_so_noted():
    [checked] = licence_gate(LLAMA, "US", ())
    assert (checked.gate, checked.what) == ("licence", LLAMA.name)
    assert checked.found == "Llama 3.2 Community License"


def test_every_model_of_an_excluding_licence_is_refused_in_the_union():
    excluding = [each for each in catalogued_models().values() if "llama" in each.name.casefold()]
    assert excluding
    for spec in excluding:
        assert licences()[spec.licence].excludes("EU")


def test_a_model_not_for_commercial_use_must_be_acknowledged():
    line = refusal(licence_gate, SMALL, "US", ())
    assert '"acknowledge": ["qwen-research"]' in line
    assert '"acknowledge"' in refusal(licence_gate, SMALL, "US", ("apache-2.0",))
    assert licence_gate(SMALL, None, ("qwen-research",))[0].found == "Qwen Research License"


def test_a_free_model_needs_neither_place_nor_word():
    assert licence_gate(FREE, None, ())[0].found == "Apache License 2.0"


def test_code_that_comes_with_weights_runs_only_from_a_pinned_commit():
    spec = find_spec("openbmb/MiniCPM-V-4_5")
    assert spec.remote_code
    assert '"revision": ' in refusal(code_gate, spec, None)
    assert code_gate(spec, COMMIT)[0].found == f"pinned to {COMMIT}"
    assert code_gate(FREE, None)[0].found == "none"


def test_a_model_that_vllm_dropped_is_not_run():
    assert "vLLM up to 0.1" in refusal(engine_gate, replace(FREE, last_vllm="0.1"))
    assert engine_gate(FREE) == []


def no_change() -> list[tuple[str, Decimal]]:
    raise AssertionError("changes are only looked for when the quote is too high")


def test_a_quote_within_the_budget_passes_with_both_amounts():
    [checked] = budget_gate(Decimal(5), Decimal("4.99"), no_change)
    assert (checked.what, checked.found) == ("5 USD", "quoted 4.99 USD")
    assert budget_gate(Decimal(5), Decimal(5), no_change)
    assert budget_gate(None, Decimal(5), no_change) == []


def test_an_unknown_quote_is_said_to_be_unknown():
    assert "quote unknown" in budget_gate(Decimal(5), None, no_change)[0].found


CHANGES = [("a", Decimal(3)), ("b", Decimal(9)), ("c", Decimal(4))]


def test_a_quote_above_the_budget_is_refused_with_the_smallest_change_that_fits():
    line = refusal(budget_gate, Decimal(5), Decimal(10), lambda: CHANGES)
    assert line == "budget.max_usd: 5 is below the quote of 10 USD; c would cost 4 USD"


def test_when_no_change_fits_the_cheapest_is_named_with_its_price():
    line = refusal(budget_gate, Decimal(1), Decimal(10), lambda: CHANGES)
    assert line.endswith("the cheapest change tried, a, would still cost 3 USD")
    line = refusal(budget_gate, Decimal(1), Decimal(10), list)
    assert line.endswith("no change was found that would lower it")


def test_a_budget_is_held_against_the_quote_and_a_smaller_picture_proposed(
    store, settings, make_manifest, put_pictures
):
    put_pictures(3)
    hardware = {"offer": "auto", "gpus": ["H100"]}
    asked = {"model": FREE.name, "hardware": hardware, "budget": {"max_usd": "0.0001"}}
    with pytest.raises(ManifestError, match=r"^budget\.max_usd: .* below the quote of .* change"):
        pass_gates(store, settings, make_manifest(**asked))
    asked["budget"] = {"max_usd": 1000}
    checked = pass_gates(store, settings, make_manifest(**asked))
    assert [each.gate for each in checked] == ["licence", "remote code", "budget"]


def test_a_request_that_a_gate_refuses_is_no_job(
    store, settings, make_manifest, put_pictures, bucket, monkeypatch
):
    put_pictures(1)
    monkeypatch.setattr("jobs.submit.submission.spec_for", lambda *_: SMALL)
    with pytest.raises(ManifestError, match="acknowledge"):
        submit(store, settings, make_manifest())
    assert list(store.list(Address(bucket, "zeroshift/"))) == []


def test_what_was_checked_is_in_the_record_and_in_the_receipt(
    controller, submitted, put_pictures, load, receipt
):
    put_pictures(1)
    job = submitted(budget={"max_usd": 5})
    controller().once()
    gates = [each.gate for each in load(job).checked]
    assert gates == ["licence", "remote code", "budget"]
    assert receipt(job)["checked"] == [each.model_dump() for each in load(job).checked]
