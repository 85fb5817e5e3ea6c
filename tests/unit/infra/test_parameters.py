"""Parameters from dimensions equal what publishers count, to the last one."""

import pytest

from infra.catalogue.models import catalogued_models, published_parameters
from infra.models.parameters import active_linears, count_parameters

MODELS = catalogued_models()
# The decoder's linear layers, summed up from the publishers' tensors.
LINEARS = {
    "Qwen/Qwen2.5-VL-3B-Instruct": 2_774_532_096,
    "Qwen/Qwen2.5-VL-7B-Instruct": 6_525_288_448,
    "Qwen/Qwen2.5-VL-32B-Instruct": 31_205_621_760,
    "Qwen/Qwen2.5-VL-72B-Instruct": 70_212_648_960,
    "Qwen/Qwen3-VL-2B-Instruct": 1_409_286_144,
    "Qwen/Qwen3-VL-4B-Instruct": 3_633_315_840,
    "Qwen/Qwen3-VL-8B-Instruct": 6_945_767_424,
    "Qwen/Qwen3-VL-32B-Instruct": 31_205_621_760,
    "Qwen/Qwen3-VL-30B-A3B-Instruct": 29_896_998_912,
    "Qwen/Qwen3-VL-235B-A22B-Instruct": 233_798_893_568,
    "OpenGVLab/InternVL3-1B": 357_826_560,
    "OpenGVLab/InternVL3-2B": 1_310_195_712,
    "OpenGVLab/InternVL3-8B": 6_525_288_448,
    "OpenGVLab/InternVL3-14B": 13_212_057_600,
    "OpenGVLab/InternVL3-38B": 31_205_621_760,
    "OpenGVLab/InternVL3-78B": 70_212_648_960,
    "llava-hf/llava-onevision-qwen2-0.5b-ov-hf": 357_826_560,
    "llava-hf/llava-onevision-qwen2-7b-ov-hf": 6_525_288_448,
    "llava-hf/llava-onevision-qwen2-72b-ov-hf": 70_212_648_960,
    "openbmb/MiniCPM-V-4_5": 6_945_767_424,
}
# Numbers stored in FP8 checkpoints: one scale for each 128 x 128 block of the linear layers.
FP8_STORED = {
    "Qwen/Qwen3-VL-2B-Instruct-FP8": 2_438_782_976,
    "Qwen/Qwen3-VL-4B-Instruct-FP8": 4_826_993_728,
    "Qwen/Qwen3-VL-8B-Instruct-FP8": 8_767_547_632,
}


@pytest.mark.parametrize(("name", "published"), published_parameters().items())
def test_the_total_is_what_the_publisher_counts(name, published):
    assert count_parameters(MODELS[name]).total == published


def test_every_model_of_the_catalogue_but_variants_has_a_published_count():
    assert len(published_parameters()) == 22
    assert published_parameters()["Qwen/Qwen2.5-VL-72B-Instruct"] == 73_410_777_344


@pytest.mark.parametrize(("name", "linears"), LINEARS.items())
def test_the_linear_layers_of_the_decoder_are_counted_apart(name, linears):
    assert count_parameters(MODELS[name]).linears == linears


def test_the_72b_awq_checkpoint_is_wider_than_its_original():
    assert count_parameters(MODELS["Qwen/Qwen2.5-VL-72B-Instruct-AWQ"]).total == 73_662_435_584


@pytest.mark.parametrize(("name", "stored"), FP8_STORED.items())
def test_fp8_checkpoints_hold_the_parameters_and_a_scale_a_block(name, stored):
    counted = count_parameters(MODELS[name])
    assert counted.total + counted.linears // 128**2 == stored


@pytest.mark.parametrize("spec", MODELS.values(), ids=lambda spec: spec.name)
def test_components_are_positive_and_make_up_the_whole(spec):
    counted = count_parameters(spec)
    parts = (counted.encoder, counted.linears, counted.embeddings, counted.rest)
    assert min(parts) > 0
    assert sum(parts) == counted.total == counted.encoder + counted.decoder


def test_only_the_chosen_experts_of_a_mixture_work_on_a_token():
    mixture = MODELS["Qwen/Qwen3-VL-30B-A3B-Instruct"].decoder
    dense = MODELS["Qwen/Qwen3-VL-8B-Instruct"]
    assert 2.5e9 < active_linears(mixture) < 3.5e9
    assert active_linears(dense.decoder) == count_parameters(dense).linears
