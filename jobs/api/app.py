"""The app: every router in one list, around one context.

`make_app` starts nothing: threads that work are `jobs.api.serving`'s.
"""

from collections.abc import Sequence

from fastapi import APIRouter, FastAPI

from jobs.api import arrivals, docs_page, health, jobs
from jobs.api.access.audit import Audit
from jobs.api.access.bodies import BodyLimit
from jobs.api.access.keys import KeyRing
from jobs.api.access.rates import Rates
from jobs.api.batch import files, routes
from jobs.api.context import Context, RegistryOf
from jobs.api.document import describe
from jobs.api.problem import translate_errors
from jobs.api.readiness import Readiness
from jobs.api.shelf import Shelf
from jobs.events.doors import Doors
from jobs.settings.settings import Settings
from jobs.store.bucket import Store

# In the order in which they are asked; pages that want "/" come last, by `more`.
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
    more: Sequence[APIRouter] = (),
) -> FastAPI:
    """The API over one bucket.

    is_local      the server listens on loopback alone; only then it serves without any key
    registry_of   figures for /metrics beside those of the server
    more          routers beside ours, as the pages; a guard of their own
                  (`jobs.api.access.guard`) is theirs to add
    """
    app = FastAPI(title="Zeroshift", docs_url=None, redoc_url=None)
    context = Context(
        store=store,
        settings=settings,
        keys=KeyRing(store, settings.bucket),
        rates=Rates(settings.api.requests_per_minute),
        shelf=Shelf(store, settings.bucket, settings.poll_s),
        readiness=Readiness(store, settings.bucket),
        doors=Doors(store, settings),
        is_local=is_local,
        registry_of=registry_of,
    )
    app.state.context = context
    for router in (*ROUTERS, *more):
        # What include_router does with a prefix or a dependency, of which these have none of their
        # own; it makes each route a second time, which is a good part of the time to start.
        app.router.routes.extend(router.routes)
    translate_errors(app)
    describe(app)
    # The last that is added is the first that is asked: what is too large is in the audit, too.
    app.add_middleware(
        BodyLimit, most=settings.api.max_body_bytes, most_of_a_file=settings.api.max_upload_bytes
    )
    app.add_middleware(Audit, counts=context.counts)
    return app
