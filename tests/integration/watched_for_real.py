"""A job in the console of a real server, as a browser shows it from its request to its report."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.browser import serious
from tests.integration.serving_for_real import PATIENCE_S, Served


@dataclass
class Watched:
    """What a browser showed of one job, from its request to its report."""

    job: str
    changes: list[dict[str, Any]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    cards: int = 0
    boxes: int = 0
    drawn: int = 0

    def of(self, name: str) -> list[Any]:
        """Each value in its turn, and once as long as it stood."""
        values = [change[name] for change in self.changes]
        return [each for at, each in enumerate(values) if at == 0 or values[at - 1] != each]


NOTE_CHANGES = """
window.changes = [];
const part = document.querySelector('[data-live]');
const note = () => {
  const figure = (label) => [...part.querySelectorAll('.figures dt')]
    .find((each) => each.textContent.startsWith(label))?.nextElementSibling.textContent;
  changes.push({
    state: part.querySelector('.state').firstElementChild.nextSibling.textContent.trim(),
    reason: part.querySelector('.reason')?.textContent || '',
    done: parseInt(figure('Pictures')),
    cost: figure('Cost'),
  });
};
note();
new MutationObserver(note).observe(part, { childList: true, subtree: true, characterData: true });
"""


def watch(served: Served, look: Callable[..., Any], ask: Callable[[], str], rows: int) -> Watched:
    """Open the list of jobs, `ask` for one of so many rows, and follow it."""
    from playwright.sync_api import expect

    page = look(f"{served.url}/", viewport={"width": 1280, "height": 3000})
    expect(page.get_by_text("No jobs yet.")).to_be_visible()
    watched = Watched(ask())
    page.get_by_role("link", name=watched.job).click(timeout=60_000)
    page.locator(".headline").wait_for()
    page.evaluate(NOTE_CHANGES)
    expect(page.locator(".rows tbody tr").first).to_be_visible(timeout=PATIENCE_S * 1000)
    watched.violations += serious(page)
    report = page.get_by_role("link", name="Report")
    report.wait_for(timeout=PATIENCE_S * 1000)
    watched.changes = page.evaluate("changes")
    watched.violations += serious(page)
    report.click()
    expect(page.locator("#counted")).to_have_text(f"{rows} rows", timeout=60_000)
    expect(page.locator(".card img[src^=data]").first).to_be_visible(timeout=60_000)
    watched.violations += serious(page)
    watched.cards = page.locator(".card").count()
    watched.drawn = page.locator("#gallery rect.under").count()
    found = httpx.get(f"{served.url}/v1/jobs/{watched.job}/rows", timeout=60)
    outputs = [json.loads(each)["output"] or {} for each in found.iter_lines()]
    watched.boxes = sum(len(each.get("defects", ())) for each in outputs)
    return watched
