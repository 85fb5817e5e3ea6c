"""The guard: who asks, whether the key may, and not too often. A dependency of every route.

Without any key in the bucket there is nobody to tell apart; then only this machine is let in. A
page in a browser on this machine is not this machine: its requests name the page's host as `Host`
or `Origin`, and are refused.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from jobs.api.access.keys import SCOPES, Key, Scope
from jobs.api.context import Context, context_of
from jobs.api.problem import ApiError

bearer = HTTPBearer(auto_error=False, description="A key of `zeroshift keys create`.")
Token = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
ANYBODY = Key(id="local", name="local", scopes=SCOPES, sha256="", created_at=0.0)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def needs(scope: Scope) -> Callable[[Request, Token], Awaitable[Key]]:
    """A dependency that lets keys with `scope` pass and answers the key."""

    async def guard(request: Request, token: Token) -> Key:
        context = context_of(request)
        key = await run_in_threadpool(_caller, context, request, token)
        request.state.caller = key.id
        wait_s = context.rates.wait_s(key.id)
        if wait_s > 0:
            headers = {"Retry-After": str(math.ceil(wait_s))}
            raise ApiError(429, "Too many requests of this key.", headers=headers)
        if not key.may(scope):
            has = ", ".join(key.scopes)
            raise ApiError(403, f"This needs a key with the scope {scope}; this one has {has}.")
        return key

    return guard


def _caller(context: Context, request: Request, token: Token) -> Key:
    if context.keys.is_empty:
        check_local(context, request)
        return ANYBODY
    found = context.keys.find(token.credentials) if token else None
    if found is None:
        said = "Incorrect API key provided." if token else "Missing bearer token."
        headers = {"WWW-Authenticate": "Bearer"}
        raise ApiError(401, f"{said} See zeroshift keys create.", headers=headers)
    return found


def check_local(context: Context, request: Request) -> None:
    """`ApiError` unless this machine itself asks, and not a page of another host in its browser."""
    if not context.is_local:
        raise ApiError(401, "There are no keys; see zeroshift keys create.")
    names = [_host_of(f"//{request.headers.get('host', '')}")]
    origin = request.headers.get("origin")
    if origin is not None:
        names.append(_host_of(origin))
    if not all(name in LOOPBACK for name in names):
        raise ApiError(403, "Without keys only this machine is let in.")


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # brackets that do not match
        return None


MayRead = Annotated[Key, Depends(needs("read"))]
MaySubmit = Annotated[Key, Depends(needs("submit"))]
