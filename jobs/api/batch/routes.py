"""`/v1/batches` and `/v1/models`, as OpenAI's clients know them."""

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from jobs.api.access.guard import MayRead, MaySubmit
from jobs.api.batch.file_record import load_file
from jobs.api.batch.lines import ENDPOINT
from jobs.api.batch.record import (
    HEAD,
    Batch,
    BatchPaths,
    batch_document,
    batch_ids,
)
from jobs.api.context import Context, Here
from jobs.api.ids import checked_id, new_id
from jobs.api.paging import After, Limit, page_of
from jobs.api.problem import ApiError, documented
from jobs.errors import NotFound, Unreadable
from jobs.manifest.forms import form

router = APIRouter(prefix="/v1", tags=["OpenAI Batch API"], responses=documented(404))
HOUR_S = 3600
TIMES = (
    *("in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"),
)
Label = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Text = Annotated[str, StringConstraints(max_length=512)]
EXAMPLE: dict[str, JsonValue] = {
    "input_file_id": "file-019b3d0c2a10aaaaaaaaaaaaaaaa",
    "endpoint": ENDPOINT,
    "completion_window": "24h",
    "metadata": {"line": "4"},
}
Window = Annotated[
    str,
    *form(r"([1-9]|[1-9]\d|[12]\d\d|3[0-2]\d|33[0-6])h", "whole hours, 1h to 336h, as 24h"),
]


class NewBatch(BaseModel):
    """`completion_window` is `24h` at OpenAI; here any whole number of hours up to 336."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": EXAMPLE})

    input_file_id: str = Field(max_length=100)
    endpoint: Literal["/v1/chat/completions"]
    completion_window: Window
    metadata: Annotated[dict[Label, Text], Field(max_length=16)] | None = None


class RequestCounts(BaseModel):
    total: int
    completed: int
    failed: int


class BatchObject(BaseModel):
    """A batch as OpenAI shows it. Times are in seconds since the epoch."""

    id: str
    object: Literal["batch"] = "batch"
    endpoint: str
    errors: dict[str, Any] | None
    input_file_id: str
    completion_window: str
    status: str
    output_file_id: str | None
    error_file_id: str | None
    created_at: int
    in_progress_at: int | None
    expires_at: int
    finalizing_at: int | None
    completed_at: int | None
    failed_at: int | None
    expired_at: int | None
    cancelling_at: int | None
    cancelled_at: int | None
    request_counts: RequestCounts
    metadata: dict[str, str] | None
    model: str | None
    usage: dict[str, Any] | None
    job_ids: list[str] = Field(description="Our own: the jobs that the batch became.")


class BatchList(BaseModel):
    object: Literal["list"] = "list"
    data: list[BatchObject]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class Model(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "zeroshift"


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


@router.post("/batches")
def create_batch(wanted: NewBatch, here: Here, key: MaySubmit) -> BatchObject:
    """Make a batch of an uploaded file. It is validated, and becomes jobs, a moment later."""
    _check_file(here, wanted.input_file_id)
    now = time.time()
    hours = int(wanted.completion_window.removesuffix("h"))
    batch = Batch(
        id=new_id(HEAD, now),
        endpoint=wanted.endpoint,
        input_file_id=wanted.input_file_id,
        completion_window=wanted.completion_window,
        at={"created": int(now), "expires": int(now) + hours * HOUR_S},
        metadata=wanted.metadata,
    )
    # Open first: what is open without a record is passed over, a record alone would never be seen.
    here.store.write(BatchPaths(here.bucket, batch.id).open, b"")
    batch_document(here.store, here.bucket, batch.id).create(batch)
    return shown(batch)


def _check_file(here: Context, file_id: str) -> None:
    try:
        file = load_file(here.store, here.bucket, file_id)
    except NotFound as error:
        message = f"input_file_id: {error}; allowed: the id of an uploaded file"
        raise ApiError(400, message, "input_file_id", "invalid_value") from error
    if file.purpose != "batch":
        message = f"{file_id} has the purpose {file.purpose}; allowed: batch."
        raise ApiError(400, message, "input_file_id", "invalid_value")


@router.get("/batches")
def list_batches(here: Here, key: MayRead, after: After = None, limit: Limit = 20) -> BatchList:
    """The batches, the newest first."""
    ids = batch_ids(here.store, here.bucket)

    def look(batch_id: str) -> BatchObject | None:
        try:
            return shown(_load(here, batch_id))
        except Unreadable:  # another version's to show
            return None

    page = page_of(ids, after, limit, look)
    return BatchList(
        data=page.data, has_more=page.has_more, first_id=page.first_id, last_id=page.last_id
    )


@router.get("/batches/{batch_id}")
def retrieve_batch(batch_id: str, here: Here, key: MayRead) -> BatchObject:
    return shown(_load(here, batch_id))


@router.post("/batches/{batch_id}/cancel", responses=documented(404, 409))
def cancel_batch(batch_id: str, here: Here, key: MaySubmit) -> BatchObject:
    """Cancel a batch; what was answered before is in its output file."""
    checked_id(batch_id, HEAD)
    now = time.time()

    def change(old: Batch) -> Batch:
        if old.status in ("cancelling", "cancelled"):
            return old
        if old.ended or old.status == "finalizing":
            raise ApiError(409, f"A batch that is {old.status} can't be cancelled.")
        return old.moved("cancelling", now).model_copy(update={"cancel_requested": True})

    try:
        return shown(batch_document(here.store, here.bucket, batch_id).change(change))
    except NotFound as error:
        raise NotFound(f"no batch {batch_id!r}") from error


@router.get("/models")
def list_models(here: Here, key: MayRead) -> ModelList:
    """The models that a batch may name."""
    return ModelList(data=[Model(id=name) for name in here.settings.api.models])


@router.get("/models/{model:path}")
def retrieve_model(model: str, here: Here, key: MayRead) -> Model:
    if model not in here.settings.api.models:
        raise ApiError(404, f"The model {model!r} does not exist.", "model", "model_not_found")
    return Model(id=model)


def _load(here: Context, batch_id: str) -> Batch:
    checked_id(batch_id, HEAD)
    try:
        return batch_document(here.store, here.bucket, batch_id).load()
    except NotFound as error:
        raise NotFound(f"no batch {batch_id!r}") from error


def shown(batch: Batch) -> BatchObject:
    """The batch in OpenAI's form."""
    data = [error.model_dump() for error in batch.errors]
    models = {group.model for group in batch.groups}
    plain = batch.model_dump(
        include={
            *("id", "endpoint", "input_file_id", "completion_window", "status"),
            *("output_file_id", "error_file_id", "metadata"),
        }
    )
    moments: dict[str, Any] = {f"{name}_at": batch.at.get(name) for name in TIMES}
    return BatchObject(
        **plain,
        **moments,
        errors={"object": "list", "data": data} if data else None,
        created_at=batch.at["created"],
        expires_at=batch.at["expires"],
        request_counts=RequestCounts(
            total=batch.total, completed=batch.completed, failed=batch.failed
        ),
        model=models.pop() if len(models) == 1 else None,
        usage=_usage(batch),
        job_ids=[group.job_id for group in batch.groups if group.job_id],
    )


def _usage(batch: Batch) -> dict[str, Any] | None:
    if not batch.ended:
        return None
    asked, said = batch.usage.input_tokens, batch.usage.output_tokens
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + said,
    }
