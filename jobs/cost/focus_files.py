"""FOCUS rows to a file and back, as CSV or Parquet, a batch at a time.

In Parquet a cost is a decimal of 12 places and a moment a timestamp in UTC; in CSV null is an empty
field. What is read back is what `focus_rules` judges.
"""

import csv
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.cost.focus import COLUMNS, FocusRow, moment
from jobs.cost.focus_columns import FOCUS_VERSION

BATCH = 4096
TYPES = {"decimal": pa.decimal128(38, 12), "moment": pa.timestamp("ms", tz="UTC")}
SCHEMA = pa.schema(
    [pa.field(each.name, TYPES.get(each.kind, pa.string())) for each in COLUMNS],
    metadata={"FocusVersion": FOCUS_VERSION},
)
NAMES = [each.name for each in COLUMNS]


def write_csv(path: Path, rows: Iterable[FocusRow]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, NAMES, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path) -> Iterator[FocusRow]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            yield {name: value or None for name, value in row.items()}


def csv_header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file), [])


def write_parquet(path: Path, rows: Iterable[FocusRow]) -> None:
    ahead = iter(rows)
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        while some := list(islice(ahead, BATCH)):
            typed = [{name: _typed(name, row[name]) for name in NAMES} for row in some]
            writer.write_table(pa.Table.from_pylist(typed, schema=SCHEMA))


def read_parquet(path: Path) -> Iterator[FocusRow]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            for row in batch.to_pylist():
                yield {name: _text(value) for name, value in row.items()}


def parquet_header(path: Path) -> list[str]:
    names: list[str] = pq.read_schema(path).names
    return names


_KINDS = {each.name: each.kind for each in COLUMNS}


def _typed(name: str, value: str | None) -> Any:
    if value is None:
        return None
    if _KINDS[name] == "decimal":
        return Decimal(value).quantize(Decimal("0.000000000001"))
    return datetime.fromisoformat(value) if _KINDS[name] == "moment" else value


def _text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return moment(value.timestamp())
    return f"{value:f}" if isinstance(value, Decimal) else value
