"""Close: reconcile inputs with rows, price the rows, write the results, the success marker last.

The seventh step of a job's life. Rows are read shard by shard through the commit markers: a rows
file without a marker, or with another digest than its marker's, does not exist.
"""

import hashlib
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.addresses import Address, JobPaths
from jobs.bill import share
from jobs.bucket import Store
from jobs.errors import NotFound, RowsMissing
from jobs.order import Marker, PinnedInput
from jobs.rows import Row, read_rows

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


@dataclass(frozen=True, slots=True)
class Totals:
    """What the rows add up to."""

    rows: int
    ok: int
    errors: int
    codes: dict[str, int]
    prompt_tokens: int
    image_tokens: int
    output_tokens: int
    wasted_tokens: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Closing:
    """Writes the results of one job from its committed shards."""

    store: Store
    paths: JobPaths
    output: Address
    shards: int

    def markers(self) -> dict[int, Marker]:
        """The committed shards; cheap to call again and again with `known`."""
        return read_markers(self.store, self.paths, {})

    def reconcile(self) -> None:
        """`RowsMissing` unless every input has exactly one row, or one a frame, in every shard."""
        markers = self.markers()
        missing = [shard for shard in range(self.shards) if shard not in markers]
        if missing:
            raise RowsMissing(f"{len(missing)} of {self.shards} shards have no rows: {missing[:5]}")
        for shard in range(self.shards):
            wanted = Counter(each.address for each in self._inputs(shard))
            rows = list(self._rows(shard, markers[shard]))
            got = Counter(row.key for row in rows)
            for key in {row.key for row in rows if row.frame or row.time_s is not None}:
                got[key] = wanted[key]  # a picture of several frames, or a video: its rows are more
            if wanted != got:
                odd = sorted((wanted - got) + (got - wanted))[:3]
                raise RowsMissing(f"shard {shard}: rows do not match inputs, at {odd}")

    def write(self, work_usd: Decimal, whole: bool = True) -> Totals:
        """Write `part-*.jsonl` and `results.parquet` of all committed shards, each row priced.

        Rows share `work_usd` by the tokens that were computed for them. Not `whole`: the job has
        failed, and a shard whose rows do not match its marker is left out rather than an error.
        """
        markers = self.markers()
        if not whole:
            markers = {n: marker for n, marker in markers.items() if self._is_sound(n, marker)}
        self._remove_stale_parts(markers)
        costs = iter(share(work_usd, self._weights(markers)))
        counts: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.parquet"
            with pq.ParquetWriter(path, PARQUET, compression="zstd") as table:
                for shard, marker in sorted(markers.items()):
                    rows = [
                        row.model_copy(update={"cost_usd": next(costs)})
                        for row in self._rows(shard, marker)
                    ]
                    self._write_part(shard, rows)
                    table.write_table(_table(rows))
                    _count(counts, rows)
            kind = "application/vnd.apache.parquet"
            self.store.upload(self.output / "results.parquet", str(path), kind)
        return _totals(counts, _warnings(markers))

    def succeed(self, job_id: str) -> None:
        """The success marker: written last, after everything that it vouches for."""
        self.store.write(self.output / "_SUCCESS", json.dumps({"job_id": job_id}).encode())

    def _remove_stale_parts(self, markers: dict[int, Marker]) -> None:
        """An earlier job that ended without success may have left parts in this output."""
        ours = {self._part(shard) for shard in markers}
        for found in self.store.list(self.output / "part-"):
            if found.address not in ours:
                self.store.delete(found.address)

    def _part(self, shard: int) -> Address:
        return self.output / f"part-{shard:05d}.jsonl"

    def _write_part(self, shard: int, rows: list[Row]) -> None:
        body = "".join(row.to_line() + "\n" for row in rows).encode()
        self.store.write(self._part(shard), body, "application/jsonl")

    def _weights(self, markers: dict[int, Marker]) -> list[Decimal]:
        return [
            Decimal(row.usage.prompt_tokens + row.usage.output_tokens if row.usage else 0)
            for shard, marker in sorted(markers.items())
            for row in self._rows(shard, marker)
        ]

    def _inputs(self, shard: int) -> Iterator[PinnedInput]:
        text = self.store.read(self.paths.inputs_of(shard)).decode()
        return (PinnedInput.model_validate_json(line) for line in text.split("\n") if line)

    def _is_sound(self, shard: int, marker: Marker) -> bool:
        try:
            self._rows(shard, marker)
        except RowsMissing:
            return False
        return True

    def _rows(self, shard: int, marker: Marker) -> Iterator[Row]:
        try:
            body = self.store.read(self.paths.rows_of(shard))
        except NotFound as error:
            raise RowsMissing(f"shard {shard}: {error}") from error
        if hashlib.sha256(body).hexdigest() != marker.digest:
            raise RowsMissing(f"shard {shard}: its rows are not those that were committed")
        return read_rows(body)


def read_markers(store: Store, paths: JobPaths, known: dict[int, Marker]) -> dict[int, Marker]:
    """All commit markers; those in `known` are not read again."""
    markers = dict(known)
    for found in store.list(paths.markers):
        shard = int(found.address.name.removesuffix(".json"))
        if shard not in markers:
            markers[shard] = Marker.model_validate_json(store.read(found.address))
    return markers


def _count(counts: "Counter[str]", rows: list[Row]) -> None:
    for row in rows:
        counts["rows"] += 1
        counts[row.status] += 1
        if row.error is not None:
            counts[f"code:{row.error.code}"] += 1
        if row.usage is not None:
            counts.update(row.usage.model_dump())


def _warnings(markers: dict[int, Marker]) -> tuple[str, ...]:
    """What the first sample showed: whether the grammar changes what the model answers."""
    checks = [marker.grammar_check for marker in markers.values() if marker.grammar_check]
    return tuple(
        f"the grammar may fight the model: of {check.asked} pictures asked without it too, only "
        f"{check.agreed} had the same choices; compare with `zeroshift evaluate --grammar-check` "
        "and set output.format"
        for check in checks
        if check.agreed < check.asked
    )


def _totals(counts: "Counter[str]", warnings: tuple[str, ...]) -> Totals:
    codes = {k.removeprefix("code:"): n for k, n in counts.most_common() if k.startswith("code:")}
    return Totals(
        rows=counts["rows"],
        ok=counts["ok"],
        errors=counts["error"],
        codes=codes,
        prompt_tokens=counts["prompt_tokens"],
        image_tokens=counts["image_tokens"],
        output_tokens=counts["output_tokens"],
        wasted_tokens=counts["wasted_tokens"],
        warnings=warnings,
    )


def _table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([_flat(row) for row in rows], schema=PARQUET)


def _flat(row: Row) -> dict[str, object]:
    """A row as Parquet columns: nested groups flattened, the answer and the money as text."""
    plain = row.model_dump(mode="json")
    image = {f"image_{k}": v for k, v in (plain["image"] or {}).items()}
    error = {f"error_{k}": v for k, v in (plain["error"] or {}).items()}
    if row.error is not None:
        error["error_detail"] = _text(row.error.detail)
    return {
        **{name: plain[name] for name in KEPT},
        **{name: _text(getattr(row, name)) for name in ("output", "fields", "confidence")},
        "warnings": plain["warnings"],
        **image,
        **error,
        **(plain["usage"] or {}),
        **plain["timing"],
    }


def _text(value: object) -> str | None:
    return None if value is None or value == {} else json.dumps(value, ensure_ascii=False)


KEPT = ("key", "version", "frame", "status", "attempt", "cost_usd", "time_s", "group", "keys")


def rows_of(store: Store, output: Address) -> Iterator[bytes]:
    """The lines of a job's results, part after part."""
    for found in store.list(output / "part-"):
        yield from io.BytesIO(store.read(found.address))
