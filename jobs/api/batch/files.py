"""`/v1/files`: the input and output files of batches."""

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from jobs.api.access.guard import MayRead, MaySubmit
from jobs.api.batch.file_record import (
    HEAD,
    KIND,
    File,
    content_of,
    delete_file,
    file_ids,
    load_file,
    save_file,
)
from jobs.api.batch.upload import Upload
from jobs.api.context import Context, Here
from jobs.api.ids import new_id
from jobs.api.paging import After, Limit, page_of
from jobs.api.problem import ApiError, documented
from jobs.errors import NotFound, Unreadable
from jobs.store.streams import PartWriter, pieces

router = APIRouter(prefix="/v1/files", tags=["OpenAI Batch API"], responses=documented(404))
LONGEST_NAME = 255
FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "purpose"],
                    "properties": {
                        "purpose": {"type": "string", "enum": ["batch"]},
                        "file": {"type": "string", "format": "binary"},
                    },
                }
            }
        },
    }
}


class FileList(BaseModel):
    object: Literal["list"] = "list"
    data: list[File]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class Deleted(BaseModel):
    id: str
    object: Literal["file"] = "file"
    deleted: bool = True


@router.post("", openapi_extra=FORM, responses=documented(413))
async def upload(request: Request, here: Here, key: MaySubmit) -> File:
    """Upload a file of requests, `purpose` `batch`. It streams to the bucket."""
    file_id = new_id(HEAD, time.time())
    writer = PartWriter(here.store, content_of(here.bucket, file_id), KIND)
    form = Upload(writer, here.settings.api.max_upload_bytes)
    try:
        form.begin(request.headers.get("content-type", ""))
        async for data in request.stream():
            if data:
                await run_in_threadpool(form.write, data)
        _check(form)
        return await run_in_threadpool(_kept, here, form, file_id)
    except BaseException:
        await run_in_threadpool(writer.drop)
        raise


def _check(form: Upload) -> None:
    if not form.ended:
        raise ApiError(400, "The form is broken: it ends too early.")
    if form.filename is None:
        raise ApiError(400, "Missing required parameter: 'file'.", "file")
    purpose = form.fields.get("purpose")
    if purpose is None:
        raise ApiError(400, "Missing required parameter: 'purpose'; allowed: 'batch'.", "purpose")
    if purpose != "batch":
        raise ApiError(400, f"purpose: found {purpose[:40]!r}; allowed: 'batch'.", "purpose")


def _kept(here: Context, form: Upload, file_id: str) -> File:
    form.writer.close()
    file = File(
        id=file_id,
        bytes=form.writer.size,
        created_at=int(time.time()),
        filename=(form.filename or "")[:LONGEST_NAME],
        purpose="batch",
    )
    save_file(here.store, here.bucket, file)
    return file


@router.get("")
def list_files(
    here: Here,
    key: MayRead,
    after: After = None,
    limit: Limit = 20,
    purpose: Annotated[str | None, Query(max_length=40)] = None,
    order: Literal["asc", "desc"] = "desc",
) -> FileList:
    """The files, the newest first."""
    ids = file_ids(here.store, here.bucket)
    if order == "desc":
        ids.reverse()

    def look(file_id: str) -> File | None:
        try:
            file = load_file(here.store, here.bucket, file_id)
        except (NotFound, Unreadable):
            return None  # of another version, half uploaded, or deleted a moment ago
        return file if purpose in (None, file.purpose) else None

    page = page_of(ids, after, limit, look)
    return FileList(
        data=page.data, has_more=page.has_more, first_id=page.first_id, last_id=page.last_id
    )


@router.get("/{file_id}")
def retrieve_file(file_id: str, here: Here, key: MayRead) -> File:
    return load_file(here.store, here.bucket, file_id)


@router.delete("/{file_id}")
def remove_file(file_id: str, here: Here, key: MaySubmit) -> Deleted:
    """Delete a file; a batch that still needs it fails."""
    delete_file(here.store, here.bucket, file_id)
    return Deleted(id=file_id)


@router.get("/{file_id}/content", response_class=Response)
def file_content(file_id: str, here: Here, key: MayRead) -> StreamingResponse:
    """The file's bytes, as a stream."""
    file = load_file(here.store, here.bucket, file_id)
    body = pieces(here.store, content_of(here.bucket, file_id))
    headers = {"Content-Length": str(file.bytes), "X-Content-Type-Options": "nosniff"}
    return StreamingResponse(body, media_type=KIND, headers=headers)
