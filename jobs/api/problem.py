"""One shape for every error of the API: OpenAI's, so that its clients read ours too."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from jobs.errors import Conflict, NotFound, TemporaryError, Unreadable, UserError, ZeroshiftError
from jobs.problems import Problem, problems_in, shown_path

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
    app.add_exception_handler(ClientDisconnect, _of_gone)
    app.add_exception_handler(Exception, _of_bug)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These errors for the OpenAPI document, by name: making a model for each route takes time."""
    content = {"application/json": {"schema": {"$ref": f"{SCHEMAS}{ErrorAnswer.__name__}"}}}
    return {status: {"content": content} for status in (400, 401, 403, 429, *statuses)}


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers) if error.headers else None
    param, code = getattr(error, "param", None), getattr(error, "code", None)
    return problem(error.status_code, _unread(error) or str(error.detail), param, code, headers)


def _unread(error: HTTPException) -> str | None:
    """What was wrong with a body of which FastAPI says only that it could not be parsed."""
    match None if isinstance(error, ApiError) else error.__cause__:
        case UnicodeDecodeError():
            return "the body is not UTF-8 text; allowed: a JSON object"
        case RecursionError():
            return "the body is nested too deeply"
        case ValueError():  # Python reads no integer of more than some thousand digits
            return "the body has a number of too many digits"
    return None


async def _of_validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = first_problem(request, error)
    return problem(400, str(first), shown_path(first.where) or None, "invalid_value")


def first_problem(request: Request, error: RequestValidationError) -> Problem:
    """What is wrong with a request, in the words of a manifest's or a setting's mistakes."""
    return problems_in([_within(item) for item in error.errors()], _body_of(request))[0]


def _within(item: dict[str, Any]) -> dict[str, Any]:
    """An error without the part of the request that FastAPI puts before its place."""
    if item["type"] == "json_invalid":
        said = str(item.get("ctx", {}).get("error", "")).lower()
        return {**item, "loc": (), "msg": f"the body is not JSON: {said}; allowed: a JSON object"}
    if item["loc"] == ("body",) and isinstance(item["input"], bytes):  # it was not read as JSON
        said = "Content-Type: allowed: application/json, and a JSON object as the body"
        return {**item, "loc": (), "type": "json_invalid", "msg": said}
    return {**item, "loc": tuple(item["loc"][1:])}


def _body_of(request: Request) -> type[BaseModel] | None:
    """What the request's body is read into, where it is an object of known keys."""
    field = getattr(request.scope.get("route"), "body_field", None)
    kind = field.field_info.annotation if field is not None else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


async def _of_ours(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, NotFound):
        return problem(404, str(error))
    if isinstance(error, UserError):
        return problem(400, str(error), code="invalid_value")
    if isinstance(error, Conflict | Unreadable):
        return problem(409, str(error))
    log.error("%s %s: %s", request.method, request.url.path, error)
    if isinstance(error, TemporaryError):
        headers = {"Retry-After": RETRY_AFTER_S}
        return problem(503, "The store does not answer.", code="unavailable", headers=headers)
    return problem(502, "The store refuses a request of ours.", code="store_refused")


async def _of_gone(request: Request, error: Exception) -> JSONResponse:
    """Nobody reads it; it keeps the log and the count of faults free of who hung up."""
    return problem(400, "the sender went before its body was there")


async def _of_bug(request: Request, error: Exception) -> JSONResponse:
    return problem(500, "Something went wrong here; the log says what.", code="internal")
