"""Whatever a user or a model wrote is text in the page, and the page runs nothing but its own."""

import base64
import hashlib
import html.parser
import json
import re

import pytest

from jobs.report.page import BEGIN, END, FACTS, parts_of, render
from jobs.rows import ImageFacts, Row, RowError
from tests.finished_jobs import finished_job

HALF = "\ud800"  # of a pair: no text of UTF-8, and no key, though a model may write it
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--rows--><!--end of rows-->",
    "<img src=x onerror=alert(1)>",
    "\u2028\u2029\u0085\n",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "'\"`&amp;<![CDATA[",
    HALF,
)
FACTS_OF_ONE = ImageFacts(
    format="png",
    width=8,
    height=8,
    stored_width=8,
    stored_height=8,
    orientation=1,
    model_width=8,
    model_height=8,
)


class Tags(html.parser.HTMLParser):
    """The elements of a page as a browser would see them, and the data in its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
            self._in_script = True

    def handle_endtag(self, tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1] += data

    def blocks(self, kind: str) -> list:
        scripts = [attrs for tag, attrs in self.tags if tag == "script"]
        return [
            json.loads(text)
            for attrs, text in zip(scripts, self.scripts, strict=True)
            if attrs.get("data-kind") == kind
        ]


def hostile(number: int) -> tuple[Row, list[bytes]]:
    text = HOSTILE[number % len(HOSTILE)]
    if number >= len(HOSTILE):
        wrong = RowError(
            code="not_an_image", stage="decode", message=text, retryable=False, raw=text
        )
        return Row(key=f"s3://b/{number}", version="e", status="error", error=wrong), []
    return (
        Row(
            key=f"s3://b/{number}/{text.replace(HALF, '')}",
            version="e",
            status="ok",
            output={"verdict": text, text: [{"kind": text, "bbox": [1, 2, 3, 4]}]},
            image=FACTS_OF_ONE,
            fields={text: text},
            group=text,
        ),
        [b"picture"],
    )


@pytest.fixture
def hostile_page(report) -> str:
    return report(2 * len(HOSTILE), make=hostile)["report.html"]


def test_hostile_texts_make_no_element_and_come_out_of_the_data_as_they_went_in(hostile_page):
    page = Tags(hostile_page)
    names = {tag for tag, _ in page.tags}
    assert names & {"iframe", "object", "embed", "base", "form", "img"} == set()
    assert [attrs.get("type", "ours") for tag, attrs in page.tags if tag == "script"].count(
        "ours"
    ) == 1
    [block] = page.blocks("rows")
    read = [entry["row"] for entry in block["rows"]]
    whole = [text for text in HOSTILE if text != HALF]
    assert [row["group"] for row in read[: len(HOSTILE)] if row["group"] in whole] == whole
    assert [row["error"]["message"] for row in read[len(HOSTILE) :]][: len(whole)] == whole


def test_no_address_in_the_page_is_a_users(hostile_page):
    addresses = [
        value
        for _, attrs in Tags(hostile_page).tags
        for name, value in attrs.items()
        if name in ("href", "src", "action") or name.startswith("on")
    ]
    assert addresses == ["data:,", "#pictures"]


def test_hostile_names_in_the_receipt_are_text(store, bucket, report):
    _, _, receipt = finished_job(store, bucket, 2, job_id="other")
    plain = report(2)["report.html"]
    facts, blocks = parts_of(plain)
    for text in HOSTILE[:-1]:
        worse = {**receipt, "reason": text, "model": text, "warnings": [text]}
        worse |= {"labels": {text: text}, "error_codes": {text: 1}}
        page = Tags(render(worse, {**facts, "output": text}, blocks))
        assert len(page.scripts) == len(Tags(plain).scripts)


def test_the_policy_names_the_pages_own_script_and_style_by_their_hashes(report):
    page = report(3)["report.html"]
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    style, script = re.findall(r"<style>(.*?)</style>", page, re.S), Tags(page).scripts[-1]
    for text in (*style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"&#39;sha256-{digest}&#39;" in policy
    assert policy.startswith("default-src &#39;none&#39;; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_nothing_in_the_page_has_a_style_or_a_handler_that_the_policy_would_stop(report):
    attributes = {name for _, attrs in Tags(report(3)["report.html"]).tags for name in attrs}
    assert "style" not in attributes
    assert not [name for name in attributes if name.startswith("on")]


def test_facts_and_rows_are_read_back_from_a_page(report):
    page = report(30, most=20)["report.html"]
    facts, blocks = parts_of(page)
    assert (facts["rows"], facts["left_out"]) == (30, 10)
    assert page.count(BEGIN) == page.count(END) == page.count(FACTS) == 1
    assert blocks in page


def test_a_page_of_somebody_else_is_refused():
    with pytest.raises(ValueError, match="not a report"):
        parts_of("<html></html>")


@pytest.mark.parametrize(
    "planted",
    [
        "<script>alert(1)</script>\n",
        '<script type="application/json" data-kind="rows">{}</script><b>\n',
        '<script type="application/json" data-kind="rows"></script>\n</script><img>',
    ],
)
def test_a_page_that_somebody_changed_is_refused(report, planted):
    page = report(3)["report.html"]
    with pytest.raises(ValueError, match="not a report"):
        parts_of(page.replace(BEGIN, BEGIN + planted))


def test_the_bill_is_so_far_until_it_is_final(report):
    so_far, final = (
        report(3, final=final, job_id=f"j{final}")["report.html"] for final in (False, True)
    )
    assert "Cost so far" in so_far
    assert "So far: the cluster still ran" in so_far
    assert "so far" not in final
    assert "no process is left" in final


def test_rows_stand_in_blocks_that_a_browser_reads_one_at_a_time(report):
    page = Tags(report(1100, most=2000)["report.html"])
    assert [len(block["rows"]) for block in page.blocks("rows")] == [500, 500, 100]


def test_the_page_has_a_language_a_title_and_landmarks(report):
    page = Tags(report(2)["report.html"])
    assert ("html", {"lang": "en"}) in page.tags
    names = [tag for tag, _ in page.tags]
    assert names.count("main") == names.count("h1") == 1
    assert {"title", "header", "section", "dialog", "noscript"} <= set(names)
