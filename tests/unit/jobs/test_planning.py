"""From a manifest to a workload and a quote: on the job's own pictures, and never on a guess."""

import io
from dataclasses import replace
from decimal import Decimal

import pytest
from PIL import Image

from infra.planner.measured import Measured
from jobs.addresses import Address
from jobs.errors import ManifestError
from jobs.manifest.manifest import job_id
from jobs.submit import quoting
from jobs.submit.planning import on_hub, plan_for, spec_for
from jobs.submit.quoting import (
    USUAL_SIZE,
    gather,
    quote_job,
    quote_to_json,
)

SEVEN = "Qwen/Qwen2.5-VL-7B-Instruct"
MEASURED = Measured(3, 0.009, 0.01, 0.011, 20.0, 40.0)


@pytest.fixture
def quoted(store, settings, make_manifest, put_pictures):
    """Quotes a job of ten pictures; `known` is what earlier jobs measured."""
    put_pictures(10)

    def ask(known=None, **changes):
        manifest = make_manifest(**changes)
        facts = gather(store, settings, manifest)
        if known:
            facts = replace(facts, known=known)
        return quote_job(facts, settings, manifest), manifest

    return ask


def auto(**changes):
    return {"model": SEVEN, "hardware": {"offer": "auto", **changes}}


def test_real_sizes_of_pictures_make_the_quote(store, bucket, quoted):
    small, manifest = quoted(**auto())
    tokens = [quote_to_json(small, manifest)["image_tokens"]]
    file = io.BytesIO()
    Image.new("RGB", (2000, 1500), "grey").save(file, "PNG")
    for number in range(10):
        store.write(Address(bucket, f"large/{number}.png"), file.getvalue())
    large, manifest = quoted(**auto(), inputs={"prefix": f"s3://{bucket}/large/"})
    tokens.append(quote_to_json(large, manifest)["image_tokens"])
    assert [(each["model_width"], each["model_height"]) for each in tokens] == [
        (56, 56),
        (1988, 1512),
    ]
    assert large.usd > small.usd


def test_without_one_header_a_usual_size_is_assumed_and_that_is_said(bucket, quoted, put_pictures):
    put_pictures(0, broken=2, prefix="odd/")
    answer, manifest = quoted(**auto(), inputs={"prefix": f"s3://{bucket}/odd/"})
    shown = quote_to_json(answer, manifest)
    assert shown["headers"] == {"read": 0, "asked": 2}
    assert any("{}x{} is assumed".format(*USUAL_SIZE) in each for each in shown["warnings"])


def test_auto_is_the_cheapest_offer_and_can_not_be_raised_yet(quoted, settings):
    answer, manifest = quoted(**auto())
    assert answer.offer.gpu is not None
    assert answer.usd == min(
        each.cost.usd for each in (answer.rented.choice, *answer.rented.runners_up)
    )
    with pytest.raises(ManifestError, match=r'"auto" can be planned \(--dry-run\), but not raised'):
        plan_for(manifest, settings)


@pytest.mark.parametrize("name", ["aws/p5.48xlarge", "runpod/h200"])
def test_an_offer_of_the_catalogue_can_be_planned_and_not_raised(quoted, settings, name):
    answer, manifest = quoted(model=SEVEN, hardware={"offer": name})
    assert answer.offer.name == name
    assert answer.rented.rejected == ()
    with pytest.raises(ManifestError, match="can be planned"):
        plan_for(manifest, settings)


def test_an_offer_that_is_named_needs_no_permission_for_its_gpu(quoted, settings):
    unusual = next(
        offer for offer in quoting.offers(settings) if offer.gpu in ("B200", "L4", "RTX-4090")
    )
    answer, _ = quoted(model=SEVEN, hardware={"offer": unusual.name})
    assert answer.offer or answer.rented.rejected[0].offer == unusual.name


def test_what_limits_the_choice_is_kept(quoted):
    answer, _ = quoted(**auto(gpus=["H200"], regions=["eu-*"]))
    assert (answer.offer.gpu, answer.offer.eu) == ("H200", True)
    answer, manifest = quoted(**auto(deadline_s=1))
    assert (answer.offer, answer.usd) == (None, None)
    assert quote_to_json(answer, manifest)["choice"] is None


@pytest.mark.parametrize(
    ("hardware", "said"),
    [
        ({"gpus": ["H100"]}, r"^hardware\.gpus: found with offer \"local\""),
        ({"deadline_s": 60}, r"^hardware\.deadline_s: "),
        ({"quantization": "fp8"}, r"^hardware\.quantization: "),
        ({"offer": "auto", "replicas": 2}, r"^hardware\.replicas: "),
        ({"offer": "auto", "gpus": ["H1000"]}, "did you mean H100"),
        ({"offer": "auto", "regions": ["mars"]}, "no offer .*in mars"),
        ({"offer": "moon"}, "no offer 'moon'"),
    ],
)
def test_what_can_not_be_kept_is_refused_and_not_passed_over(quoted, hardware, said):
    with pytest.raises(ManifestError, match=said):
        quoted(model="zeroshift/parts-inspector", hardware=hardware)


def test_this_machine_without_history_has_no_time_and_no_cost(quoted):
    answer, manifest = quoted()
    shown = quote_to_json(answer, manifest)
    assert (shown["time_s"], shown["cost"], answer.usd) == (None, None, None)
    assert "seconds and USD are unknown: no job of this model has run" in shown["warnings"]
    assert shown["job_id"] == job_id(manifest)
    assert shown["headers"] == {"read": 10, "asked": 10}


def test_this_machine_with_history_is_told_by_it(quoted):
    answer, manifest = quoted(known={"local": MEASURED})
    shown = quote_to_json(answer, manifest)
    low, expected, high = (shown["time_s"][name] for name in ("low", "expected", "high"))
    assert low < expected < high
    assert shown["time_s"]["basis"] == "measured by 3 earlier jobs"
    assert expected == pytest.approx(20 + 10 * 0.01 * answer.local.tokens.sequence, abs=0.1)
    assert Decimal(shown["cost"]["usd"]) == answer.usd > 0


def test_a_gpu_with_history_is_told_by_it(quoted):
    answer, _ = quoted(known={"H100": MEASURED}, **auto(gpus=["H100"]))
    assert answer.rented.choice.duration.basis == "measured by 3 earlier jobs"


def test_a_model_that_nobody_knows_is_named_with_those_like_it(store, make_manifest, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ManifestError, match=r"did you mean 'Qwen/Qwen2\.5-VL-7B-Instruct'"):
        spec_for(store, make_manifest(model="Qwen/Qwen2.5-VL-7B-Instruckt"))


def test_an_endpoint_is_no_model_of_a_job(store, make_manifest):
    with pytest.raises(ManifestError, match="is an endpoint that is paid by the token"):
        spec_for(store, make_manifest(model="google/gemini-2.5-pro"))


def test_only_what_is_neither_here_nor_in_a_bucket_is_of_the_hub(model):
    assert on_hub(SEVEN)
    assert not any(map(on_hub, (model, "s3://m/x/", "zeroshift/parts-inspector")))
