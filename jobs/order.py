"""What crosses from the controller to the worker, and back: order, inputs, markers, attempts."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Noun(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sampling(_Noun):
    temperature: float
    top_p: float
    max_tokens: int
    seed: int


class Order(_Noun):
    """`order.json`: everything a worker needs; it knows no price and no cloud.

    model       a folder that every node sees
    engine      engine settings from the planner, passed on as they are
    replicas    engine replicas to deploy, one a node
    in_flight   shards that one replica holds at a time, so that its engine is never short of work
    """

    version: Literal[1] = 1
    job_id: str
    model: str
    engine: dict[str, Any]
    replicas: int
    cpus: int
    in_flight: int = 3
    prompt: str
    answer_schema: dict[str, Any]
    box_field: str | None
    sampling: Sampling
    min_pixels: int | None
    max_pixels: int | None
    shards: int
    start_s: float = 600.0


class PinnedInput(_Noun):
    """One line of `inputs/00000.jsonl`: an object and the etag that it had when it was pinned."""

    address: str
    etag: str
    size: int


class Marker(_Noun):
    """`shards/00000.json`: the rows file that it names is complete, and is the shard's.

    file          name of the rows file; empty in old markers: the shard's number
    digest        sha256 of the rows file
    tokens        computed for its rows, by which the work's cost is shared; old markers: None
    started_at    and `ended_at`: seconds since the epoch by the worker's clock
    """

    version: Literal[1] = 1
    shard: int
    epoch: int
    attempt: int
    rows: int
    errors: int
    file: str = ""
    digest: str
    tokens: int | None = None
    started_at: float
    ended_at: float

    @property
    def rank(self) -> tuple[int, int]:
        """Of two attempts at a shard the one of higher rank counts."""
        return self.epoch, self.attempt


class Attempt(_Noun):
    """`attempts/00001.json`: when the engine was ready and how the worker ended."""

    version: Literal[1] = 1
    epoch: int
    ready_at: float | None = None
    ended_at: float | None = None
    error: str | None = None
