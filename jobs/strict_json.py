"""Text from outside to a JSON document, before any model sees it.

Python's parser takes what JSON does not have (NaN) and silently keeps the last of two equal keys;
both hide a mistake in a request that costs money, so both are refused here.
"""

import json
import math
import re
from typing import Any

from jobs.errors import UserError

LONGEST_NUMBER = 4000  # Python reads no more, and says so in words for programmers
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def load_text(text: bytes | str, source: str) -> Any:
    """`load_strict` for what is written down again: each text in it can be, as UTF-8.

    Half of a surrogate pair, which JSON can spell, can't: whoever reads it back would fail.
    """
    found = load_strict(text, source)
    if _ESCAPED_HALF.search(decoded(text)):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.start + 1]
            raise UserError(
                f"{source}: found {half!r}, half of a surrogate pair; allowed: text of UTF-8"
            ) from error
    return found


def load_strict(text: bytes | str, source: str) -> Any:
    """The document in `text`; `UserError` in one line that begins with `source`."""
    try:
        return json.loads(
            decoded(text),
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise UserError(f"{source}: not JSON: {error.msg} at {where}") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{source}: not UTF-8 text: {error.reason} at byte {error.start}"
        ) from error
    except RecursionError as error:
        raise UserError(f"{source}: nested too deeply") from error
    except ValueError as error:
        raise UserError(f"{source}: {error}") from error


def decoded(text: bytes | str) -> str:
    """UTF-8 text without the byte-order mark that some editors put in front."""
    return (text.decode() if isinstance(text, bytes) else text).removeprefix("\ufeff")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {json.dumps(key)} stands twice in one object; allowed: once")
        found[key] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"found {name}; allowed: finite numbers")


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"found {digits[:40]}…; allowed: numbers of up to {LONGEST_NUMBER} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"found {digits[:40]}; allowed: finite numbers")
    return number
