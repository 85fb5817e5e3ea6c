"""`python -m worker probe FILE`: a few pictures, asked with the grammar and without, on this node.

No Ray and no shards: it loads the engine in this process, asks, and prints the comparison as JSON.
FILE is an order with the addresses of the pictures beside it.
"""

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jobs.order import Order, PinnedInput
from jobs.rows import Row
from jobs.store.bucket import Store
from worker.engines import make_engine
from worker.engines.base import Engine, EngineOptions
from worker.families import Family, load_family
from worker.grammar_check import Comparison
from worker.inputs import InputRun, Tools
from worker.pictures import Limits


def probe(store: Store, file: Path, engine_name: str) -> dict[str, Any]:
    """The comparison, and how many pictures could not be asked at all.

    `EngineStartFailed` when the model can't be loaded.
    """
    request = json.loads(file.read_text())
    order = Order.model_validate(request["order"])
    inputs = [PinnedInput.model_validate(each) for each in request["inputs"]]
    engine = make_engine(engine_name, EngineOptions(order.model, order.engine))
    family = load_family(Path(order.model), order.min_pixels, order.max_pixels)
    return asyncio.run(_compared(store, engine, family, order, inputs))


async def _compared(
    store: Store, engine: Engine, family: Family, order: Order, inputs: Sequence[PinnedInput]
) -> dict[str, Any]:
    comparison = Comparison()
    await engine.start()
    try:
        with ThreadPoolExecutor(4) as threads:
            tools = Tools(store, engine, family, Limits(), threads)
            runs = (
                InputRun(tools, order, each, f"probe/0/{number}", "0.0", 1, comparison)
                for number, each in enumerate(inputs)
            )
            made = await asyncio.gather(*(run.rows() for run in runs))
    finally:
        engine.stop()
    return _told(comparison, [row for rows in made for row in rows])


def _told(comparison: Comparison, rows: Sequence[Row]) -> dict[str, Any]:
    failed = [row.error.code for row in rows if row.error is not None]
    found = comparison.result()
    plain = {"asked": 0, "agreed": 0, "same": 0, "examples": []}
    return {**(plain if found is None else found.model_dump(mode="json")), "failed": failed}
