"""Fixtures of a real browser, for tests that look at pages: Debian's Chromium, kept to itself.

A laptop without it skips; where REQUIRE_BROWSER is 1, and in CI without that, it must be there.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser; closed with the module, since no event loop can run beside Playwright's."""
    if not has_chromium():
        pytest.skip("not installed: chromium")
    path = shutil.which("chromium")
    assert path is not None, "chromium is not installed: make browser"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        browser.close()


def has_chromium() -> bool:
    """Whether there is one, or must be."""
    return shutil.which("chromium") is not None or _must_have_it()


def _must_have_it() -> bool:
    return os.environ.get("REQUIRE_BROWSER", "1" if os.environ.get("CI") else "0") == "1"


@contextmanager
def looking(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens addresses and answers their pages; fails at the end by what went wrong in any."""
    contexts, wrong = [], []

    def open_(address: str, **how: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(LONG_TASKS)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def look(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address and answers the page; what goes wrong in any fails the test."""
    with looking(chromium) as open_:
        yield open_


LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longTasks.push(Math.round(entry.duration));
}).observe({type: 'longtask', buffered: true});
"""


def serious(page: Any) -> list[str]:
    """What axe-core finds that keeps somebody from using the page."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in SERIOUS
    ]


@pytest.fixture
def violations() -> Callable[[Any], list[str]]:
    """`serious`, for tests that are given what they use."""
    return serious
