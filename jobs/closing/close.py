"""Close: reconcile inputs with rows, price the rows, write the results, the success marker last.

The seventh step of a job's life. Each shard is read once, through its commit marker (a rows file
that no marker names, or with another digest, does not exist), compared with its inputs, priced and
written; nothing grows with the job but its markers, one for each shard.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from jobs.addresses import Address, JobPaths
from jobs.closing.reconcile import ShardReader, check_markers, in_order, read_markers
from jobs.closing.table import TableFile
from jobs.cost.shares import share
from jobs.errors import RowsMissing
from jobs.order import Marker
from jobs.rows import Row
from jobs.store.bucket import Store
from jobs.store.fence import Fence
from jobs.totals import Tally, Totals


def _held() -> None:
    """Without a claim there is none to lose."""


@dataclass(frozen=True, slots=True)
class Closing:
    """Writes the results of one job from its committed shards.

    check   raises `Conflict` when the job has been claimed by somebody else: nothing that a
            successor has written is written over
    """

    store: Store
    paths: JobPaths
    output: Address
    shards: int
    check: Callable[[], object] = field(default=_held)

    def markers(self) -> dict[int, Marker]:
        """The committed shards."""
        return read_markers(self.store, self.paths, {})

    def fence(self) -> Fence:
        return Fence(self.store, self.check)

    def reconcile(self) -> None:
        """`RowsMissing` unless every input has exactly one row, in every shard; writes nothing."""
        markers = self.markers()
        check_markers(markers, self.shards)
        for _ in in_order(markers, self._reader().compared):
            pass

    def write(self, work_usd: Decimal | None, whole: bool = True) -> Totals:
        """Write `part-*.jsonl` and `results.parquet` of all committed shards, each row priced.

        Rows share `work_usd` by their weight (`jobs.rows`); None is unknown, and so is what each
        cost. `whole`: `RowsMissing` unless every input has exactly one row, and nothing vouches for
        what was written until then. Not `whole`: the job has failed, and a shard whose rows do not
        match its marker is left out rather than an error.
        """
        markers = self.markers()
        if whole:
            check_markers(markers, self.shards)
        else:
            markers = {n: marker for n, marker in markers.items() if self._is_sound(marker)}
        return self._publish(markers, self._shares(work_usd, markers), whole)

    def succeed(self, job_id: str) -> None:
        """The success marker: written last, after everything that it vouches for."""
        self.fence().write(self.output / "_SUCCESS", json.dumps({"job_id": job_id}).encode())

    def _publish(
        self, markers: Mapping[int, Marker], usd: Mapping[int, Decimal | None], whole: bool
    ) -> Totals:
        fence, tally, reader = self.fence(), Tally(), self._reader()
        self._clear(fence, markers)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.parquet"
            with TableFile(path) as table:
                for marker, found in in_order(markers, reader.compared if whole else reader.rows):
                    rows = _priced(found, usd[marker.shard])
                    fence.write(self._part(marker.shard), _lines(rows), "application/jsonl")
                    table.add(rows)
                    tally.add(rows)
            kind = "application/vnd.apache.parquet"
            fence.write(self.output / "results.parquet", path, kind)
        return tally.totals(grammar_warnings(markers.values()))

    def _clear(self, fence: Fence, markers: Mapping[int, Marker]) -> None:
        """Take away parts that an earlier job, which ended without success, left in this output.

        A part that a successor may write is emptied under the fence: no store deletes on a
        condition.
        """
        ours, possible = map(self._part, markers), map(self._part, range(self.shards))
        stale = set(fence.survey(self.output / "part-")) - set(ours)
        emptied = stale & set(possible)
        for part in sorted(emptied):
            fence.write(part, b"", "application/jsonl")
        for part in sorted(stale - emptied):
            self.store.delete(part)

    def _part(self, shard: int) -> Address:
        return self.output / f"part-{shard:05d}.jsonl"

    def _shares(
        self, usd: Decimal | None, markers: Mapping[int, Marker]
    ) -> Mapping[int, Decimal | None]:
        """What the rows of each shard cost together."""
        shards = sorted(markers)
        if usd is None:
            return dict.fromkeys(shards)
        weights = [Decimal(self._weight(markers[shard])) for shard in shards]
        if not any(weights):  # nothing was computed: rows cost the same, whatever their shard
            weights = [Decimal(markers[shard].rows) for shard in shards]
        return dict(zip(shards, share(usd, weights), strict=True))

    def _weight(self, marker: Marker) -> int:
        if marker.weight is not None:
            return marker.weight
        return sum(row.weight for row in self._reader().rows(marker))

    def _reader(self) -> ShardReader:
        return ShardReader(self.store, self.paths)

    def _is_sound(self, marker: Marker) -> bool:
        try:
            rows = self._reader().rows(marker)
        except RowsMissing:
            return False
        return marker.weight in (None, sum(row.weight for row in rows))


def _priced(rows: list[Row], usd: Decimal | None) -> list[Row]:
    if usd is None:
        return rows
    costs = share(usd, [Decimal(row.weight) for row in rows])
    return [
        row.model_copy(update={"cost_usd": cost}) for row, cost in zip(rows, costs, strict=True)
    ]


def grammar_warnings(markers: Iterable[Marker]) -> tuple[str, ...]:
    """What the first sample showed: whether the grammar changes what the model answers."""
    checks = [marker.grammar_check for marker in markers if marker.grammar_check]
    return tuple(
        f"the grammar may fight the model: of {check.asked} pictures asked without it too, only "
        f"{check.agreed} had the same choices; compare with `zeroshift evaluate --grammar-check` "
        "and set output.format"
        for check in checks
        if check.agreed < check.asked
    )


def _lines(rows: list[Row]) -> bytes:
    return "".join(row.to_line() + "\n" for row in rows).encode()
