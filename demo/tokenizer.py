"""A byte-level BPE tokenizer for the inspection answers.

Every number from 0 to the largest side is one token, every enum value is one token, and the JSON
between them is one token a stretch, so an answer takes 3 to 23 tokens.
"""

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from demo.answers import LARGEST_SIDE, PROMPT, answer_text
from demo.defects import KINDS, Defect

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] in ('image', 'image_url') %}"
    "<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VALUES = "|".join(("ok", "defective", *KINDS))
PIECES = rf"\d+|(?:{VALUES})\b|[{{\]\"][^\d]*?(?=\b(?:{VALUES})\b|\d|$)| ?[A-Za-z]+|[^A-Za-z\d]+"


def build_tokenizer() -> PreTrainedTokenizerFast:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(_corpus(), _trainer())
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=list(SPECIAL[1:]),
        chat_template=CHAT_TEMPLATE,
        model_max_length=1024,
        clean_up_tokenization_spaces=False,
    )


def _trainer() -> trainers.BpeTrainer:
    return trainers.BpeTrainer(
        vocab_size=1200,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


def _corpus() -> list[str]:
    lines = [PROMPT, "user\n", "assistant\n", "system\n"] * 4
    for number in range(LARGEST_SIDE + 1):
        box = (number, number, number, number)
        lines += [answer_text([Defect(kind, box), Defect(kind, box)]) for kind in KINDS]
        lines.append(answer_text([]))
    return lines
