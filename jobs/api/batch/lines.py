"""The lines of a batch's input file: requests under their custom ids.

A file that is wrong as a whole (a line that is no JSON, an id twice) is refused as a whole, as at
OpenAI; a request that is wrong by itself is not found here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobs.addresses import Address
from jobs.api.batch.record import BatchError
from jobs.errors import UserError
from jobs.store.bucket import Store
from jobs.store.streams import LineTooLong, lines_of
from jobs.strict_json import load_text

ENDPOINT = "/v1/chat/completions"
SHOWN = 50  # errors of one file


@dataclass(frozen=True, slots=True)
class Request:
    """One line that is a request; `body` is not looked at yet."""

    line: int
    custom_id: str
    body: dict[str, Any]


class LineError(Exception):
    """What is wrong with a line."""

    def __init__(self, error: BatchError) -> None:
        super().__init__(error.message)
        self.error = error


def requests_of(store: Store, file: Address, longest: int) -> Iterator[Request]:
    """The requests of a file; `LineError` at a line that is none. Empty lines are passed over."""
    number = 0
    try:
        for number, text in enumerate(lines_of(store, file, longest), 1):
            if text.strip():
                yield _request(text, number)
    except LineTooLong as error:
        message = f"This line is longer than {longest} bytes."
        raise LineError(BatchError(code="line_too_long", message=message, line=number + 1)) from (
            error
        )


def errors_of(store: Store, file: Address, longest: int, most: int) -> tuple[int, list[BatchError]]:
    """How many requests a file has, and what is wrong with it as a whole."""
    seen: set[str] = set()
    found: list[BatchError] = []
    lines = enumerate(lines_of(store, file, longest), 1)
    number = 0
    try:
        for number, text in lines:
            if not text.strip():
                continue
            try:
                request = _request(text, number)
            except LineError as error:
                found.append(error.error)
            else:
                if request.custom_id in seen:
                    found.append(_wrong("duplicate_custom_id", number, "custom_id", _TWICE))
                seen.add(request.custom_id)
            if len(found) >= SHOWN:
                return len(seen), found
            if len(seen) > most:
                message = f"The file has more than {most} requests."
                return len(seen), [BatchError(code="too_many_tasks", message=message)]
    except LineTooLong:
        found.append(_wrong("line_too_long", number + 1, None, f"more than {longest} bytes"))
    if not seen and not found:
        found.append(BatchError(code="empty_file", message="The file has no requests."))
    return len(seen), found


_TWICE = "This custom_id stands in another line too."


def _request(text: bytes, number: int) -> Request:
    try:
        document = load_text(text, f"line {number}")
    except UserError as error:
        raise LineError(_wrong("invalid_json_line", number, None, f"{error}")) from error
    if not isinstance(document, dict):
        raise LineError(_wrong("invalid_json_line", number, None, "This line is no JSON object."))
    custom_id, body = document.get("custom_id"), document.get("body")
    for name in ("custom_id", "method", "url", "body"):
        if document.get(name) is None:
            message = f"Missing required parameter: {name!r}."
            raise LineError(_wrong("missing_required_parameter", number, name, message))
    if not isinstance(custom_id, str) or not custom_id:
        message = "custom_id: expected text that is not empty."
        raise LineError(_wrong("invalid_type", number, "custom_id", message))
    if document["method"] != "POST":
        message = "method: allowed: POST."
        raise LineError(_wrong("invalid_method", number, "method", message))
    if document["url"] != ENDPOINT:
        message = f"url: must be the batch's endpoint, {ENDPOINT}."
        raise LineError(_wrong("mismatched_url", number, "url", message))
    if not isinstance(body, dict):
        raise LineError(_wrong("invalid_type", number, "body", "body: expected an object."))
    return Request(number, custom_id, body)


def _wrong(code: str, line: int, param: str | None, message: str) -> BatchError:
    return BatchError(code=code, message=message, line=line, param=param)
