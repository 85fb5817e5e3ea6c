"""Pin: list the inputs as a stream, note each one's etag, cut them into shards, write them down.

The third step of a job's life. What is pinned is what is worked: an object that changes later is
that row's error, one that arrives later belongs to another batch. Nothing grows with the number of
inputs, unless they are grouped: a group's pictures may lie anywhere in the list.
"""

import io
import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import Any

from pydantic import ValidationError

from jobs.addresses import ROOT, Address, JobPaths
from jobs.errors import (
    AccessDenied,
    Archived,
    CredentialsExpired,
    ManifestError,
    NotFound,
    PermanentError,
    ZeroshiftError,
)
from jobs.inputs.groups import grouped
from jobs.manifest.inputs import Inputs
from jobs.order import Fault, PinnedInput, PinnedObject
from jobs.store.bucket import Store
from jobs.strict_json import load_strict

MARKERS = ("_SUCCESS", "manifest.json")  # close a batch; they are not pictures
LARGEST_SHARD = 256
SMALLEST_SHARD = 8
TOGETHER = 16  # requests
SHARDS_WANTED = 16  # enough for an even load and for progress that moves
FAULTS: dict[type[PermanentError], str] = {
    NotFound: "object_gone",
    AccessDenied: "access_denied",
    Archived: "archived",
    PermanentError: "unreadable",
}


def pin(store: Store, paths: JobPaths, inputs: Inputs, shard_size: int | None) -> tuple[int, int]:
    """Write the shards' inputs; answers how many inputs and shards there are.

    `StoreUnavailable` when the store does not tell of an input: nothing is pinned by guess.
    """
    pinned, total, shards = grouped(_inputs(store, inputs, None), inputs), 0, 0
    first = list(islice(pinned, LARGEST_SHARD * SHARDS_WANTED))  # more of them have one size
    size = shard_size or min(LARGEST_SHARD, max(SMALLEST_SHARD, -(-len(first) // SHARDS_WANTED)))
    for shard, part in enumerate(_chunks(chain(first, pinned), size)):
        # In ASCII, so that a key with a line separator stays on one line for every reader.
        body = "".join(json.dumps(each.model_dump()) + "\n" for each in part)
        store.write(paths.inputs_of(shard), body.encode(), "application/jsonl")
        total, shards = total + len(part), shard + 1
    return total, shards


def pinned_inputs(store: Store, inputs: Inputs, most: int | None = None) -> list[PinnedInput]:
    """The inputs as they are now, or the first `most` pictures of them; groups in one input."""
    return list(grouped(islice(_inputs(store, inputs, most), most), inputs))


def _inputs(store: Store, inputs: Inputs, most: int | None) -> Iterator[PinnedInput]:
    if inputs.prefix is not None:
        return _listed(store, Address.parse(inputs.prefix))
    if inputs.keys is not None:
        return _all_named(store, inputs.keys[:most])
    assert inputs.index is not None, "a manifest has exactly one kind of inputs"
    return _indexed(store, Address.parse(inputs.index))


def addresses_of(store: Store, inputs: Inputs) -> Iterator[Address]:
    """The addresses of the inputs alone: nothing is looked at, as pinning would."""
    if inputs.prefix is not None:
        prefix = Address.parse(inputs.prefix)
        return (each.address for each in store.list(prefix) if is_picture(each.address))
    if inputs.keys is not None:
        return map(Address.parse, inputs.keys)
    assert inputs.index is not None, "a manifest has exactly one kind of inputs"
    lines = _lines(store, Address.parse(inputs.index))
    return (Address.parse(key) for line, where in lines for key in _read_line(line, where)[0])


def _listed(store: Store, prefix: Address) -> Iterator[PinnedInput]:
    for found in store.list(prefix):
        if is_picture(found.address):
            yield PinnedInput(address=str(found.address), etag=found.etag, size=found.size)


def is_picture(address: Address) -> bool:
    """Whether a listed object may be one: not a marker, a folder, or our own state."""
    own = address.key.startswith(ROOT)
    return address.name not in MARKERS and not address.key.endswith("/") and not own


def _all_named(store: Store, texts: Iterable[str]) -> Iterator[PinnedInput]:
    """In their order, several asked for at once: a batch from the inbox may have thousands."""
    with ThreadPoolExecutor(TOGETHER) as threads:
        yield from threads.map(partial(_named, store), texts)


def _named(store: Store, text: str) -> PinnedInput:
    """An object named by the user. What is wrong with it alone is its row's error.

    What is wrong with the store, our credentials or the settings is raised.
    """
    try:
        found = store.look(Address.parse(text))
    except CredentialsExpired:
        raise
    except PermanentError as error:
        code = next(code for kind, code in FAULTS.items() if isinstance(error, kind))
        fault = Fault(code=code, message=str(error))
        return PinnedInput(address=text, etag="", size=0, fault=fault)
    return PinnedInput(address=text, etag=found.etag, size=found.size)


def _indexed(store: Store, index: Address) -> Iterator[PinnedInput]:
    for line, where in _lines(store, index):
        yield from _of_line(store, line, where)


def _lines(store: Store, index: Address) -> Iterator[tuple[str, str]]:
    """The lines of an index that are not empty, and what to call each."""
    try:
        body = store.read(index)
    except NotFound as error:
        raise ManifestError(f"inputs.index: {error}") from error
    for number, line in enumerate(io.BytesIO(body), start=1):
        where = f"{index} line {number}"
        try:
            text = line.decode().removesuffix("\n")
        except UnicodeDecodeError as error:
            raise ManifestError(f"inputs.index: {where}: {error}") from error
        if text.strip():
            yield text, where


def _of_line(store: Store, line: str, where: str) -> Iterator[PinnedInput]:
    """The inputs of a line: one, or one for each of its `questions`; `keys` are one prompt's."""
    keys, fields = _read_line(line, where)
    questions = fields.pop("questions", None)
    first, *others = named = [_named(store, key) for key in keys]
    fault = next((each.fault for each in named if each.fault), None)
    more = tuple(PinnedObject(**each.model_dump(include=_OBJECT)) for each in others)
    for question in questions or [None]:
        asked = fields if question is None else {**fields, "question": question}
        yield _kept(first.model_copy(update={"others": more, "fields": asked, "fault": fault}))


def _kept(pinned: PinnedInput) -> PinnedInput:
    """The input, without its fields when a worker could not read them: that row's fault.

    The worker's parser takes less than Python's: no half of a surrogate pair, no deep nesting.
    """
    try:
        PinnedInput.model_validate_json(json.dumps(pinned.model_dump()))
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"]
        fault = Fault(code="fields_unreadable", message=f"fields beside the key: {why}")
        return pinned.model_copy(update={"fields": {}, "fault": pinned.fault or fault})
    return pinned


def _read_line(line: str, where: str) -> tuple[list[str], dict[str, Any]]:
    try:
        fields = dict(load_strict(line, where))
        found = fields.pop("keys", None) or [fields.pop("key")]
        keys = [str(Address.parse(key)) for key in found]
        questions = fields.get("questions", [])
        if not isinstance(questions, list) or not all(isinstance(q, str) for q in questions):
            raise ValueError("questions are a list of texts")
        return keys, fields
    except (ValueError, KeyError, TypeError, AttributeError, ZeroshiftError) as error:
        raise ManifestError(
            f'inputs.index: {where} is {line[:80]!r}; allowed: {{"key": "s3://BUCKET/KEY"}}, '
            "with fields beside it; or keys, for several pictures in one prompt"
        ) from error


def _chunks(items: Iterable[PinnedInput], size: int) -> Iterator[list[PinnedInput]]:
    stream = iter(items)
    while part := list(islice(stream, size)):
        yield part


_OBJECT = set(PinnedObject.model_fields)
