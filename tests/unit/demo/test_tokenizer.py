"""The bundled tokenizer: numbers and values are single tokens, so answers are short."""

import json
import warnings

import pytest

from demo.answers import LARGEST_SIDE, PROMPT, answer_text
from demo.defects import KINDS, Defect
from infra.models.folder import find_model

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def tokenizer():
    with warnings.catch_warnings(action="ignore"):
        return transformers.AutoTokenizer.from_pretrained(
            find_model("zeroshift/parts-inspector").folder
        )


def pieces(tokenizer, text: str) -> list[str]:
    ids = tokenizer.encode(text, add_special_tokens=False)
    return [tokenizer.decode([each]) for each in ids]


def test_every_number_up_to_the_largest_side_is_one_token(tokenizer):
    split = [n for n in range(LARGEST_SIDE + 1) if len(pieces(tokenizer, str(n))) != 1]
    assert split == []


def test_every_number_is_one_token_inside_an_answer(tokenizer):
    for number in range(0, LARGEST_SIDE + 1, 7):
        box = (number, number, number, number)
        found = pieces(tokenizer, answer_text([Defect("hole", box)]))
        assert found.count(str(number)) == 4


@pytest.mark.parametrize("value", ["ok", "defective", *KINDS])
def test_every_value_is_one_token_inside_an_answer(tokenizer, value):
    defects = [Defect(value, (1, 2, 3, 4))] if value in KINDS else []
    text = answer_text(defects or ([Defect("dent", (1, 2, 3, 4))] if value == "defective" else []))
    assert value in pieces(tokenizer, text)


def test_an_answer_is_short(tokenizer):
    none, two = answer_text([]), answer_text([Defect(kind, (1, 20, 300, 40)) for kind in KINDS[:2]])
    assert len(pieces(tokenizer, none)) <= 3
    assert len(pieces(tokenizer, two)) <= 24


@pytest.mark.parametrize("text", [PROMPT, "é 漢字 \n\t{}", json.dumps({"a": [1, 2]})])
def test_any_text_survives_there_and_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_the_special_tokens_are_those_of_the_models_config(tokenizer):
    config = json.loads(
        (find_model("zeroshift/parts-inspector").folder / "config.json").read_text()
    )
    assert tokenizer.convert_tokens_to_ids("<|image_pad|>") == config["image_token_id"]
    assert tokenizer.eos_token_id == config["eos_token_id"]
    assert len(tokenizer) == config["text_config"]["vocab_size"]
