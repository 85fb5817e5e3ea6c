"""`/docs`: the OpenAPI document as a page, with a command to try each request.

Plain HTML without scripts, and nothing is fetched from elsewhere: it works where the server does.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1a1a1a;background:#fff}pre{background:#f3f3f3;padding:.75rem;overflow:auto}"
    "h2{margin-top:2.5rem;font-size:1.1rem;overflow-wrap:anywhere}code{font-size:.9em}"
    ":focus-visible{outline:2px solid;outline-offset:2px}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}pre{background:#262626}"
    "a{color:#8ab4f8}}"
)
EXAMPLES = {
    "job_id": "line-4-30d35220e4bf",
    "file_id": "file-019b3d0c2a10aaaaaaaaaaaaaaaa",
    "batch_id": "batch_019b3d0c2a10bbbbbbbbbbbbbbbb",
    "model": "zeroshift/parts-inspector",
}


@router.get("/docs", response_class=HTMLResponse)
def docs(request: Request) -> HTMLResponse:
    document = request.app.openapi()
    page = _page(document, str(request.base_url).rstrip("/"))
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


def _page(document: dict[str, Any], base: str) -> str:
    title, about = document["info"]["title"], document["info"]["description"]
    requests = "".join(
        _request(document, base, path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
        f'<p>{escape(about)} <a href="openapi.json">openapi.json</a> has every field.</p>'
        f"{requests}</main></body></html>"
    )


def _request(
    document: dict[str, Any], base: str, path: str, method: str, operation: dict[str, Any]
) -> str:
    about = operation.get("description") or operation.get("summary") or ""
    command = " \\\n  ".join(_command(document, base, path, method, operation))
    queries = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    asked = f"<p>Query: <code>{escape(', '.join(queries))}</code></p>" if queries else ""
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{_worded(about)}</p>{asked}"
        f'<pre tabindex="0">{escape(command)}</pre>'
    )


def _worded(about: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(about))


def _command(
    document: dict[str, Any], base: str, path: str, method: str, operation: dict[str, Any]
) -> Iterator[str]:
    """The parts of a command for curl."""
    verb = "" if method == "get" else f"-X {method.upper()} "
    yield f"curl {verb}{base}{path.format_map(EXAMPLES)}"
    if operation.get("security"):
        yield '-H "Authorization: Bearer $TOKEN"'
    content = operation.get("requestBody", {}).get("content", {})
    if "multipart/form-data" in content:
        yield "-F purpose=batch -F file=@requests.jsonl"
    elif "application/json" in content:
        example = json.dumps(_example(document, content["application/json"]))
        yield f"-H 'Content-Type: application/json' -d '{example}'"


def _example(document: dict[str, Any], content: dict[str, Any]) -> Any:
    name = content["schema"].get("$ref", "").rpartition("/")[2]
    named = document["components"]["schemas"].get(name, {})
    return content.get("example") or named.get("example") or {}
