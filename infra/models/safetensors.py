"""How many numbers a checkpoint's safetensors hold, from their headers alone.

A file begins with the length of its header, 8 bytes little-endian, and the header: JSON of each
tensor's type and shape. Several files share an index that says which tensor is in which.
"""

import json
import math
from typing import Any

from infra.errors import PlanRefused
from infra.models.sections import read_section
from infra.models.sources import Reader

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
OUTPUT_HEAD = "lm_head.weight"
PREFIX_BYTES = 8
MOST_STORED_BYTES = 2**63
MOST_HEADER_BYTES = 100_000_000  # the format's own limit


def stored_numbers(reader: Reader, name: str, number_bytes: int | None = None) -> int | None:
    """Numbers in all tensors of the model `name`; None when its safetensors are not there.

    Where an index gives the size of all files, that is divided by `number_bytes`, the size of each
    number, and no header is read: there can be many. Of packed weights it is what is stored: eight
    count as one.
    """
    index = read_section(reader, INDEX, name)
    if index is None:
        return _numbers_in(reader, name, [SINGLE])
    metadata = index.section("metadata")
    if (
        number_bytes
        and metadata
        and (size := metadata.optional("total_size", most=MOST_STORED_BYTES))
    ):
        return size // number_bytes
    files = index.needed_section("weight_map").values.values()
    return _numbers_in(reader, name, sorted({str(file) for file in files}))


def holds_output_head(reader: Reader, name: str) -> bool:
    """Whether the files hold an output head, whatever the configuration says of tying it."""
    index = read_section(reader, INDEX, name)
    tensors = index.section("weight_map") if index else None
    names = tensors.values if tensors else _header(reader, name, SINGLE) or {}
    return any(tensor.endswith(OUTPUT_HEAD) for tensor in names)


def _numbers_in(reader: Reader, name: str, files: list[str]) -> int | None:
    total = 0
    for file in files:
        header = _header(reader, name, file)
        if header is None:
            return None
        total += sum(_numbers(row, name, tensor) for tensor, row in header.items())
    return total


def _header(reader: Reader, name: str, file: str) -> dict[str, Any] | None:
    prefix = reader.read(file, PREFIX_BYTES)
    if prefix is None:
        return None
    length = int.from_bytes(prefix, "little")
    if len(prefix) < PREFIX_BYTES or length > MOST_HEADER_BYTES:
        raise _refused(name, file, "has no header")
    start = reader.read(file, PREFIX_BYTES + length) or b""
    try:
        header = json.loads(start[PREFIX_BYTES:])
    except (ValueError, RecursionError) as error:
        raise _refused(name, file, "has a broken header") from error
    if not isinstance(header, dict):
        raise _refused(name, file, "has a broken header")
    header.pop("__metadata__", None)
    return header


def _numbers(row: Any, name: str, tensor: str) -> int:
    try:
        return math.prod(int(side) for side in row["shape"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _refused(name, tensor, "has no shape in its header") from error


def _refused(name: str, what: str, why: str) -> PlanRefused:
    return PlanRefused(f"model: {what} of {name!r} {why}; allowed: safetensors that are whole")
