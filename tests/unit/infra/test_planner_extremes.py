"""Numbers far beyond any real job end in one line, at once, and never in a figure that is none."""

from datetime import date

import pytest

from infra.catalogue.gpus import find_gpu
from infra.catalogue.licences import MEMBERS, find_licence
from infra.catalogue.models import catalogued_models
from infra.catalogue.offers import catalogued_offers
from infra.errors import PlanRefused
from infra.models.config_json import read_spec
from infra.planner.ask import Limits, Request, quote, read_size, wanted_gpus
from infra.planner.engine import settings_for
from infra.planner.image_tokens import count_image_tokens, largest_image_tokens
from infra.planner.judge import Given, judge
from infra.planner.report import to_json
from infra.planner.workload import MOST, Workload, tokens_of

MODELS = catalogued_models()
QWEN, INTERN = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"], MODELS["OpenGVLab/InternVL3-8B"]
SIZES = ((1280, 960),)


def judged(given: Given, work: Workload | None = None):
    asked = work or Workload(1000, SIZES)
    return judge(QWEN, "none", asked, find_gpu("H100"), given, catalogued_offers())


@pytest.mark.parametrize(
    "name", ["images", "prompt_tokens", "max_output", "concurrency", "pictures"]
)
@pytest.mark.parametrize("value", [MOST + 1, 10**29, 10**400])
def test_a_count_beyond_all_reason_is_refused_by_name(name, value):
    option = {"max_output": "max-output-tokens"}.get(name, name.replace("_", "-"))
    with pytest.raises(PlanRefused, match=f"^{option}: found more than 1,000,000,000,000; allowed"):
        Workload(**{"images": 1, "sizes": SIZES, name: value})


def test_the_most_images_still_have_a_cost():
    asked = Request(QWEN, Workload(MOST, SIZES))
    cost = quote(asked, Limits(), catalogued_offers(), date(2026, 11, 30)).choice.cost
    assert 0 < cost.usd_low <= cost.usd <= cost.usd_high


@pytest.mark.parametrize("name", ["max_model_len", "max_num_seqs", "max_num_batched_tokens"])
def test_an_engines_number_beyond_all_reason_is_refused(name):
    with pytest.raises(PlanRefused, match=f"^{name.replace('_', '-')}: found more than"):
        Given(**{name: 10**400})


@pytest.mark.parametrize("share", [1e-320, 0.001, 0.0, -1.0, 1.5, float("nan"), float("inf")])
def test_a_utilisation_that_would_need_endless_memory_is_refused(share):
    with pytest.raises(PlanRefused, match=r"^utilization: found .*; allowed: 0\.01 to 1$"):
        Given(utilization=share)


@pytest.mark.parametrize("text", ["9" * 20 + "x1", "1x" + "9" * 5000])
def test_a_side_of_too_many_digits_is_refused_in_a_short_line(text):
    with pytest.raises(PlanRefused, match="up to 9 digits each") as caught:
        read_size(text)
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize("spec", [QWEN, INTERN], ids=["pixels", "tiles"])
@pytest.mark.parametrize("most", [10**11, 10**30])
def test_a_pixel_bound_that_would_be_counted_for_ever_is_refused(spec, most):
    with pytest.raises(PlanRefused, match=r"^image\.max_pixels: found .*; allowed: up to "):
        largest_image_tokens(spec, None, most)
    with pytest.raises(PlanRefused, match=r"^image\.max_pixels: found .*; allowed: up to "):
        count_image_tokens(spec, *SIZES[0], None, most)


class Files(dict):
    def read(self, name, length=None):
        return self.get(name, None)


@pytest.mark.parametrize("key", ["min_pixels", "max_pixels", "patch_size", "merge_size"])
def test_a_processors_number_beyond_all_reason_is_named(key):
    config = (
        b'{"model_type": "qwen2_5_vl", "vision_config": {"hidden_size": 8, "intermediate_size": 8},'
        b'"hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 9,'
        b'"num_hidden_layers": 1, "intermediate_size": 8}'
    )
    preprocessor = b'{"%s": 1%s}' % (key.encode(), b"0" * 30)
    files = Files({"config.json": config, "preprocessor_config.json": preprocessor})
    with pytest.raises(PlanRefused, match=f"{key} is 10+; allowed: up to 10,000,000,000"):
        read_spec("odd", files)


def test_fewer_batched_tokens_than_rows_are_refused_as_vllm_refuses_them():
    with pytest.raises(PlanRefused, match=r"^max-num-batched-tokens: found 1; allowed: 64 "):
        Given(max_num_seqs=64, max_num_batched_tokens=1)


def test_a_planned_engine_batches_no_fewer_tokens_than_rows():
    work = Workload(10**6, SIZES, concurrency=20_000)
    engine = settings_for(QWEN, "none", work, tokens_of(QWEN, work), 1)
    assert engine.max_num_batched_tokens >= engine.max_num_seqs == 20_000


def test_a_length_that_the_jobs_own_questions_exceed_is_warned_of():
    short = judged(Given(max_model_len=1000)).warnings
    assert any("takes 2,334 tokens with its answer, max_model_len is 1,000" in w for w in short)
    assert not judged(Given(max_model_len=2334)).warnings


def test_a_judged_configuration_must_hold_all_that_are_wanted_at_once():
    assert judged(Given()).choice.memory.fits
    assert not judged(Given(), Workload(1000, SIZES, concurrency=1000)).choice.memory.fits


def test_the_first_pictures_shape_does_not_decide_over_the_others():
    work = Workload(1000, ((1000, 4), (640, 480)))
    found = quote(Request(QWEN, work), Limits(), catalogued_offers(), date(2026, 11, 30))
    shown = to_json(found)["image_tokens"]
    assert (shown["model_width"], shown["model_height"]) == (644, 476)
    assert shown["distribution"]["too_long"] == 1
    [told] = [each for each in to_json(found)["warnings"] if "as wide" in each]
    assert told.startswith("1 of 2 picture sizes are more than 200 times as long")


def test_any_kind_of_gpu_is_asked_for_in_any_case_and_hides_no_mistake():
    assert wanted_gpus(["ANY"]) == set()
    with pytest.raises(PlanRefused, match="no GPU 'H999'"):
        wanted_gpus(["any", "H999"])


@pytest.mark.parametrize("where", sorted([*MEMBERS, "DE", "eu"]))
def test_a_member_of_the_european_union_is_in_it(where):
    assert find_licence("llama-3.2-community").excludes(where)


@pytest.mark.parametrize("where", ["US", "GB", "CH", "NO", "IS"])
def test_others_are_not(where):
    assert len(MEMBERS) == 28  # 27, and Greece by both of its codes
    assert not find_licence("llama-3.2-community").excludes(where)
