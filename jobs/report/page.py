"""The page itself: template, style and script in one file that opens from disk.

Whatever a user or a model wrote comes in as text: by Jinja's escaping into markup, and as JSON
without `<`, `>` and `&` into data blocks that the script reads by `textContent`. The content policy
allows our own script and style by their hashes, the chunks beside the page, and nothing else.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from jobs.report import summary
from jobs.report.entries import dumps
from jobs.report.templates import make_environment

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE = "report.html"  # beside the results
ROWS_A_BLOCK = 500  # parsed one block at a time, so that a browser is never busy for long
SCRIPTS = ("data.js", "filters.js", "picture.js", "gallery.js", "viewer.js", "start.js")
# No text of a user's can hold these: its `<` is escaped everywhere.
BEGIN, END = "<!--rows-->", "<!--end of rows-->"
FACTS = '<script type="application/json" id="facts">'
SCRIPT_END = "</script>"
BLOCKS = re.compile(
    r'(?:<script type="application/json" data-kind="(?:rows|pictures)">[^<]*+</script>\n)*+'
)


def render(receipt: Mapping[str, Any], facts: Mapping[str, Any], blocks: str) -> str:
    """The page.

    receipt   of the job, as plain JSON
    facts     what the page knows besides: `started`, `counts`, `facets`, `rates`, see `write`
    blocks    the data blocks, from `data_blocks` or an earlier page's `blocks_of`
    """
    style, script = _style(), _script()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            receipt=receipt,
            bill=summary.bill(receipt),
            phases=summary.phases(receipt),
            throughput=summary.throughput(facts["rates"]),
            facts=facts,
            facts_json=Markup(dumps(facts)),
            blocks=Markup(f"{BEGIN}{blocks}{END}"),
            style=Markup(style),
            script=Markup(script),
            policy=policy(style, script),
        )
    )


def policy(style: str, script: str) -> str:
    """`'self'` is the folder that the page lies in when it is served, `file:` on disk."""
    return "; ".join(
        (
            "default-src 'none'",
            "img-src data:",
            f"style-src '{_hashed(style)}'",
            f"script-src '{_hashed(script)}' 'self' file:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def data_blocks(bodies: Sequence[str], places: Sequence[Any], chunks: Iterable[list[str]]) -> str:
    """Rows in blocks, each with where its pictures are, and the chunks that stand in the page."""
    blocks = []
    for first in range(0, len(bodies), ROWS_A_BLOCK):
        rows = ",".join(bodies[first : first + ROWS_A_BLOCK])
        where = dumps(places[first : first + ROWS_A_BLOCK])
        blocks.append(_block("rows", f'{{"rows":[{rows}],"pictures":{where}}}'))
    pictures = [_block("pictures", dumps(chunk)) for chunk in chunks]
    return "".join((*pictures, *blocks))


def _block(kind: str, body: str) -> str:
    return f'<script type="application/json" data-kind="{kind}">{body}{SCRIPT_END}\n'


def parts_of(page: str) -> tuple[dict[str, Any], str]:
    """The facts and the data blocks of a page; `ValueError` when it is none of ours.

    Both are data and nothing else, whoever wrote the page: it may come from a bucket that others
    write to, and be served again.
    """
    blocks = page.partition(BEGIN)[2].partition(END)
    facts = page.partition(FACTS)[2].partition(SCRIPT_END)
    if not blocks[1] or not facts[1] or not BLOCKS.fullmatch(blocks[0]):
        raise ValueError("not a report")
    known: dict[str, Any] = json.loads(facts[0])
    return known, blocks[0]


@cache
def _environment() -> "Environment":
    return make_environment(
        "jobs.report",
        "page",
        money=summary.money,
        exact=summary.exact,
        worked_s=summary.worked_s,
    )


def base_style() -> str:
    """The style that all pages share."""
    return _file("base.css")


def _style() -> str:
    return base_style() + _file("page.css")


def _script() -> str:
    """All scripts in one function of their own, so that none of their names is the page's."""
    return "(() => {\n'use strict';\n" + "".join(map(_file, SCRIPTS)) + "})();\n"


@cache
def _file(name: str) -> str:
    return (files("jobs.report") / "page" / name).read_text(encoding="utf-8")


def _hashed(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
