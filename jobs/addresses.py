"""Where things lie in the bucket: `s3://` addresses, and the keys of jobs, clusters and ledger."""

from dataclasses import dataclass

from jobs.errors import UserError

ROOT = "zeroshift/"


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """`s3://bucket/key`; a key that ends in `/`, or is empty, is a prefix."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse `s3://bucket/key`. The key is taken as it stands, never decoded."""
        scheme, slashes, rest = text.partition("://")
        bucket, _, key = rest.partition("/")
        if scheme != "s3" or not slashes or not bucket:
            raise UserError(f"{text!r} is not an address; allowed: s3://BUCKET/KEY")
        if any("\ud800" <= each <= "\udfff" for each in key):  # no store has such a key
            raise UserError(f"{text!r} has half of a surrogate pair; allowed: text")
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def __truediv__(self, name: str) -> "Address":
        head = self.key if not self.key or self.key.endswith("/") else f"{self.key}/"
        return Address(self.bucket, head + name)

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class JobPaths:
    """The keys of one job; `root` is `s3://BUCKET/zeroshift/jobs/JOB/`."""

    root: Address

    @classmethod
    def of(cls, bucket: str, job_id: str) -> "JobPaths":
        return cls(Address(bucket, f"{ROOT}jobs/{job_id}/"))

    @property
    def job_id(self) -> str:
        return self.root.name

    @property
    def manifest(self) -> Address:
        return self.root / "manifest.json"

    @property
    def record(self) -> Address:
        return self.root / "record.json"

    @property
    def order(self) -> Address:
        """What the worker needs to know: model, engine settings, task, output."""
        return self.root / "order.json"

    @property
    def inputs(self) -> Address:
        return self.root / "inputs/"

    @property
    def rows(self) -> Address:
        return self.root / "rows/"

    @property
    def thumbs(self) -> Address:
        """Small pictures of the rows, for the report."""
        return self.root / "thumbs/"

    @property
    def markers(self) -> Address:
        return self.root / "shards/"

    def attempt(self, epoch: int) -> Address:
        """What the worker of this epoch reports: when it was ready, why it ended."""
        return self.root / f"attempts/{epoch:05d}.json"

    @property
    def turns(self) -> Address:
        return self.root / "turns/"

    def turn_of(self, shard: int, epoch: int, attempt: int) -> Address:
        """What an attempt at the shard tells of itself until its rows count."""
        return self.turns / f"{shard:05d}-{epoch:05d}-{attempt:02d}.json"

    def inputs_of(self, shard: int) -> Address:
        return self.inputs / f"{shard:05d}.jsonl"

    def rows_of(self, shard: int) -> Address:
        return self.rows / f"{shard:05d}.jsonl"

    def rows_of_attempt(self, shard: int, epoch: int, attempt: int) -> Address:
        """No two attempts write the same object, so none spoils what another has committed."""
        return self.rows / f"{shard:05d}-{epoch:05d}-{attempt:02d}.jsonl"

    def thumbs_of_attempt(self, shard: int, epoch: int, attempt: int) -> Address:
        return self.thumbs / f"{shard:05d}-{epoch:05d}-{attempt:02d}.zip"

    def marker_of(self, shard: int) -> Address:
        return self.markers / f"{shard:05d}.json"

    def wind_down_of(self, epoch: int) -> Address:
        """While it is there, the worker of this epoch begins no further shard."""
        return self.root / f"wind-down/{epoch:05d}"

    def in_hand_of(self, shard: int) -> Address:
        """Which input a careful attempt at the shard has in hand; else it is not there."""
        return self.root / f"in-hand/{shard:05d}.json"


def notices_root(bucket: str) -> Address:
    """One object for each event that somebody has taken, so that it is not sent again."""
    return Address(bucket, f"{ROOT}notices/")


def jobs_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}jobs/")


def queue_root(bucket: str) -> Address:
    """One empty object for each job that is not ended, so that looking for work is one listing."""
    return Address(bucket, f"{ROOT}queue/")


def inbox_root(bucket: str) -> Address:
    """What was taken of each folder that becomes jobs by itself."""
    return Address(bucket, f"{ROOT}inbox/")


def schedules_root(bucket: str) -> Address:
    """One object for each schedule."""
    return Address(bucket, f"{ROOT}schedules/")


def schedule_runs_root(bucket: str) -> Address:
    """One object for each run of a schedule: whoever creates it has claimed it."""
    return Address(bucket, f"{ROOT}schedule-runs/")


def clusters_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}clusters/")


def controllers_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}controllers/")


def measured_root(bucket: str) -> Address:
    """What ended jobs measured, by model and kind of node: the planner learns from it."""
    return Address(bucket, f"{ROOT}measured/")


def ledger_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}ledger/")
