"""`make demo`: 64 pictures of machined parts, from a bucket to results, a bill and nothing left.

Real S3 over HTTP, a real Ray cluster raised from zero and taken down again, real vLLM.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from demo.annotate import annotate
from demo.batch import Shot, shots
from demo.line import MODEL, LineStopped, Outcome, work_batch
from demo.score import score
from infra.clusters.local.processes import CLUSTER_TAG, tagged
from jobs.cli.progress import JobProgress
from jobs.cli.summary import print_bill

PICTURES, FIRST_SEED, SHOWN, ANNOTATED = 64, 20_000, 6, 3
OUTPUT = Path("demo-output")

console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "controller.log"
        try:
            return _demo(log, began)
        except KeyboardInterrupt:
            console.print("interrupted: the controller took its cluster down")
            return 130
        except LineStopped as problem:
            console.print(f"[red]{problem}[/]")
            sys.stderr.write(log.read_text(errors="replace")[-3000:])
            return 1


def _demo(log: Path, began: float) -> int:
    console.print(f"drawing {PICTURES} pictures of machined parts")
    batch = list(shots(PICTURES, FIRST_SEED))
    console.print("inbox/line-4/ filled and closed; the controller takes it from here")
    outcome = work_batch(batch, JobProgress(console, poll_s=0.5), log)
    _show_rows(batch, outcome)
    _show_accuracy(batch, outcome)
    print_bill(console, outcome.receipt)
    console.print("the price is made up (setting local.usd_per_hour): this machine was not rented")
    _show_phases(outcome)
    _save(batch, outcome)
    left = tagged(CLUSTER_TAG, outcome.record.cluster_id)
    console.print(
        f"[bold]cluster gone after {outcome.gone_after_s:.1f} s[/]; "
        f"processes of it that are left: {len(left)}"
    )
    console.print(f"done in {time.monotonic() - began:.0f} s; see {OUTPUT}/")
    return 0 if not left and outcome.record.state.succeeded else 1


def _show_rows(batch: list[Shot], outcome: Outcome) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("picture", "size", "verdict", "defects found", "truth"):
        table.add_column(name)
    for shot in batch[:SHOWN]:
        row = outcome.rows[shot.name]
        output = row["output"] or {"verdict": row["error"]["code"], "defects": []}
        table.add_row(
            shot.name,
            f"{shot.part.image.width}x{shot.part.image.height}",
            output["verdict"],
            _listed((d["kind"], d["bbox"]) for d in output["defects"]),
            _listed((d.kind, d.box) for d in shot.part.defects),
        )
    console.print(table)


def _listed(defects: Iterable[tuple[str, Sequence[int]]]) -> str:
    return "\n".join(f"{kind} {','.join(map(str, box))}" for kind, box in defects) or "-"


def _show_accuracy(batch: list[Shot], outcome: Outcome) -> None:
    result = score((shot.part, outcome.rows[shot.name]["output"]) for shot in batch)
    console.print(
        f"against the truth: verdict right {result.verdict:.1%}, kinds right {result.kinds:.1%}, "
        f"median box IoU {result.box_iou:.2f} ({MODEL}, a demonstration, not an inspector)"
    )


def _show_phases(outcome: Outcome) -> None:
    phases = outcome.receipt["phases_s"].items()
    console.print("seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in phases))


def _save(batch: list[Shot], outcome: Outcome) -> None:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    lines = (json.dumps(outcome.rows[shot.name]) + "\n" for shot in batch)
    (OUTPUT / "rows.jsonl").write_text("".join(lines))
    (OUTPUT / "receipt.json").write_text(json.dumps(outcome.receipt, indent=1))
    worth = [shot for shot in batch if (outcome.rows[shot.name]["output"] or {}).get("defects")]
    for shot in worth[:ANNOTATED]:
        output = outcome.rows[shot.name]["output"]
        annotate(shot, output).save(OUTPUT / f"{Path(shot.name).stem}.png")


if __name__ == "__main__":
    sys.exit(main())
