"""Is the answer what was asked for? Strict JSON, whole, and valid by an independent validator."""

from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from referencing import Registry

from jobs.errors import UserError
from jobs.patterns import TooSlow, search
from jobs.strict_json import load_strict
from worker.circles import refuses, runs_in_circles, runs_in_white_space
from worker.engines.grammar import FENCE
from worker.errors import CheckError

NO_FETCHING: Registry[Any] = Registry()  # the default one would fetch a remote $ref
MOST_NESTED = 64  # levels; what reads the rows recurses, and no honest answer is deeper
CIRCLES = "the answer says the same over and over"


def _has_pattern(validator: Any, pattern: str, text: Any, schema: Any) -> Iterator[ValidationError]:
    """The keyword `pattern`, with an end."""
    if not isinstance(text, str):
        return
    try:
        if search(pattern, text) is None:
            yield ValidationError(f"{text[:200]!r} does not match {pattern!r}")
    except TooSlow as error:
        yield ValidationError(str(error))


_Validator = extend(Draft202012Validator, {"pattern": _has_pattern})
GIVEN_UP = ("abort", "error")


def check_answer(
    text: str, finish_reason: str, schema: dict[str, Any], fenced: bool = False
) -> Any:
    """The parsed answer; `CheckError` with the code of what is wrong with it. Nothing is mended.

    fenced   whether the answer is to stand in a fence, which is then taken off
    """
    _check_whole(text, finish_reason)
    try:
        answer = load_strict(unfenced(text) if fenced else text, "answer")
    except (UserError, RecursionError, ValueError) as error:
        code = "refusal" if refuses(text) else "invalid_json"
        raise CheckError(code, str(error), text) from error
    if _depth(answer) > MOST_NESTED:
        raise CheckError("invalid_json", f"nested more than {MOST_NESTED} deep", text)
    violation = _violation(answer, schema)
    if violation is not None:
        raise CheckError("schema_violation", violation, text)
    if runs_in_circles(text):  # a grammar ends even a text that goes in circles
        raise CheckError("repetition", CIRCLES, text)
    if answer is None:
        raise CheckError("empty_answer", "the answer is null", text)
    return answer


def _check_whole(text: str, finish_reason: str) -> None:
    if finish_reason in GIVEN_UP:
        raise CheckError("answer_aborted", f"the engine gave the answer up: {finish_reason}", text)
    if not text.strip():
        code = "empty_answer" if len(text) < 64 else "degenerate_output"
        raise CheckError(code, "the answer is empty")
    if runs_in_white_space(text):
        raise CheckError("degenerate_output", "the answer runs on in white space", text)
    if finish_reason == "length" and not runs_in_circles(text):
        raise CheckError("truncated_output", "the answer was cut at max_tokens", text)
    if finish_reason in ("length", "repetition"):
        raise CheckError("repetition", CIRCLES, text)


def unfenced(text: str) -> str:
    """What stands between ``` fences; `text` itself when it has none."""
    inner = text.strip()
    if not (inner.startswith(FENCE) and inner.endswith(FENCE) and len(inner) > 2 * len(FENCE)):
        return text
    return inner[len(FENCE) : -len(FENCE)].removeprefix("json")


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
        problem = next(iter(_Validator(schema, registry=NO_FETCHING).iter_errors(answer)), None)
    except Exception as error:  # the validator raises anything on numbers and schemas beyond it
        return f"can't be checked: {type(error).__name__}: {error}"
    return None if problem is None else f"{problem.json_path}: {problem.message}"
