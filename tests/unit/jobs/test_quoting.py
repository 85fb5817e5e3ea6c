"""What a quote rests on: inputs counted, sizes sampled, changes tried one at a time."""

from dataclasses import replace

import pytest

from infra.planner.measured import Measured
from jobs.errors import ManifestError
from jobs.submit import quoting
from jobs.submit.quoting import (
    CHARACTERS_A_TOKEN,
    TEMPLATE_TOKENS,
    cheaper,
    gather,
    quote_job,
    quote_to_json,
    workload,
)
from jobs.tasks import resolve_task

MEASURED = Measured(3, 0.009, 0.01, 0.011, 20.0, 40.0)
SEVEN = "Qwen/Qwen2.5-VL-7B-Instruct"


def auto(**changes):
    return {"model": SEVEN, "hardware": {"offer": "auto", **changes}}


def test_a_workload_says_what_the_manifest_asks_for(store, settings, make_manifest, put_pictures):
    put_pictures(3)
    asked = make_manifest(image={"max_pixels": 9000}, sampling={"max_tokens": 77})
    work = workload(asked, gather(store, settings, asked))
    text = len(resolve_task("inspection").prompt) // CHARACTERS_A_TOKEN + TEMPLATE_TOKENS
    assert (work.images, work.sizes) == (3, ((56, 56),) * 3)
    assert (work.max_output, work.mean_output) == (77, None)
    assert (work.min_pixels, work.max_pixels, work.prompt_tokens) == (None, 9000, text)


def test_answers_are_as_long_as_earlier_ones_but_no_longer_than_allowed(
    store, settings, make_manifest, put_pictures
):
    put_pictures(1)
    for most, mean in ((512, 40.0), (16, 16)):
        asked = make_manifest(sampling={"max_tokens": most})
        facts = replace(gather(store, settings, asked), known={"H100": MEASURED})
        assert workload(asked, facts).mean_output == mean


def test_inputs_are_counted_on_when_there_is_a_budget(
    store, settings, make_manifest, put_pictures, monkeypatch
):
    put_pictures(5)
    monkeypatch.setattr(quoting, "COUNTED", 3)
    whole = gather(store, settings, make_manifest(budget={"max_usd": 1}))
    part = gather(store, settings, make_manifest())
    assert (whole.images, whole.counted) == (5, True)
    assert (part.images, part.counted) == (3, False)
    shown = quote_to_json(quote_job(part, settings, make_manifest()), make_manifest())
    assert any("more than 3 inputs" in each for each in shown["warnings"])


def test_without_pictures_there_is_nothing_to_quote(store, settings, make_manifest):
    with pytest.raises(ManifestError, match=r"^inputs: there are no pictures"):
        gather(store, settings, make_manifest())


def test_every_change_that_is_proposed_was_quoted(store, settings, make_manifest, put_pictures):
    put_pictures(2)
    manifest = make_manifest(**auto(gpus=["H100"], deadline_s=4000))
    found = dict(cheaper(gather(store, settings, manifest), settings, manifest))
    assert {"no hardware.deadline_s", "hardware.quantization fp8"} < set(found)
    assert all(usd > 0 for usd in found.values())


def test_a_change_that_is_impossible_is_not_proposed(store, settings, make_manifest, put_pictures):
    put_pictures(2)
    manifest = make_manifest(**auto(), image={"min_pixels": 10**6})
    assert cheaper(gather(store, settings, manifest), settings, manifest)
