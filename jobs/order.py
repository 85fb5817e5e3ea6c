"""What crosses from the controller to the worker, and back: order, inputs, markers, attempts."""

from typing import Any, Literal

from pydantic import Field

from jobs.noun import Noun


class Sampling(Noun):
    temperature: float
    top_p: float
    max_tokens: int
    seed: int


class AnswerFormat(Noun):
    """How an answer is spelled: what the grammar forces, and what the model was trained on.

    optional   `omit`: a field that the schema does not require may be left out;
               `always`: every field is written
    """

    item_separator: str = ", "
    key_separator: str = ": "
    indent: int | None = None
    any_key_order: bool = False
    optional: Literal["omit", "always"] = "omit"
    fenced: bool = False


class PictureLimits(Noun):
    """Bounds on one file; above each it is that row's error. See the settings `[pictures]`."""

    max_pixels: int = 200_000_000
    max_bytes: int = 256 * 1024 * 1024
    max_frames: int = 100
    decode_s: float = 60.0
    background: tuple[int, int, int] = (255, 255, 255)


class Order(Noun):
    """`order.json`: everything a worker needs; it knows no price and no cloud.

    model       a folder that every node sees
    engine      engine settings from the planner, passed on as they are
    replicas    engine replicas to deploy, one a node
    in_flight   shards that one replica holds at a time, so that its engine is never short of work
    prompt_fields   names in braces in the prompt, to be filled from an input's fields
    answer_format   how answers are written; None is the model family's own
    checks          names of the task's own checks
    retry           whether an answer that is wrong is asked for once more
    confidence      whether rows tell the probability of each chosen value
    thumbs          whether small pictures are kept beside the rows, for the report
    thumbs_side     their longest side in pixels, by how many pictures the job has
    grammar_check   how many pictures of the first shard are asked without the grammar too
    image_tokens    the most tokens that a picture may take; None is the pixel bounds alone
    frames          which pages and animation frames: first, all, every:N
    video           which moments of a clip: count:N, seconds:S, scene
    together        whether all frames of a file stand in one prompt, for one row
    max_pictures    pictures in one prompt; a group with more is that row's error
    limits          bounds on one file
    written_at      by the controller's clock; beside the store's stamp it tells how clocks differ
    """

    version: Literal[1] = 1
    job_id: str
    model: str
    engine: dict[str, Any]
    replicas: int
    cpus: int
    in_flight: int = 3
    prompt: str
    prompt_fields: tuple[str, ...] = ()
    answer_schema: dict[str, Any]
    answer_format: AnswerFormat | None = None
    box_field: str | None
    checks: tuple[str, ...] = ()
    sampling: Sampling
    retry: bool = True
    confidence: bool = False
    thumbs: bool = False
    thumbs_side: int = 240
    grammar_check: int = 0
    min_pixels: int | None
    max_pixels: int | None
    image_tokens: int | None = None
    frames: str = "first"
    video: str = "count:8"
    together: bool = False
    max_pictures: int = 1
    limits: PictureLimits = PictureLimits()
    shards: int
    start_s: float = 600.0
    written_at: float | None = None


class PinnedObject(Noun):
    """An object and the etag that it had when it was pinned."""

    address: str
    etag: str
    size: int


class Fault(Noun):
    code: str
    message: str


class PinnedInput(PinnedObject):
    """One line of `inputs/00000.jsonl`: a picture, or a group of them in one prompt.

    group    the group's name; None for a picture on its own
    others   the group's pictures after the first
    fields   what the index says about it beside its key
    fault    why it can't be worked, known before it is fetched
    """

    group: str | None = None
    others: tuple[PinnedObject, ...] = ()
    fields: dict[str, Any] = Field(default_factory=dict)
    fault: Fault | None = None

    @property
    def objects(self) -> tuple[PinnedObject, ...]:
        """All its pictures, in their order in the prompt."""
        return (self, *self.others)


class InHand(Noun):
    """`in-hand/00000.json`: the input that is worked alone, so that its killing is known."""

    epoch: int
    index: int


class GrammarCheck(Noun):
    """How many pictures were asked with the grammar and without, and where the answers agreed.

    `agreed` counts equal values in every field with a closed choice, `same` equal answers.
    """

    asked: int
    agreed: int
    same: int
    examples: tuple[str, ...] = ()


class Marker(Noun):
    """`shards/00000.json`: the rows file that it names is complete, and is the shard's.

    file            name of the rows file; empty in old markers: the shard's number
    digest          sha256 of the rows file
    thumbs          name of the file with small pictures of its rows; empty: there is none
    tokens          computed for its rows; old markers: None
    weight          of its rows together, by which the work's cost is shared; old markers: None
    started_at      and `ended_at`: seconds since the epoch by the worker's clock
    grammar_check   what the first sample showed, when this shard was sampled
    node            where it was worked; empty: not known
    busy            when at least one of its questions was with the engine; None: not known
    loading_at      and `ready_at`: when the replica began to load its engine, and had it
    requests        to the store, by class, and bytes, of the replica since its last marker
    """

    version: Literal[1] = 1
    shard: int
    epoch: int
    attempt: int
    rows: int
    errors: int
    file: str = ""
    thumbs: str = ""
    digest: str
    tokens: int | None = None
    started_at: float
    ended_at: float
    grammar_check: GrammarCheck | None = None
    weight: int | None = None
    node: str = ""
    busy: tuple[tuple[float, float], ...] | None = None
    loading_at: float | None = None
    ready_at: float | None = None
    requests: dict[str, int] = Field(default_factory=dict)

    @property
    def rank(self) -> tuple[int, int]:
        """Of two attempts at a shard the one of higher rank counts."""
        return self.epoch, self.attempt


class Turn(Noun):
    """`turns/00000-00001-01.json`: an attempt at a shard that has not counted, so far.

    It is written when a replica takes the shard up and taken away when its rows are committed; so
    what stays tells of work whose rows do not count, also of a replica that died.

    busy        as in `Marker`, as `loading_at` and `ready_at`; None: it did not live to tell
    ended_at    when it failed, or found that another attempt counts
    """

    version: Literal[1] = 1
    shard: int
    epoch: int
    attempt: int
    node: str = ""
    began_at: float
    ended_at: float | None = None
    busy: tuple[tuple[float, float], ...] | None = None
    loading_at: float | None = None
    ready_at: float | None = None


class Attempt(Noun):
    """`attempts/00001.json`: when the engine was ready and how the worker ended.

    preemptions   shards that came back because their node was taken away: no failures of theirs
    loading_at   when an engine began to load, where the replicas did not tell it themselves
    """

    version: Literal[1] = 1
    epoch: int
    loading_at: float | None = None
    ready_at: float | None = None
    ended_at: float | None = None
    error: str | None = None
    preemptions: int = 0
