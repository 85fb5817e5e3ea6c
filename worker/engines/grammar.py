"""The grammar that forces answers: a JSON Schema in the format of the model, as EBNF.

vLLM's own JSON grammar knows one spelling of JSON; a model that was trained on another is wrong as
soon as it is forced. So the grammar is made here, by the compiler that vLLM uses (xgrammar), and
handed over as it is.
"""

import json
from copy import deepcopy
from functools import lru_cache
from typing import Any

from jobs.order import AnswerFormat

FENCE = "```"


def grammar_of(schema: dict[str, Any], spelled: AnswerFormat) -> str:
    """EBNF of exactly the answers that `schema` allows, spelled so; never free white space.

    `RuntimeError` from xgrammar for what it can't express.
    """
    wanted = with_every_field(schema) if spelled.optional == "always" else schema
    return _grammar_of(json.dumps(wanted), spelled)


@lru_cache(maxsize=64)  # a job has one schema and one format
def _grammar_of(schema: str, spelled: AnswerFormat) -> str:
    import xgrammar  # a second or more, since it imports torch

    grammar = xgrammar.Grammar.from_json_schema(
        schema,
        any_whitespace=False,
        indent=spelled.indent,
        separators=(spelled.item_separator, spelled.key_separator),
        any_order=spelled.any_key_order,
    )
    if spelled.fenced:
        before, after = (
            xgrammar.Grammar.from_ebnf(f'root ::= "{text}"')
            for text in (f"{FENCE}json\\n", f"\\n{FENCE}")
        )
        grammar = xgrammar.Grammar.concat(before, grammar, after)
    return str(grammar)


def with_every_field(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with every property of every object required."""
    wanted = deepcopy(schema)
    _require_all(wanted)
    return wanted


def _require_all(node: Any) -> None:
    if isinstance(node, list):
        for inner in node:
            _require_all(inner)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("properties"), dict):
        node["required"] = list(node["properties"])
    for name, inner in node.items():
        if name not in ("enum", "const", "default", "examples", "required"):
            _require_all(inner)
