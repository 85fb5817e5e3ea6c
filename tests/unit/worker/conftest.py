"""What tests of shards share: a job of one shard in a bucket, pictures of one colour, an engine."""

import asyncio
import io
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from PIL import Image

from jobs.addresses import Address, JobPaths
from jobs.order import Marker, Order, PinnedInput, Sampling
from jobs.rows import Row, read_rows
from jobs.store.bucket import Store
from worker.engines.base import Engine, EngineOptions, Question
from worker.engines.fake import FakeEngine
from worker.families import Family
from worker.pictures import Limits
from worker.shard import ShardRun, Tools

FAMILY = Family(28, 56 * 56, 56 * 56, "model_pixels")
RED = {
    "type": "object",
    "properties": {"red": {"type": "integer"}, "bbox": {"type": "array"}},
    "required": ["red"],
}


class Shard:
    """A job of one shard in the bucket."""

    def __init__(self, store: Store, bucket: str, threads: ThreadPoolExecutor) -> None:
        self.store, self.bucket, self.threads = store, bucket, threads
        self.paths = JobPaths.of(bucket, "job-1")

    def put(self, bodies: Sequence[bytes]) -> None:
        """The inputs of a shard that nobody has worked."""
        self.forget()
        lines = []
        for number, body in enumerate(bodies):
            address = Address(self.bucket, f"in/{number:03d}.png")
            self.store.write(address, body)
            found = self.store.look(address)
            pinned = PinnedInput(address=str(address), etag=found.etag, size=found.size)
            lines.append(pinned.model_dump_json())
        self.store.write(self.paths.inputs_of(0), "\n".join(lines).encode())

    def forget(self) -> None:
        """Let the shard be worked again: one that is committed is not."""
        self.store.delete(self.paths.marker_of(0))

    def put_together(self, *names: str, **more: Any) -> None:
        """One input of the objects that `put` wrote, as one prompt."""
        found = [self.store.look(Address(self.bucket, f"in/{name}.png")) for name in names]
        first, *others = (
            {"address": str(each.address), "etag": each.etag, "size": each.size} for each in found
        )
        pinned = PinnedInput.model_validate({**first, "others": others, **more})
        self.store.write(self.paths.inputs_of(0), pinned.model_dump_json().encode())

    def give_fields(self, *fields: dict[str, Any]) -> None:
        """What an index says about each input that `put` wrote."""
        lines = self.store.read(self.paths.inputs_of(0)).decode().split("\n")
        told = [
            PinnedInput.model_validate_json(line).model_copy(update={"fields": each})
            for line, each in zip(lines, fields, strict=True)
        ]
        body = "\n".join(each.model_dump_json() for each in told)
        self.store.write(self.paths.inputs_of(0), body.encode())

    def work(
        self,
        engine: Engine,
        store: Any = None,
        epoch: int = 2,
        careful: bool = False,
        **changes: Any,
    ) -> Marker:
        order, tools = self._order(**changes), self._tools(engine, store)

        async def run() -> Marker:
            await engine.start()
            return await ShardRun(tools, order, self.paths, 0, epoch, 3, careful).run()

        return asyncio.run(run())

    def work_together(self, engine: Engine, count: int) -> None:
        """So many attempts at once, as a replica does with its shards."""
        order, tools = self._order(), self._tools(engine)

        async def run() -> None:
            await engine.start()
            runs = [ShardRun(tools, order, self.paths, 0, 1, 1) for _ in range(count)]
            await asyncio.gather(*(each.run() for each in runs))

        asyncio.run(run())

    def _tools(self, engine: Engine, store: Any = None) -> Tools:
        return Tools(store or self.store, engine, FAMILY, Limits(), self.threads)

    def _order(self, **changes: Any) -> Order:
        return Order(
            job_id="job-1",
            model="m",
            engine={},
            replicas=1,
            cpus=1,
            **{"prompt": "How red?", "answer_schema": RED, "box_field": None, **changes},
            sampling=Sampling(temperature=0, top_p=1, max_tokens=99, seed=0),
            min_pixels=None,
            max_pixels=None,
            shards=1,
        )

    def rows(self) -> list[Row]:
        return list(read_rows(self.body()))

    def body(self) -> bytes:
        """The rows file that the shard's marker names."""
        marker = Marker.model_validate_json(self.store.read(self.paths.marker_of(0)))
        return self.store.read(self.paths.rows / marker.file)

    def written(self) -> list[str]:
        return [found.address.key for found in self.store.list(self.paths.root)]


@pytest.fixture
def shard(store: Store, bucket: str) -> Iterator[Shard]:
    with ThreadPoolExecutor(4) as threads:
        yield Shard(store, bucket, threads)


@pytest.fixture
def picture() -> Callable[..., bytes]:
    """Makes PNGs of one shade of red."""

    def make(red: int, size: tuple[int, int] = (56, 56)) -> bytes:
        file = io.BytesIO()
        Image.new("RGB", size, (red, 0, 0)).save(file, "PNG")
        return file.getvalue()

    return make


@pytest.fixture
def look() -> Callable[[Question], str]:
    """Answers with what is truly in the picture."""
    return lambda question: json.dumps({"red": question.image.getpixel((3, 3))[0]})


@pytest.fixture
def engine(look: Callable[[Question], str]) -> Callable[..., FakeEngine]:
    """Makes fake engines that look, or that answer by another rule."""
    return lambda rule=look, context=None: FakeEngine(EngineOptions("m"), rule, context)
