"""A finished job in a bucket, made up row by row: for tests of what is shown of one."""

import hashlib
import io
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from PIL import Image, ImageDraw

from infra.clusters.base import NodeInterval
from jobs.addresses import Address, JobPaths
from jobs.closing.close import Closing
from jobs.cost.receipt import (
    Teardown,
    make_receipt,
    read_receipt,
    receipt_bill,
    receipt_bytes,
)
from jobs.order import Marker, Order, PinnedInput, Sampling
from jobs.record import OfferSnapshot, Record, RecordFile
from jobs.rows import ImageFacts, Row, RowError, Usage
from jobs.states import State
from jobs.store.bucket import Store
from jobs.tasks.inspection import KINDS, inspection
from jobs.thumbs import pack
from jobs.totals import Totals
from tests.made_entries import node_entry

BEGAN = 1_796_000_000.0
OFFER = OfferSnapshot(
    name="runpod/secure-h100-sxm",
    usd_per_hour=Decimal("2.69"),
    billing_granularity_s=1,
    minimum_s=0,
    catalogue_date="2026-11-30",
)
RowMaker = Callable[[int], tuple[Row, Sequence[bytes]]]


def finished_job(
    store: Store,
    bucket: str,
    count: int,
    make: RowMaker | None = None,
    job_id: str = "line-4-30d35220e4bf",
    shard_rows: int = 250,
    final: bool = True,
    wanted: bool = True,
) -> tuple[JobPaths, Address, dict[str, Any]]:
    """Its paths, its output and its receipt; rows by `make`, else of an inspection."""
    paths, output = JobPaths.of(bucket, job_id), Address(bucket, "results/line-4/")
    make = make or inspected
    task = inspection()
    for shard, first in enumerate(range(0, count, shard_rows)):
        _commit(
            store, paths, shard, [make(n) for n in range(first, min(count, first + shard_rows))]
        )
    shards = -(-count // shard_rows)
    order = Order(
        job_id=job_id,
        model="m",
        engine={},
        replicas=1,
        cpus=1,
        prompt=task.prompt,
        answer_schema=task.schema,
        box_field="bbox",
        thumbs=wanted,
        sampling=Sampling(temperature=0, top_p=1, max_tokens=99, seed=0),
        min_pixels=None,
        max_pixels=None,
        shards=shards,
    )
    store.write(paths.order, order.model_dump_json().encode())
    record = Record(job_id=job_id, created_at=BEGAN, output=str(output), model="m")
    RecordFile(store, paths).create(record)
    totals = Closing(store, paths, output, shards).write(Decimal("1.5"))
    receipt = _receipt(record, totals, BEGAN + 45 + shards * 4, final)
    store.write(output / "receipt.json", receipt)
    return paths, output, read_receipt(receipt)


def _commit(
    store: Store, paths: JobPaths, shard: int, made: Sequence[tuple[Row, Sequence[bytes]]]
) -> None:
    rows, thumbs = [row for row, _ in made], pack([pictures for _, pictures in made])
    pinned = [PinnedInput(address=row.key, etag=row.version, size=1) for row in rows]
    lines = "".join(each.model_dump_json() + "\n" for each in pinned)
    body = "".join(row.to_line() + "\n" for row in rows).encode()
    file = paths.rows_of_attempt(shard, 1, 1)
    small = paths.thumbs_of_attempt(shard, 1, 1)
    began = BEGAN + 40 + shard * 4
    marker = Marker(
        shard=shard,
        epoch=1,
        attempt=1,
        rows=len(rows),
        errors=sum(row.status == "error" for row in rows),
        file=file.name,
        thumbs=small.name if thumbs else "",
        digest=hashlib.sha256(body).hexdigest(),
        started_at=began,
        ended_at=began + 5 + shard % 3,
    )
    store.write(paths.inputs_of(shard), lines.encode())
    store.write(file, body)
    if thumbs:
        store.write(small, thumbs)
    store.write(paths.marker_of(shard), marker.model_dump_json().encode())


def _receipt(record: Record, totals: Totals, done: float, final: bool) -> bytes:
    entered = {"planning": BEGAN + 1, "provisioning": BEGAN + 3, "running": BEGAN + 18}
    entered |= {"finalizing": done, "completed": done + 1}
    ended = record.model_copy(
        update={
            "state": State.COMPLETED_WITH_ERRORS if totals.errors else State.COMPLETED,
            "reason": f"{totals.errors} of {totals.rows} pictures failed" if totals.errors else "",
            "entered": entered,
            "offer": OFFER,
            "model": "zeroshift/parts-inspector",
        }
    )
    gone = done + 16
    node = NodeInterval("node-1", BEGAN + 5, gone if final else None)
    entry = node_entry(ended, node, BEGAN + 40, done, gone)
    bill = receipt_bill([entry], ended, totals.rows, entry.usd["work"], final)
    teardown = Teardown(cluster_id="zs-cfeebd7c")
    if final:
        teardown = Teardown(cluster_id="zs-cfeebd7c", gone_at=gone, checked="no process is left")
    return receipt_bytes(make_receipt(ended, totals, bill, teardown))


def inspected(number: int) -> tuple[Row, Sequence[bytes]]:
    """A row of an inspection, its picture a grey part on a ground; some rows are errors."""
    rng = random.Random(number)
    key = f"s3://bucket/inbox/line-4/2026/{number:05d}.jpg"
    if rng.random() < 0.01:
        wrong = RowError(
            code=rng.choice(["image_truncated", "not_an_image"]),
            stage="decode",
            message="the jpeg ends too early",
            retryable=False,
        )
        return Row(key=key, version="e", status="error", error=wrong), ()
    width, height = rng.choice([(1280, 960), (1920, 1080), (800, 800), (960, 1280)])
    found = [_defect(rng, width, height) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
    row = Row(
        key=key,
        version="e",
        status="ok",
        output={"verdict": "defective" if found else "ok", "defects": found},
        image=ImageFacts(
            format="jpeg",
            width=width,
            height=height,
            stored_width=width,
            stored_height=height,
            orientation=1,
            model_width=448,
            model_height=336,
        ),
        usage=Usage(prompt_tokens=93, image_tokens=64, output_tokens=20 + 18 * len(found)),
        confidence={"verdict": round(1 - rng.random() ** 3 / 2, 4)},
    )
    return row, [_picture(number % 40, width, height, found if number < 200 else [])]


def _defect(rng: random.Random, width: int, height: int) -> dict[str, Any]:
    left, top = rng.randrange(width // 4, width // 2), rng.randrange(height // 4, height // 2)
    across, down = rng.randrange(60, width // 5), rng.randrange(60, height // 5)
    return {"kind": rng.choice(KINDS), "bbox": [left, top, left + across, top + down]}


_drawn: dict[tuple[int, int, int, str], bytes] = {}


def _picture(seed: int, width: int, height: int, found: Sequence[dict[str, Any]]) -> bytes:
    made = (seed, width, height, str(found))
    if made not in _drawn:
        _drawn[made] = _draw(seed, width, height, found)
    return _drawn[made]


def _draw(seed: int, width: int, height: int, found: Sequence[dict[str, Any]]) -> bytes:
    rng, scale = random.Random(seed), 240 / max(width, height)
    image = Image.effect_noise((round(width * scale), round(height * scale)), 22).convert("RGB")
    draw = ImageDraw.Draw(image)
    tone = rng.randrange(120, 200)
    centre, radius = (image.width / 2, image.height / 2), min(image.size) * rng.uniform(0.34, 0.46)
    draw.regular_polygon((*centre, radius), rng.randrange(5, 12), fill=(tone, tone, tone + 8))
    draw.circle(centre, radius / 4, fill=(60, 60, 64))
    for each in found:
        draw.ellipse([side * scale for side in each["bbox"]], fill=(110, 70, 50))
    file = io.BytesIO()
    image.save(file, "WEBP", quality=60, method=2)
    return file.getvalue()
