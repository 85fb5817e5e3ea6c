"""What is allowed instead of a wrong value, in plain words: pydantic's are for programmers."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

LONGEST_FOUND = 60
# By pydantic's name for what is wrong; a Python type says nothing to a writer of JSON or TOML.
PLAIN = {
    **dict.fromkeys(("model_type", "dict_type", "model_attributes_type"), "an object"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("decimal_type", "decimal_parsing", "float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("path_type", "path_not_file", "path_not_directory"), "a path"),
    "int_parsing_size": "a whole number of fewer digits",
    "string_type": "text",
    "string_unicode": "text of UTF-8",
    "finite_number": "a finite number",
    "none_required": "null",
}
Choices = tuple[str, ...]


def choices_of(item: Mapping[str, Any]) -> Choices:
    """What one error of pydantic's says is allowed: one thing, or one of several names."""
    kind, told = item["type"], item.get("ctx", {})
    if kind == "literal_error":
        return tuple(re.split(r", | or ", told["expected"]))
    if kind in PLAIN:
        return (PLAIN[kind],)
    said = " ".join(str(item["msg"]).split())
    return (re.sub(r"^.*? should (be |have )?|, unable to parse.*| after validation.*", "", said),)


def either(choices: Sequence[Choices]) -> str:
    """`a number, 'auto' or 'never'`: what any member of a union takes, each thing once."""
    every = list(dict.fromkeys(one for each in choices for one in each))
    return " or ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def own_words(message: str) -> str:
    """What a check of our own says, on one line, what it quotes shortened."""
    said = " ".join(message.split()).removeprefix("Value error, ")
    return re.sub(r"\S{81,}", lambda long: f"{long[0][:LONGEST_FOUND]}…", said)


def shown(value: object) -> str:
    """What was found, as JSON and not too long."""
    try:
        text = json.dumps(value, default=str)
    except ValueError:  # Python spells no integer of more than some thousand digits
        return "a number of too many digits"
    return text if len(text) <= LONGEST_FOUND else f"{text[:LONGEST_FOUND]}…"
