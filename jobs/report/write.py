"""The report's flow: rows of the results in, page and chunks out.

Rows are read from the results, shard after shard, and their small pictures from where the worker
left them. Files go to `write`, which may be a bucket under a fence or a folder.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jobs.addresses import Address, JobPaths
from jobs.closing.reconcile import in_order, read_markers
from jobs.errors import NotFound
from jobs.order import Marker, Order
from jobs.record import RecordFile
from jobs.report.entries import MOST_ROWS, Entries, Entry
from jobs.report.facets import facets
from jobs.report.page import PAGE, data_blocks, parts_of, render
from jobs.report.pictures import Chunks, Place
from jobs.report.summary import steps
from jobs.store.bucket import Store
from jobs.thumbs import unpack

KIND = "text/html; charset=utf-8"
Write = Callable[[str, bytes, str], object]  # a name, its bytes and their kind


def write_report(
    store: Store,
    paths: JobPaths,
    output: Address,
    receipt: Mapping[str, Any],
    write: Write,
    most: int = MOST_ROWS,
) -> list[str]:
    """Write the page of a job whose results and `receipt` (plain JSON) are there; what was written.

    `most` bounds the rows in the page; the page says how many it leaves out.
    """
    names: list[str] = []

    def noted(name: str, body: bytes, kind: str) -> None:
        write(name, body, kind)
        names.append(name)

    order = Order.model_validate_json(store.read(paths.order))
    markers = read_markers(store, paths, {})
    entries = Entries(order.box_field, most)
    for marker, rows in in_order(markers, lambda marker: _rows(store, output, marker)):
        for index, row in enumerate(rows):
            entries.add(row, marker.shard, index)
    kept, chunks = list(entries), Chunks(noted)
    places = _places(store, paths, markers, kept, chunks)
    facts = {
        "started": RecordFile(store, paths).load().created_at,
        "output": str(output),
        "rows": entries.seen,
        "left_out": entries.left_out,
        "facets": facets(order.answer_schema),
        "rates": steps(markers.values()),
    }
    blocks = data_blocks([entry.body for entry in kept], places, chunks.finish())
    noted(PAGE, render(receipt, facts, blocks).encode(), KIND)
    return names


def finish_report(store: Store, output: Address, receipt: Mapping[str, Any], write: Write) -> None:
    """Write the page again with another receipt, which has the final bill; rows stay as they are.

    Nothing when there is no page, or none of ours.
    """
    try:
        facts, blocks = parts_of(store.read(output / PAGE).decode(errors="replace"))
    except (NotFound, ValueError):
        return
    write(PAGE, render(receipt, facts, blocks).encode(), KIND)


def _rows(store: Store, output: Address, marker: Marker) -> list[dict[str, Any]]:
    """As plain JSON: we wrote them, and reading a million through their model takes a minute."""
    try:
        body = store.read(output / f"part-{marker.shard:05d}.jsonl")
    except NotFound:  # a job that failed leaves out what is not sound
        return []
    return [json.loads(line) for line in body.split(b"\n") if line]


def _places(
    store: Store,
    paths: JobPaths,
    markers: Mapping[int, Marker],
    entries: Sequence[Entry],
    chunks: Chunks,
) -> list[Place | int]:
    """Where the pictures of each entry are; 0 of one without."""
    wanted = {
        shard: markers[shard]
        for shard in dict.fromkeys(entry.shard for entry in entries)
        if markers[shard].thumbs
    }
    reading: Iterator[tuple[Marker, dict[int, list[bytes]]]] = in_order(
        wanted, lambda marker: _pictures(store, paths, marker)
    )
    shard, found = -1, dict[int, list[bytes]]()
    places: list[Place | int] = []
    for entry in entries:
        if entry.shard != shard:
            shard, found = entry.shard, {}
            if shard in wanted:
                found = next(reading)[1]
        pictures = found.get(entry.index)
        places.append(chunks.add(pictures) if pictures else 0)
    return places


def _pictures(store: Store, paths: JobPaths, marker: Marker) -> dict[int, list[bytes]]:
    try:
        return unpack(store.read(paths.thumbs / marker.thumbs))
    except (NotFound, ValueError):  # the rows are what counts
        return {}
