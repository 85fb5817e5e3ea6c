"""One shape for every error of the API: OpenAI's, so that its clients read ours too."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from jobs.errors import Conflict, NotFound, TemporaryError, UserError, ZeroshiftError
from jobs.problems import shown_path

log = logging.getLogger("zeroshift")
RETRY_AFTER_S = "5"
SCHEMAS = "#/components/schemas/"  # where the OpenAPI document has what it names
CODES = {
    400: "bad_request",
    401: "invalid_api_key",
    403: "insufficient_scope",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}


class ErrorBody(BaseModel):
    """What went wrong; `param` names the field when it is one's."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorAnswer(BaseModel):
    error: ErrorBody


class ApiError(HTTPException):
    """An error with a status, a code and, if it is about one, a parameter."""

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.param, self.code = param, code


def problem(
    status: int,
    message: str,
    param: str | None = None,
    code: str | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    code = code or CODES.get(status)
    error = {"message": message, "type": kind, "param": param, "code": code}
    return JSONResponse({"error": error}, status, headers)


def translate_errors(app: FastAPI) -> None:
    """Every error that leaves the app has the one shape."""
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(ZeroshiftError, _of_ours)
    app.add_exception_handler(Exception, _of_bug)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These errors for the OpenAPI document, by name: making a model for each route takes time."""
    content = {"application/json": {"schema": {"$ref": f"{SCHEMAS}{ErrorAnswer.__name__}"}}}
    return {status: {"content": content} for status in (400, 401, 403, 429, *statuses)}


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers) if error.headers else None
    param, code = getattr(error, "param", None), getattr(error, "code", None)
    return problem(error.status_code, str(error.detail), param, code, headers)


async def _of_validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = tuple(part for part in first["loc"] if part not in ("body", "query", "path", "header"))
    place = shown_path(where)
    said = " ".join(str(first["msg"]).split())
    return problem(400, f"{place}: {said}" if place else said, place or None, "invalid_value")


async def _of_ours(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, NotFound):
        return problem(404, str(error))
    if isinstance(error, UserError):
        return problem(400, str(error), code="invalid_value")
    if isinstance(error, Conflict):
        return problem(409, str(error))
    log.error("%s %s: %s", request.method, request.url.path, error)
    if isinstance(error, TemporaryError):
        headers = {"Retry-After": RETRY_AFTER_S}
        return problem(503, "The store does not answer.", code="unavailable", headers=headers)
    return problem(502, "The store refuses a request of ours.", code="store_refused")


async def _of_bug(request: Request, error: Exception) -> JSONResponse:
    return problem(500, "Something went wrong here; the log says what.", code="internal")
