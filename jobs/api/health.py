"""Whether the server is there, whether it can work, and figures about both."""

from fastapi import APIRouter, Response
from pydantic import BaseModel

from jobs.api.access.guard import MayRead
from jobs.api.context import Here
from jobs.api.metrics import exposition
from jobs.api.problem import ApiError, documented

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: str = "ok"


@router.head("/healthz", include_in_schema=False)  # balancers ask so
@router.get("/healthz")
def healthz() -> Health:
    """The process answers."""
    return Health()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: documented()[400]})
async def readyz(here: Here) -> Health:
    """The store answers too."""
    if not await here.readiness.check():
        raise ApiError(503, "The store does not answer.", code="unavailable")
    return Health()


@router.get("/metrics", response_class=Response, responses=documented())
def metrics(here: Here, key: MayRead) -> Response:
    """Figures for Prometheus."""
    body, kind = exposition(here)
    return Response(body, media_type=kind)
