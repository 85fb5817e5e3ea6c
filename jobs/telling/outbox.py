"""The outbox: who is to be told that a job has ended, until somebody has taken it.

An object under `zeroshift/outbox/` from the moment that the job is submitted, so that no crash lies
between a job's end and the message about it. It goes when the message was taken: at least once,
under an id that the job gives it. What is not taken is sent again, after longer and longer waits.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from jobs.addresses import ROOT, Address, JobPaths
from jobs.errors import ManifestError, NotFound, SettingsError, TemporaryError
from jobs.manifest.manifest import Manifest
from jobs.noun import Noun
from jobs.record import Record, RecordFile
from jobs.settings.api import Webhook
from jobs.store.bucket import Store
from jobs.webhook_urls import shown

log = logging.getLogger("zeroshift")
FIRST_WAIT_S, LONGEST_WAIT_S = 30.0, 3600.0
GIVEN_UP_S = 3 * 24 * 3600.0
KIND = "job.ended"


class Notifier(Protocol):
    """Sends one signed message to one address, with a few tries of its own."""

    def send(self, event_id: str, kind: str, body: dict[str, Any]) -> bool:
        """Whether it was taken."""


NotifierFor = Callable[[str], Notifier]


class Letter(Noun):
    """`zeroshift/outbox/<job>.json`; times in seconds since the epoch."""

    version: Literal[1] = 1
    url: str
    tries: int = 0
    first_at: float | None = None
    not_before: float = 0.0


def outbox_root(bucket: str) -> Address:
    return Address(bucket, f"{ROOT}outbox/")


def check_webhook(manifest: Manifest, settings: Webhook) -> None:
    """`ManifestError` when the manifest wants an address told that the settings do not allow."""
    url = manifest.webhook
    if url is not None and not settings.allows(url):
        allowed = ", ".join(settings.allowed) or "none; see the setting webhook.allowed"
        raise ManifestError(f"webhook: found {url!r}; allowed: what begins with {allowed}")


def post(store: Store, bucket: str, manifest: Manifest, job_id: str, settings: Webhook) -> None:
    """Note who is to be told of a job that is new, or goes on, if anybody is."""
    url = manifest.webhook or settings.url
    if url is not None:
        _write(store, bucket, job_id, url)


def _write(store: Store, bucket: str, job_id: str, url: str) -> None:
    store.write(_address(bucket, job_id), Letter(url=url).model_dump_json().encode())


class Outbox:
    """Sends what is due; one of several may be at work on a bucket.

    allows   asked again of each letter: settings change, and others may write to a bucket
    """

    def __init__(
        self,
        store: Store,
        bucket: str,
        notifier_for: NotifierFor,
        clock: Callable[[], float] = time.time,
        allows: Callable[[str], bool] = lambda url: True,
    ) -> None:
        self._store, self._bucket, self._clock = store, bucket, clock
        self._notifier_for, self._allows = notifier_for, allows

    def round(self) -> None:
        """Look at every letter, and send those whose job has ended."""
        for found in list(self._store.list(outbox_root(self._bucket))):
            job_id = found.address.name.removesuffix(".json")
            try:
                self.send(job_id)
            except TemporaryError as error:
                log.warning("outbox: %s: will try again: %s", job_id, error)
            except Exception:  # one letter must not keep the others waiting
                log.exception("outbox: %s: will try again", job_id)

    def send(self, job_id: str) -> bool:
        """Send the letter of one job, when it is due; whether it is out of the way now."""
        address = _address(self._bucket, job_id)
        try:
            letter = Letter.model_validate_json(self._store.read(address))
            record = RecordFile(self._store, JobPaths.of(self._bucket, job_id)).load()
        except NotFound:
            return False  # sent by somebody else, or its job is on its way
        now = self._clock()
        if not record.state.ended or now < letter.not_before:
            return False
        event_id = f"evt-{job_id}-{record.epoch}-{record.state.value}"
        if not self._allows(letter.url):
            log.warning("outbox: %s: %s may not be told", job_id, shown(letter.url))
        elif self._notifier_for(letter.url).send(event_id, KIND, told(record)):
            self._store.delete(address)
            self._again_if_resumed(job_id, letter)
            return True
        return self._later(address, letter, job_id, now)

    def _again_if_resumed(self, job_id: str, letter: Letter) -> None:
        """What was deleted may have been the letter about the job's next end."""
        record = RecordFile(self._store, JobPaths.of(self._bucket, job_id)).load()
        if not record.state.ended:
            _write(self._store, self._bucket, job_id, letter.url)

    def _later(self, address: Address, letter: Letter, job_id: str, now: float) -> bool:
        first = letter.first_at if letter.first_at is not None else now
        if now - first > GIVEN_UP_S:
            log.error("outbox: %s: not taken in three days; given up", job_id)
            self._store.delete(address)
            return True
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**letter.tries)
        later = letter.model_copy(
            update={"tries": letter.tries + 1, "first_at": first, "not_before": now + wait_s}
        )
        self._store.write(address, later.model_dump_json().encode())
        return False


def told(record: Record) -> dict[str, Any]:
    """What a message says about a job that has ended."""
    return {
        "job_id": record.job_id,
        "state": record.state.value,
        "reason": record.reason,
        "output": record.output,
        "counts": record.counts.model_dump(),
        "cost_usd": None if record.cost_usd is None else str(record.cost_usd),
        "labels": record.labels,
    }


def _address(bucket: str, job_id: str) -> Address:
    return outbox_root(bucket) / f"{job_id}.json"


def make_outbox(
    store: Store, bucket: str, settings: Webhook, environ: Mapping[str, str]
) -> Outbox | None:
    """The outbox that the settings ask for; None when nobody may be told of anything.

    `SettingsError` when there is no key to sign with.
    """
    if settings.url is None and not settings.allowed:
        return None
    secret = environ.get(settings.secret_variable, "").encode()
    if not secret:
        raise SettingsError(
            f"webhook.secret_variable: the variable {settings.secret_variable} is not set; "
            "allowed: a variable with the key that messages are signed with"
        )
    import httpx  # slow to import, and few have somebody to tell

    from jobs.telling.notify import Notifier as Signed

    client = httpx.Client(trust_env=False, follow_redirects=False)
    return Outbox(store, bucket, lambda url: Signed(url, secret, client), allows=settings.allows)
