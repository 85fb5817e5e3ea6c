"""The app: every router in one list, around one context.

`make_app` starts nothing: threads that work are `jobs.api.serving`'s.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI

from jobs.api import arrivals, docs_page, health, jobs
from jobs.api.access.audit import Audit
from jobs.api.access.bodies import BodyLimit
from jobs.api.access.keys import KeyRing
from jobs.api.access.rates import Rates
from jobs.api.batch import files, routes
from jobs.api.context import Context, RegistryOf
from jobs.api.document import describe
from jobs.api.later import Later
from jobs.api.problem import translate_errors
from jobs.api.readiness import Readiness
from jobs.api.shelf import Shelf
from jobs.settings.settings import Settings
from jobs.store.bucket import Store

if TYPE_CHECKING:
    from jobs.events.doors import Doors

# In the order in which they are asked; pages that want "/" come last, by `add_routes`.
ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    jobs.router,
    files.router,
    routes.router,
    arrivals.router,
    docs_page.router,
)


def make_app(
    store: Store,
    settings: Settings,
    *,
    is_local: bool = True,
    registry_of: RegistryOf | None = None,
) -> FastAPI:
    """The API over one bucket.

    is_local      the server listens on loopback alone; only then it serves without any key
    registry_of   figures for /metrics beside those of the server
    """
    app = FastAPI(title="Zeroshift", docs_url=None, redoc_url=None)
    context = Context(
        store=store,
        settings=settings,
        keys=KeyRing(store, settings.bucket),
        rates=Rates(settings.api.requests_per_minute),
        shelf=Shelf(store, settings.bucket, settings.poll_s),
        readiness=Readiness(store, settings.bucket),
        doors=Later(partial(_doors, store, settings)),
        is_local=is_local,
        registry_of=registry_of,
    )
    app.state.context = context
    add_routes(app, ROUTERS)
    translate_errors(app)
    describe(app)
    # The last that is added is the first that is asked: what is too large is in the audit, too.
    app.add_middleware(
        BodyLimit, most=settings.api.max_body_bytes, most_of_a_file=settings.api.max_upload_bytes
    )
    app.add_middleware(Audit, counts=context.counts)
    return app


def add_routes(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Put routers behind those that there are; what guards them is theirs to bring.

    As include_router does, but for prefixes and dependencies, of which these have their own: it
    makes each route a second time, which is a good part of the time to start.
    """
    for router in routers:
        app.router.routes.extend(router.routes)


def _doors(store: Store, settings: Settings) -> "Doors":
    from jobs.events.doors import Doors

    return Doors(store, settings)
