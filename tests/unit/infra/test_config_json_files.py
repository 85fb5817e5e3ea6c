"""What is stored beside config.json: how weights are packed, a head of their own, their count."""

import json
from typing import Any

import pytest

from infra.errors import PlanRefused
from infra.models.config_json import read_spec
from infra.models.parameters import count_parameters
from infra.models.safetensors import stored_numbers

VISION = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4}
CONFIG: dict[str, Any] = {
    "model_type": "qwen2_5_vl",
    "dtype": "bfloat16",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 500,
    "tie_word_embeddings": True,
    "vision_config": VISION,
}


class Checkpoint:
    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.most = files, 0

    def read(self, name: str, length: int | None = None) -> bytes | None:
        found = self.files.get(name)
        if found is None:
            return None
        self.most = max(self.most, len(found) if length is None else length)
        return found[:length]


def safetensors(**shapes: list[int]) -> bytes:
    rows = {name: {"dtype": "BF16", "shape": shape} for name, shape in shapes.items()}
    header = json.dumps({"__metadata__": {"format": "pt"}, **rows}).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * 100_000


def index(**more: Any) -> bytes:
    return json.dumps({"metadata": {}, "weight_map": {}, **more}).encode()


def checkpoint(change: dict[str, Any] | None = None, **files: bytes) -> Checkpoint:
    config = {key: value for key, value in (CONFIG | (change or {})).items() if value is not None}
    return Checkpoint({"config.json": json.dumps(config).encode()} | files)


def packed(**quantization: Any) -> Checkpoint:
    return checkpoint({"quantization_config": quantization})


def weights(kind: str, bits: int) -> dict[str, Any]:
    return {"weights": {"type": kind, "num_bits": bits}}


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, "awq"),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": weights("int", 8)}}, "int8"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": weights("float", 8)}},
            "fp8",
        ),
    ],
)
def test_packed_weights_are_known_by_their_method(quantization, expected):
    read = read_spec("m", packed(**quantization))
    assert (read.quantization, read.note) == (expected, "")


def test_weights_that_are_not_packed_have_no_quantisation():
    assert read_spec("m", checkpoint()).quantization == "none"


@pytest.mark.parametrize(
    ("quantization", "named"),
    [
        ({"quant_method": "gptq", "bits": 4}, "quant_method is 'gptq'; allowed: fp8, awq"),
        ({"quant_method": "bitsandbytes"}, "quant_method is 'bitsandbytes'"),
        ({}, "quant_method is ''"),
        ({"quant_method": "awq", "bits": 8}, "bits is 8; allowed: 4"),
        ({"quant_method": "awq", "w_bit": 3}, "bits is missing; allowed: 4"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": weights("int", 4)}},
            "config_groups is int of 4 bits; allowed: float or int of 8 bits",
        ),
        ({"quant_method": "compressed-tensors", "config_groups": {}}, "config_groups is empty"),
        ({"quant_method": "compressed-tensors"}, "config_groups is missing"),
    ],
)
def test_packing_that_the_planner_can_not_count_is_refused_by_name(quantization, named):
    with pytest.raises(PlanRefused) as caught:
        read_spec("m", packed(**quantization))
    assert f"model: config.json of 'm': quantization_config.{named}" in str(caught.value)


def test_groups_of_another_size_are_noted():
    note = read_spec("m", packed(quant_method="awq", bits=4, group_size=64)).note
    assert note == "Weights are in groups of 64; the planner counts groups of 128."


def test_a_head_that_is_stored_apart_is_loaded_apart():
    """Quantising tools untie it; the engine then loads both."""
    assert read_spec("m", checkpoint()).decoder.tied
    one = safetensors(**{"model.embed_tokens.weight": [500, 64], "lm_head.weight": [500, 64]})
    assert not read_spec("m", checkpoint(**{"model.safetensors": one})).decoder.tied
    many = index(weight_map={"lm_head.weight": "model-1.safetensors"})
    assert not read_spec("m", checkpoint(**{"model.safetensors.index.json": many})).decoder.tied


def test_numbers_are_counted_from_headers_alone():
    reader = Checkpoint({"model.safetensors": safetensors(a=[3, 4], b=[], c=[5])})
    assert stored_numbers(reader, "m") == 12 + 1 + 5
    assert reader.most < 1000


def test_an_index_gives_the_count_by_its_size_or_else_by_the_headers_of_its_files():
    parts = {"x.safetensors": safetensors(a=[3, 4]), "y.safetensors": safetensors(b=[5])}
    where = {"a": "x.safetensors", "b": "y.safetensors"}
    sized = index(metadata={"total_size": 34}, weight_map=where)
    names = "model.safetensors.index.json"
    assert stored_numbers(Checkpoint({names: sized}), "m", number_bytes=2) == 17
    assert stored_numbers(Checkpoint({names: index(weight_map=where), **parts}), "m", 2) == 17
    assert stored_numbers(Checkpoint({names: sized, **parts}), "m", None) == 17
    assert stored_numbers(Checkpoint({names: index(weight_map=where)}), "m", 2) is None


def test_files_that_hold_another_count_than_the_dimensions_make_are_noted():
    counted = count_parameters(read_spec("m", checkpoint())).total
    same = index(metadata={"total_size": 2 * counted})
    assert read_spec("m", checkpoint(**{"model.safetensors.index.json": same})).note == ""
    other = checkpoint(**{"model.safetensors": safetensors(a=[1000])})
    note = f"Its files hold 1,000 numbers, its dimensions make {counted:,}."
    assert read_spec("m", other).note == note


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0[]", b"\x09\0\0\0\0\0\0\0{", safetensors()[:12]],
)
def test_broken_safetensors_are_refused_in_one_line(content):
    with pytest.raises(PlanRefused, match=r"^model: model\.safetensors of 'm' has .*header"):
        stored_numbers(Checkpoint({"model.safetensors": content}), "m")


def test_a_tensor_without_a_shape_is_refused_by_name():
    header = b'{"a.weight": {"dtype": "F16"}}'
    content = len(header).to_bytes(8, "little") + header
    with pytest.raises(PlanRefused, match=r"a\.weight of 'm' has no shape"):
        stored_numbers(Checkpoint({"model.safetensors": content}), "m")
