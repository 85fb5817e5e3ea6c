"""What a task knows of its answers beyond their schema; an order names the checks by name."""

from collections.abc import Callable, Iterator
from typing import Any

from worker.circles import refuses
from worker.errors import CheckError

TaskCheck = Callable[[Any], None]


def verdict_matches_defects(output: Any) -> None:
    """A part without defects is ok, one with defects is not."""
    verdict, defects = output.get("verdict"), output.get("defects")
    if (verdict == "ok") == bool(defects):
        raise CheckError("contradiction", f"the verdict is {verdict}, with {len(defects)} defects")


def filled(output: Any) -> None:
    """Texts that say something, and are no refusal: a grammar can't keep a model from either."""
    for path, text in _texts(output, "$"):
        if not text.strip():
            raise CheckError("empty_answer", f"{path} is empty")
        if refuses(text):
            raise CheckError("refusal", f"{path} is a refusal: {text[:80]}")


TASK_CHECKS: dict[str, TaskCheck] = {
    "verdict_matches_defects": verdict_matches_defects,
    "filled": filled,
}


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, f"{path}.{name}")
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{number}]")
