"""What the routes share: made once by `make_app`, reached through the request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from anyio import CapacityLimiter
from fastapi import Depends, Request

from jobs.addresses import JobPaths
from jobs.api.access.audit import Counts
from jobs.api.access.keys import KeyRing
from jobs.api.access.rates import Rates
from jobs.api.later import Later
from jobs.api.readiness import Readiness
from jobs.api.shelf import Shelf
from jobs.manifest.manifest import Manifest
from jobs.settings.settings import Settings
from jobs.store.bucket import Store

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from jobs.events.doors import Doors
    from jobs.submit.submission import Submitted

REQUESTS_OF_A_LOOK = 100
RegistryOf = Callable[[Store, Settings], "CollectorRegistry"]


@dataclass(frozen=True, slots=True)
class Context:
    """`is_local`: the server listens on loopback alone. `registry_of`: figures beside our own.

    What begins a job is imported with the first: it plans and prices, which takes long to load.

    waiting_for_a_look   threads of `POST /events`: a burst of it leaves the API its own
    """

    store: Store
    settings: Settings
    keys: KeyRing
    rates: Rates
    shelf: Shelf
    readiness: Readiness
    doors: "Later[Doors]"
    is_local: bool = True
    registry_of: RegistryOf | None = None
    counts: Counts = field(default_factory=Counts)
    waiting_for_a_look: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(REQUESTS_OF_A_LOOK)
    )

    @property
    def bucket(self) -> str:
        return self.settings.bucket

    def submit(self, manifest: Manifest) -> "Submitted":
        from jobs.submit.submission import submit

        return submit(self.store, self.settings, manifest)

    def manifest_of(self, job_id: str) -> Manifest:
        """What was asked of a job; `NotFound` when there is none."""
        from jobs.submit.submission import load_manifest

        return load_manifest(self.store, JobPaths.of(self.bucket, job_id))


def context_of(request: Request) -> Context:
    found: Any = request.app.state.context
    assert isinstance(found, Context)
    return found


Here = Annotated[Context, Depends(context_of)]
