"""`make accuracy`: the bundled model on held-out pictures, through the whole product.

Fails when a bar of the model card is missed, so that a worse model can't slip in.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from demo.batch import shots
from demo.line import work_batch
from demo.score import Score, score
from jobs.cli.progress import JobProgress

BARS = Score(pictures=0, verdict=0.97, kinds=0.93, box_iou=0.70)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=500_000)
    options = parser.parse_args()
    batch = list(shots(options.pictures, options.first_seed))
    with tempfile.TemporaryDirectory() as folder:
        progress = JobProgress(Console(stderr=True), poll_s=0.5)
        outcome = work_batch(batch, progress, Path(folder) / "controller.log")
    pairs = [(shot.part, outcome.rows[shot.name]["output"]) for shot in batch]
    by_size = {
        f"{w}x{h}": asdict(score(p for p in pairs if p[0].image.size == (w, h)))
        for w, h in sorted({part.image.size for part, _ in pairs})
    }
    whole = score(pairs)
    print(json.dumps({"all": asdict(whole), "by_size": by_size}, indent=1))
    good = all(getattr(whole, bar) >= getattr(BARS, bar) for bar in ("verdict", "kinds", "box_iou"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
