"""Reading a request's body by hand: each wrong value is an error that names its parameter.

By hand, since the errors go into a file of OpenAI's form, one for each request, with its codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NEEDED = "missing_required_parameter"
READ = {
    *("model", "messages", "response_format", "temperature", "top_p", "seed"),
    *("max_tokens", "max_completion_tokens"),
}
# Taken and not looked at: they change no answer.
IDLE = {
    *("user", "metadata", "store", "service_tier", "safety_identifier"),
    *("prompt_cache_key", "prompt_cache_retention", "stream_options"),
}
# What a request may say without asking for something that a job can't do.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "stream": (False,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "functions": ([],),
    "stop": ([],),
    "modalities": (["text"],),
}


class BodyError(Exception):
    """Why a request can't be asked: a code and a parameter of OpenAI's, and an HTTP status."""

    def __init__(self, code: str, message: str, param: str | None, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.param, self.status = code, param, status


def refuse_unsupported(body: dict[str, Any]) -> None:
    """`BodyError` that names the first parameter that asks for what a job can't do."""
    for name, value in body.items():
        if name in READ or name in IDLE or value is None:
            continue
        if name not in NEUTRAL:
            raise BodyError(
                "unsupported_parameter", f"Unsupported parameter: {name!r}.", name[:100]
            )
        if not any(value == allowed and type(value) is type(allowed) for allowed in NEUTRAL[name]):
            allowed = " or ".join(repr(each) for each in NEUTRAL[name])
            raise BodyError(
                "unsupported_value", f"Unsupported value of {name!r}; allowed: {allowed}.", name
            )


@dataclass(frozen=True, slots=True)
class Reader:
    """An object of a body, and where in the body it stands."""

    value: dict[str, Any]
    where: str = ""

    def place(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def text(self, name: str) -> str:
        value = self.value.get(name)
        if isinstance(value, str):
            return value
        raise self._wrong(name, value, "a string")

    def one_of(self, name: str, allowed: Sequence[str]) -> str:
        value = self.value.get(name)
        if value in allowed:
            return str(value)
        said = self._wrong(name, value, " or ".join(allowed))
        if isinstance(value, str):
            said.code = "unsupported_value"
        raise said

    def number(self, name: str, least: float, most: float) -> float | None:
        value = self.value.get(name)
        if value is None:
            return None
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and least <= value <= most
        ):
            return value
        raise self._wrong(name, value, f"a number from {least:g} to {most:g}")

    def whole(self, name: str, least: int, most: int) -> int | None:
        value = self.value.get(name)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise self._wrong(name, value, f"a whole number from {least} to {most}")

    def part(self, name: str) -> "Reader | None":
        return None if self.value.get(name) is None else self.needed_part(name)

    def needed_part(self, name: str) -> "Reader":
        value = self.value.get(name)
        if isinstance(value, dict):
            return Reader(value, self.place(name))
        raise self._wrong(name, value, "an object")

    def parts(self, name: str) -> "list[Reader]":
        """A list of objects, not empty."""
        value = self.value.get(name)
        if not isinstance(value, list) or not value:
            raise self._wrong(name, value, "a list that is not empty")
        found = []
        for number, each in enumerate(value):
            place = f"{self.place(name)}[{number}]"
            if not isinstance(each, dict):
                raise BodyError("invalid_type", f"{place}: expected an object.", place)
            found.append(Reader(each, place))
        return found

    def _wrong(self, name: str, value: object, allowed: str) -> BodyError:
        place = self.place(name)
        if value is None:
            return BodyError(NEEDED, f"Missing required parameter: {place!r}.", place)
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        return BodyError("invalid_value", f"{place}: found {shown}; allowed: {allowed}.", place)
