"""The bundled model's architecture: a Qwen2.5-VL of four and a half million parameters."""

from pathlib import Path

from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from demo.answers import MAX_PIXELS, MIN_PIXELS

WIDTH, HEADS, FEED_FORWARD = 192, 6, 512
TEXT_LAYERS, VISION_LAYERS = 4, 4


def build_model(tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLForConditionalGeneration:
    def token(text: str) -> int:
        return int(tokenizer.convert_tokens_to_ids(text))

    end, pad = token("<|im_end|>"), token("<|endoftext|>")
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": TEXT_LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 2,
        "max_position_embeddings": 1024,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [4, 6, 6],
        },
        "tie_word_embeddings": True,
        "bos_token_id": None,
        "eos_token_id": end,
        "pad_token_id": pad,
    }
    vision = {
        "depth": VISION_LAYERS,
        "hidden_size": WIDTH,
        "intermediate_size": FEED_FORWARD,
        "num_heads": HEADS,
        "out_hidden_size": WIDTH,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": list(range(VISION_LAYERS)),
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
        tie_word_embeddings=True,
        eos_token_id=end,
        pad_token_id=pad,
    )
    model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config.eos_token_id = [end]
    model.generation_config.pad_token_id = pad
    model.generation_config.do_sample = False
    return model


def build_processor(tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLProcessor:
    size = {"shortest_edge": MIN_PIXELS, "longest_edge": MAX_PIXELS}
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(size=size),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(size=size),
        chat_template=tokenizer.chat_template,
    )


def save(
    folder: Path, model: Qwen2_5_VLForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Write a checkpoint that vLLM loads: bf16 safetensors, tokenizer, processor, template."""
    import copy

    import torch

    build_processor(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    copy.deepcopy(model).to(torch.bfloat16).save_pretrained(folder)
