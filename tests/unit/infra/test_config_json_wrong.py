"""What is wrong in a checkpoint's files is named in one line, by file and key."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import PlanRefused
from infra.models.config_json import read_spec

TEXT = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 500,
}
VISION = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 448,
    "patch_size": 14,
}
QWEN = {"model_type": "qwen2_5_vl", "text_config": TEXT, "vision_config": VISION}
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
MIXTURE = {"model_type": "qwen3_vl_moe", "text_config": TEXT | MOE, "vision_config": VISION}
QWEN2 = TEXT | {"model_type": "qwen2"}
CHAT = {
    "model_type": "internvl_chat",
    "llm_config": QWEN2,
    "vision_config": VISION,
    "dynamic_image_size": True,
    "use_thumbnail": True,
    "max_dynamic_patch": 12,
}
LLAVA = {"model_type": "llava_onevision", "text_config": QWEN2, "vision_config": VISION}
MINICPM = {"model_type": "minicpmv", "version": 4.5, **TEXT, "vision_config": VISION}
LLAMA = {"model_type": "mllama", "text_config": TEXT, "vision_config": VISION}


class Checkpoint:
    def __init__(self, **files: bytes) -> None:
        self._files = files

    def read(self, name: str, length: int | None = None) -> bytes | None:
        return self._files.get(name.removesuffix(".json"))


def refusal(config: Any, **more: Any) -> str:
    files = {name: json.dumps(file).encode() for name, file in {"config": config, **more}.items()}
    with pytest.raises(PlanRefused) as caught:
        read_spec("org/m", Checkpoint(**files))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def changed(config: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """`config` with the key at `path` set, or taken out when `value` is None."""
    *sections, key = path.split(".")
    copy = json.loads(json.dumps(config))
    place = copy
    for section in sections:
        place = place[section]
    place.pop(key, None)
    return copy if value is None else (place.update({key: value}) or copy)


@pytest.mark.parametrize(
    ("config", "path", "value", "said"),
    [
        (QWEN, "text_config.hidden_size", None, "is missing; allowed: a whole number above 0"),
        (QWEN, "text_config.hidden_size", "64", 'is "64"; allowed: a whole number above 0'),
        (QWEN, "text_config.hidden_size", 64.5, "is 64.5; allowed: a whole number"),
        (QWEN, "text_config.num_hidden_layers", 0, "is 0; allowed"),
        (QWEN, "text_config.num_hidden_layers", True, "is true; allowed"),
        (QWEN, "text_config.num_key_value_heads", 3, "is 3; allowed: a divisor of 4"),
        (QWEN, "text_config.num_attention_heads", 6, "is 6; allowed: a divisor of 64"),
        (CHAT, "vision_config.patch_size", 449, "is 449; allowed: up to 224"),
        (QWEN, "text_config.tie_word_embeddings", 1, "is 1; allowed: true, false"),
        (QWEN, "vision_config", None, "is missing; allowed: an object"),
        (QWEN, "vision_config", [1], "is [1]; allowed: an object"),
        (QWEN, "vision_config.intermediate_size", -4, "is -4; allowed"),
        (MIXTURE, "text_config.num_experts_per_tok", None, "is missing"),
        (MIXTURE, "text_config.decoder_sparse_step", 2, "is 2; allowed: 1"),
        (MIXTURE, "text_config.mlp_only_layers", [0, 1], "is [0, 1]; allowed: []"),
        (CHAT, "llm_config.model_type", "internlm2", "is 'internlm2'; allowed: qwen2, qwen3"),
        (CHAT, "use_thumbnail", None, "is missing; allowed: true"),
        (CHAT, "max_dynamic_patch", None, "is missing"),
        (CHAT, "downsample_ratio", 0.25, "is 0.25; allowed: 0.5"),
        (CHAT, "vision_config.patch_size", [14, 16], "is [14, 16]; allowed"),
        (LLAVA, "vision_aspect_ratio", "anyres", 'is "anyres"; allowed: "anyres_max_9"'),
        (LLAVA, "image_grid_pinpoints", [[384, 384]], "is [[384, 384]]; allowed: [[384, 384], "),
        (MINICPM, "version", 2.0, "is 2.0; allowed: 2.6, 4.5"),
        (MINICPM, "version", None, "is missing; allowed: 2.6, 4.5"),
        (LLAMA, "text_config.cross_attention_layers", None, "is missing; allowed: a list"),
        (LLAMA, "text_config.cross_attention_layers", 8, "is 8; allowed: a list"),
    ],
)
def test_a_wrong_key_is_named_with_its_file_and_what_is_allowed(config, path, value, said):
    text = refusal(changed(config, path, value))
    assert f"model: config.json of 'org/m': {path} {said}" in text


def test_the_processors_file_is_named_too():
    text = refusal(QWEN, preprocessor_config={"min_pixels": "many"})
    assert "preprocessor_config.json of 'org/m': min_pixels is \"many\"" in text
    text = refusal(QWEN, processor_config={"image_processor": {"size": {"longest_edge": 0}}})
    assert "processor_config.json of 'org/m': image_processor.size.longest_edge is 0" in text


def test_a_family_that_is_not_known_is_refused_with_those_that_are():
    text = refusal({"model_type": "llava"})
    assert "model_type is 'llava'; allowed: qwen2_vl, qwen2_5_vl, qwen3_vl" in text
    assert "model_type is ''" in refusal({})


@pytest.mark.parametrize("content", [b"{", b"\xff", b"", b"[]", b'"x"', b"[" * 100_000])
def test_a_file_that_is_no_json_object_is_refused_in_one_line(content):
    with pytest.raises(PlanRefused, match=r"^model: config\.json of 'org/m' is ") as caught:
        read_spec("org/m", Checkpoint(config=content))
    assert "\n" not in str(caught.value)


def test_a_checkpoint_without_a_config_is_refused():
    with pytest.raises(PlanRefused, match=r"^model: 'org/m' has no config\.json"):
        read_spec("org/m", Checkpoint())


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just([]))


@given(st.sampled_from(sorted({*TEXT, "head_dim", "max_position_embeddings"})), anything)
def test_whatever_a_decoders_key_holds_is_read_or_named(key, value):
    content = json.dumps(changed(QWEN, f"text_config.{key}", value)).encode()
    problem = None
    try:
        decoder = read_spec("org/m", Checkpoint(config=content)).decoder
    except PlanRefused as refused:
        problem = str(refused)
    if problem is None:
        assert decoder.head_dim > 0
        assert decoder.heads % decoder.kv_heads == 0
    else:
        assert "text_config." in problem
        assert "allowed: " in problem
        assert "\n" not in problem
