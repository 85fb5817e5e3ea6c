"""The OpenAPI document: FastAPI's, with the manifest's schema in it."""

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

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
        found["components"]["schemas"] |= _manifest()
        return found

    app.openapi = document  # type: ignore[method-assign]


def _manifest() -> dict[str, Any]:
    """The manifest's schema and its parts, with references as the document has them."""
    text = json.dumps(manifest_schema()).replace("#/$defs/", "#/components/schemas/")
    schema = json.loads(text)
    parts = schema.pop("$defs", {})
    schema.pop("$schema", None)
    return {**parts, "Manifest": schema}


def _version() -> str:
    try:
        return version("zeroshift")
    except PackageNotFoundError:
        return "unknown"
