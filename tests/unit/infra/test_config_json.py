"""A checkpoint's own files say what the catalogue says of it, in every layout."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from infra.catalogue.models import catalogued_models
from infra.models.config_json import read_spec
from infra.models.parameters import count_parameters
from infra.models.safetensors import stored_numbers
from infra.models.sources import FolderReader
from worker.families import load_family

MODELS = catalogued_models()
Files = dict[str, dict[str, Any]]


class Checkpoint:
    """Files in memory, by name without `.json`."""

    def __init__(self, **files: Any) -> None:
        self._files = {f"{name}.json": json.dumps(file).encode() for name, file in files.items()}

    def read(self, name: str, length: int | None = None) -> bytes | None:
        found = self._files.get(name)
        return found if found is None else found[:length]


def text(layers: int, hidden: int, heads: int, kv: int, wide: int, vocab: int, **more: Any) -> Any:
    return {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "intermediate_size": wide,
        "vocab_size": vocab,
        **more,
    }


def siglip(layers: int, image: int, wide: int = 4304) -> Any:
    sizes = {"hidden_size": 1152, "intermediate_size": wide, "image_size": image, "patch_size": 14}
    return {"num_hidden_layers": layers, "num_attention_heads": 16, **sizes}


QWEN_7B = text(28, 3584, 28, 4, 18944, 152064, max_position_embeddings=128000)
QWEN_72B = text(80, 8192, 64, 8, 29568, 152064, max_position_embeddings=128000)
QWEN_2_5_VISION = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16}
QWEN_2_5_PIXELS = {"patch_size": 14, "merge_size": 2, "min_pixels": 3136, "max_pixels": 12845056}
QWEN_3_VISION = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "patch_size": 16,
    "deepstack_visual_indexes": [8, 16, 24],
}
QWEN_3_SIZE = {"shortest_edge": 65536, "longest_edge": 16777216}
QWEN_8B = text(36, 4096, 32, 8, 12288, 151936, head_dim=128, max_position_embeddings=262144)
A3B = text(48, 2048, 32, 4, 6144, 151936, head_dim=128, max_position_embeddings=262144)
EXPERTS = {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}
INTERN_TEXT = text(28, 3584, 28, 4, 18944, 151674, model_type="qwen2", tie_word_embeddings=False)
INTERN_VISION = {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16}
INTERN_VISION |= {"intermediate_size": 4096, "patch_size": 14, "image_size": 448}
HF_VISION = INTERN_VISION | {"patch_size": [14, 14], "image_size": [448, 448]}
LLAMA_VISION = {"hidden_size": 1280, "num_hidden_layers": 32, "attention_heads": 16}
LLAMA_VISION |= {"intermediate_size": 5120, "image_size": 560, "patch_size": 14}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}

# Model of the catalogue, and how its publisher, or a later transformers, writes its files.
LAYOUTS: list[tuple[str, str, Files]] = [
    (
        "flat, as transformers 4 wrote it",
        "Qwen/Qwen2.5-VL-7B-Instruct",
        {
            "config": {
                "model_type": "qwen2_5_vl",
                **QWEN_7B,
                "tie_word_embeddings": False,
                "vision_config": QWEN_2_5_VISION,
            },
            "preprocessor_config": QWEN_2_5_PIXELS,
        },
    ),
    (
        "nested, as transformers 5 writes it",
        "Qwen/Qwen2.5-VL-7B-Instruct",
        {
            "config": {
                "model_type": "qwen2_5_vl",
                "text_config": QWEN_7B | {"rope_parameters": {"rope_type": "default"}},
                "vision_config": QWEN_2_5_VISION,
            },
            "processor_config": {
                "image_processor": {
                    "patch_size": 14,
                    "size": {"shortest_edge": 3136, "longest_edge": 12845056},
                }
            },
        },
    ),
    (
        "without the vision keys that have defaults",
        "Qwen/Qwen2.5-VL-72B-Instruct",
        {
            "config": {
                "model_type": "qwen2_5_vl",
                **QWEN_72B,
                "vision_config": {"hidden_size": 1280, "intermediate_size": 3456},
            }
        },
    ),
    (
        "awq",
        "Qwen/Qwen2.5-VL-72B-Instruct-AWQ",
        {
            "config": {
                "model_type": "qwen2_5_vl",
                **(QWEN_72B | {"intermediate_size": 29696}),
                "vision_config": {"hidden_size": 1280, "intermediate_size": 3456},
                "quantization_config": AWQ,
            }
        },
    ),
    (
        "fp8",
        "Qwen/Qwen3-VL-8B-Instruct-FP8",
        {
            "config": {
                "model_type": "qwen3_vl",
                "text_config": QWEN_8B,
                "vision_config": QWEN_3_VISION,
                "quantization_config": FP8,
            },
            "preprocessor_config": {"size": QWEN_3_SIZE, "patch_size": 16, "merge_size": 2},
        },
    ),
    (
        "a mixture whose text says tied and whose whole says not",
        "Qwen/Qwen3-VL-30B-A3B-Instruct",
        {
            "config": {
                "model_type": "qwen3_vl_moe",
                "tie_word_embeddings": False,
                "text_config": {**A3B, **EXPERTS, "tie_word_embeddings": True},
                "vision_config": QWEN_3_VISION,
            }
        },
    ),
    (
        "with code of its own",
        "OpenGVLab/InternVL3-8B",
        {
            "config": {
                "model_type": "internvl_chat",
                "llm_config": INTERN_TEXT,
                "vision_config": INTERN_VISION,
                "force_image_size": 448,
                "downsample_ratio": 0.5,
                "dynamic_image_size": True,
                "use_thumbnail": True,
                "max_dynamic_patch": 12,
            }
        },
    ),
    (
        "a no outside and a yes inside",
        "llava-hf/llava-onevision-qwen2-0.5b-ov-hf",
        {
            "config": {
                "model_type": "llava_onevision",
                "tie_word_embeddings": False,
                "text_config": text(24, 896, 14, 2, 4864, 152000, model_type="qwen2")
                | {"tie_word_embeddings": True},
                "vision_config": siglip(26, 384),
                "image_grid_pinpoints": [
                    [high, wide] for high in range(384, 2305, 384) for wide in range(384, 2305, 384)
                ],
            }
        },
    ),
    (
        "the config of its decoder",
        "openbmb/MiniCPM-V-4_5",
        {
            "config": {
                "model_type": "minicpmv",
                "version": 4.5,
                **text(36, 4096, 32, 8, 12288, 151748, head_dim=128),
                "max_position_embeddings": 40960,
                "tie_word_embeddings": False,
                "query_num": 64,
                "vision_config": siglip(27, 980),
            },
            "preprocessor_config": {"max_slice_nums": 9, "scale_resolution": 448},
        },
    ),
    (
        "layers that attend to the picture",
        "meta-llama/Llama-3.2-11B-Vision-Instruct",
        {
            "config": {
                "model_type": "mllama",
                "text_config": text(40, 4096, 32, 8, 14336, 128256)
                | {"cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]},
                "vision_config": LLAMA_VISION,
            }
        },
    ),
]


@pytest.mark.parametrize(
    ("name", "files"), [row[1:] for row in LAYOUTS], ids=[r[0] for r in LAYOUTS]
)
def test_files_say_what_the_catalogue_says(name, files):
    known, read = MODELS[name], read_spec(name, Checkpoint(**files))
    assert (read.decoder, read.encoder, read.image) == (known.decoder, known.encoder, known.image)
    assert (read.family, read.quantization, read.boxes) == (
        known.family,
        known.quantization,
        known.boxes,
    )
    assert (read.remote_code, read.last_vllm) == (known.remote_code, known.last_vllm)
    assert (read.licence, read.note) == ("unknown", "")


def test_transformers_own_layout_of_internvl_needs_no_code_of_its_own():
    known = MODELS["OpenGVLab/InternVL3-8B"]
    config = {"model_type": "internvl", "text_config": INTERN_TEXT, "vision_config": HF_VISION}
    processor = {"crop_to_patches": False, "max_patches": 12, "min_patches": 1}
    read = read_spec("hf", Checkpoint(config=config, preprocessor_config=processor))
    assert (read.decoder, read.encoder, read.image) == (known.decoder, known.encoder, known.image)
    assert not read.remote_code


@pytest.mark.parametrize(
    ("decoder", "published"),
    [
        (text(28, 3584, 28, 4, 18944, 152064), 8_291_375_616),
        (text(28, 1536, 12, 2, 8960, 151936, tie_word_embeddings=True), 2_208_985_600),
    ],
)
def test_qwen2_vl_is_read_to_its_last_parameter(decoder, published):
    vision = {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "patch_size": 14}
    config = {"model_type": "qwen2_vl", **decoder, "vision_config": vision}
    read = read_spec("Qwen2-VL", Checkpoint(config=config))
    assert count_parameters(read).total == published
    assert (read.boxes, read.image.factor) == ("relative_1000", 28)


def test_the_bundled_model_has_as_many_parameters_as_its_file_has_numbers():
    reader = FolderReader(Path(str(files("demo") / "model")))
    read = read_spec("bundled", reader)
    assert count_parameters(read).total == stored_numbers(reader, "bundled") == 4_471_104
    assert read.decoder.tied
    assert (read.image.factor, read.image.min_pixels, read.image.max_pixels) == (28, 25088, 37632)
    assert (read.boxes, read.note) == ("model_pixels", "")


def test_planner_and_worker_read_the_same_grid_and_bounds_from_the_bundled_model():
    folder = Path(str(files("demo") / "model"))
    image, family = (
        read_spec("bundled", FolderReader(folder)).image,
        load_family(folder, None, None),
    )
    assert (image.factor, image.min_pixels, image.max_pixels) == (
        family.factor,
        family.min_pixels,
        family.max_pixels,
    )
