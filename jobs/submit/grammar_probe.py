"""A few pictures of a request asked with the grammar and without, on this machine.

It starts a worker that loads the model here, so it needs what the model needs. The same comparison
on a cluster is `output.grammar_check` of a job: its receipt has the result.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from infra.planner.plan import Plan
from jobs.errors import JobFailed, UserError
from jobs.inputs.pin import pinned_inputs
from jobs.manifest.manifest import Manifest, job_id
from jobs.record import Record
from jobs.store.bucket import Store
from jobs.submit.orders import make_order


def probe(
    store: Store, manifest: Manifest, plan: Plan, count: int, engine: str = "vllm"
) -> dict[str, Any]:
    """`asked`, `agreed`, `same`, `examples` and the codes of pictures that `failed`.

    `JobFailed` when the worker does not come to an end in order.
    """
    inputs = pinned_inputs(store, manifest.inputs, count)
    if not inputs:
        raise UserError("there are no inputs to ask about")
    request = {
        "order": _order(manifest, plan),
        "inputs": [each.model_dump(mode="json") for each in inputs],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probe.json"
        file.write_text(json.dumps(request))
        return _run(store, file, engine)


def _order(manifest: Manifest, plan: Plan) -> dict[str, Any]:
    record = Record(
        job_id=job_id(manifest),
        created_at=time.time(),
        output=manifest.output or "",
        model=manifest.model,
        labels=manifest.labels,
    )
    return make_order(record, manifest, plan).model_dump(mode="json")


def _run(store: Store, file: Path, engine: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "worker", "probe", str(file), "--engine", engine],
        env={**os.environ, "ZEROSHIFT_STORE": json.dumps(store.options.to_dict())},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise JobFailed(f"the worker could not compare: {said[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result
