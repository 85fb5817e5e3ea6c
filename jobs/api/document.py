"""The OpenAPI document: FastAPI's, with the manifest's schema and the error's in it."""

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from jobs.api.problem import SCHEMAS, ErrorAnswer
from jobs.manifest.manifest import manifest_schema

ABOUT = (
    "Pictures in a bucket, answers in a schema and a bill to the second. Jobs are our own; files "
    "and batches are as OpenAI's clients know them, with the base URL ending in /v1."
)


def describe(app: FastAPI) -> None:
    """Let `app` describe itself, when it is asked first."""

    @cache
    def document() -> dict[str, Any]:
        found = get_openapi(
            title=app.title, version=_version(), description=ABOUT, routes=app.routes
        )
        found["components"]["schemas"] |= _manifest() | _named(ErrorAnswer.model_json_schema())
        return found

    app.openapi = document  # type: ignore[method-assign]


def _manifest() -> dict[str, Any]:
    return _named({**manifest_schema(), "title": "Manifest"})


def _named(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema and its parts by their names, with references as the document has them."""
    whole = json.loads(json.dumps(schema).replace("#/$defs/", SCHEMAS))
    parts = whole.pop("$defs", {})
    whole.pop("$schema", None)
    return {**parts, whole["title"]: whole}


def _version() -> str:
    try:
        return version("zeroshift")
    except PackageNotFoundError:
        return "unknown"
