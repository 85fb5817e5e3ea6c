"""The results as a Parquet file, written as a stream: one row group in memory, whatever the job."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.rows import Row

GROUP_ROWS = 8192  # a row group for each shard would make a footer larger than the rows
PARQUET = pa.schema(
    [
        ("key", pa.string()),
        ("version", pa.string()),
        ("frame", pa.int32()),
        ("status", pa.string()),
        ("output", pa.string()),
        ("error_code", pa.string()),
        ("error_stage", pa.string()),
        ("error_message", pa.string()),
        ("error_retryable", pa.bool_()),
        ("error_detail", pa.string()),
        ("error_raw", pa.string()),
        ("warnings", pa.list_(pa.string())),
        ("image_format", pa.string()),
        *[
            (f"image_{name}", pa.int32())
            for name in (
                "width",
                "height",
                "stored_width",
                "stored_height",
                "orientation",
                "model_width",
                "model_height",
            )
        ],
        ("prompt_tokens", pa.int32()),
        ("image_tokens", pa.int32()),
        ("output_tokens", pa.int32()),
        ("wasted_tokens", pa.int32()),
        *[(name, pa.float64()) for name in ("fetch_s", "decode_s", "queue_s", "generate_s")],
        ("attempt", pa.int32()),
        ("cost_usd", pa.string()),
        ("time_s", pa.float64()),
        ("group", pa.string()),
        ("keys", pa.list_(pa.string())),
        ("fields", pa.string()),
        ("confidence", pa.string()),
    ]
)
KEPT = ("key", "version", "frame", "status", "attempt", "cost_usd", "time_s", "group", "keys")
AS_TEXT = ("output", "fields", "confidence")


class TableFile:
    """Rows to a Parquet file, in the order in which they are added."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, PARQUET, compression="zstd")
        self._waiting: list[pa.Table] = []

    def add(self, rows: Sequence[Row]) -> None:
        flat = [_flat(row) for row in rows]
        self._waiting.append(pa.Table.from_pylist(flat, schema=PARQUET))
        if sum(table.num_rows for table in self._waiting) >= GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=GROUP_ROWS)
        self._waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()


def _flat(row: Row) -> dict[str, object]:
    """A row as Parquet columns: nested groups flattened, the answer and the money as text."""
    plain = row.model_dump(mode="json", exclude={"output"})
    image = {f"image_{k}": v for k, v in (plain["image"] or {}).items()}
    error = {f"error_{k}": v for k, v in (plain["error"] or {}).items()}
    if row.error is not None:
        error["error_detail"] = _text(row.error.detail)
    return {
        **{name: plain[name] for name in KEPT},
        **{name: _text(getattr(row, name)) for name in AS_TEXT},
        "warnings": plain["warnings"],
        **image,
        **error,
        **(plain["usage"] or {}),
        **plain["timing"],
    }


def _text(value: object) -> str | None:
    return None if value is None or value == {} else json.dumps(value, ensure_ascii=False)
