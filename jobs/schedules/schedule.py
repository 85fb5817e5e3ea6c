"""What a schedule says, where it stands, and what became of one of its runs."""

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from jobs.errors import UserError
from jobs.manifest.forms import Filled, Name, Prefix, Usd
from jobs.manifest.task import PresetName
from jobs.noun import Noun
from jobs.schedules.fires import check_cron, find_zone
from jobs.schedules.watermark import WINDOW_S, Watermark

CatchUp = Literal["none", "latest", "all"]
Overlap = Literal["forbid", "queue", "allow"]
Outcome = Literal["claimed", "submitted", "nothing_new", "skipped_overlap", "refused"]


def _zone(name: str) -> str:
    try:
        return find_zone(name).key
    except UserError as error:
        raise ValueError(str(error)) from error


def _cron(expression: str) -> str:
    try:
        check_cron(expression)
    except UserError as error:
        raise ValueError(str(error)) from error
    return " ".join(expression.split())


class Plan(Noun):
    """What the user said; seconds are seconds.

    catch_up   which of the times are run that passed while nobody looked: none, the latest, or all
               but `catch_up_limit` at most
    overlap    when the job before has not ended: skip, wait for it, or run beside it
    jitter_s   each run starts so much later at most, by its own share, always the same
    window_s   how late an object may be listed and still be new
    """

    name: Name
    cron: Annotated[str, AfterValidator(_cron)]
    zone: Annotated[str, AfterValidator(_zone)] = "UTC"
    prefix: Prefix
    output: Prefix
    model: Filled
    task: PresetName = "inspection"
    labels: dict[str, str] = Field(default_factory=dict)
    max_usd: Usd | None = None
    catch_up: CatchUp = "latest"
    catch_up_limit: int = Field(default=10, ge=1, le=1000)
    overlap: Overlap = "forbid"
    jitter_s: int = Field(default=0, ge=0, le=86400)
    window_s: float = Field(default=WINDOW_S, ge=0)

    def starts_at(self, nominal: float) -> float:
        """The nominal time and its jitter."""
        if not self.jitter_s:
            return nominal
        digest = hashlib.sha256(f"{self.name} {run_id(nominal)}".encode()).digest()
        return nominal + int.from_bytes(digest[:8], "big") % (self.jitter_s + 1)


class Schedule(Noun):
    """`zeroshift/schedules/<name>.json`; times are seconds since the epoch.

    cursor     nominal time up to which everything is decided
    current    id of the run that is being made; nobody begins another before it is through
    waiting    whether a run waits for the job before
    last_job   the last job that it made
    missed     how many times were missed so far, by whatever cause
    """

    version: Literal[1] = 1
    plan: Plan
    created_at: float
    cursor: float
    paused: bool = False
    current: str = ""
    waiting: bool = False
    last_job: str = ""
    missed: int = 0
    watermark: Watermark = Watermark()
    writes: tuple[str, ...] = ()


class Run(Noun):
    """`zeroshift/schedule-runs/<name>/<id>.json`: one run, claimed by whoever made the object.

    by_hand     asked for by a user: it is beside the schedule's times
    keys        what it takes, as s3:// addresses; None: not yet decided
    watermark   the schedule's, once the job is there
    """

    version: Literal[1] = 1
    id: str
    schedule: str
    nominal: float
    by_hand: bool = False
    outcome: Outcome = "claimed"
    owner: str
    claimed_until: float
    keys: tuple[str, ...] | None = None
    watermark: Watermark | None = None
    job_id: str = ""
    reason: str = ""


def run_id(nominal: float) -> str:
    """`20261101T053000Z`"""
    return datetime.fromtimestamp(nominal, UTC).strftime("%Y%m%dT%H%M%SZ")
