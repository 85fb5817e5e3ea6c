"""Is the answer what was asked for? Strict JSON, whole, and valid by an independent validator."""

import re
from collections.abc import Iterable
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry

from jobs.errors import UserError
from jobs.strict_json import load_strict
from worker.errors import CheckError

WHITESPACE_RUN = re.compile(r"\s{64,}")
NO_FETCHING: Registry[Any] = Registry()  # the default one would fetch a remote $ref
MOST_NESTED = 64  # levels; what reads the rows recurses, and no honest answer is deeper


def check_answer(text: str, finish_reason: str, schema: dict[str, Any]) -> Any:
    """The parsed answer; `CheckError` with the code of what is wrong with it. Nothing is mended."""
    if not text.strip():
        code = "empty_answer" if len(text) < 64 else "degenerate_output"
        raise CheckError(code, "the answer is empty")
    if WHITESPACE_RUN.search(text):
        raise CheckError("degenerate_output", "the answer runs on in white space", text)
    if finish_reason == "length":
        raise CheckError("truncated_output", "the answer was cut at max_tokens", text)
    try:
        answer = load_strict(text, "answer")
    except (UserError, RecursionError, ValueError) as error:
        raise CheckError("invalid_json", str(error), text) from error
    if _depth(answer) > MOST_NESTED:
        raise CheckError("invalid_json", f"nested more than {MOST_NESTED} deep", text)
    violation = _violation(answer, schema)
    if violation is not None:
        raise CheckError("schema_violation", violation, text)
    if answer is None:
        raise CheckError("empty_answer", "the answer is null", text)
    return answer


def _depth(answer: Any) -> int:
    depth, level = 0, [answer]
    while level:
        depth += 1
        level = [inner for value in level for inner in _inside(value)]
    return depth


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _violation(answer: Any, schema: dict[str, Any]) -> str | None:
    try:
        problem = next(
            iter(Draft202012Validator(schema, registry=NO_FETCHING).iter_errors(answer)), None
        )
    except Exception as error:  # the validator raises anything on numbers and schemas beyond it
        return f"can't be checked: {type(error).__name__}: {error}"
    return None if problem is None else f"{problem.json_path}: {problem.message}"
