"""The console in a real browser: a job is watched from its request to its report."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from jobs.addresses import JobPaths
from jobs.api.access.keys import create_key
from jobs.api.serving import Server
from jobs.control.controller import Controller
from jobs.record import Counts, RecordFile
from jobs.schedules.files import RunFile, ScheduleFile
from jobs.schedules.schedule import Plan, Run, Schedule
from jobs.states import State
from jobs.store.bucket import Store

pytestmark = pytest.mark.browser
PATIENCE_MS = 30_000


@pytest.fixture
def url(app: FastAPI) -> Iterator[str]:
    with Server("127.0.0.1", 0) as server:
        server.doorstep.open(app)
        yield server.url


@pytest.fixture
def submit(
    url: str, bucket: str, model: str, put_pictures: Callable[..., None]
) -> Callable[[], str]:
    """Submits a job over the API; answers its id."""

    def post() -> str:
        put_pictures(5, broken=1)
        wanted = {"inputs": {"prefix": f"s3://{bucket}/in/"}, "model": model}
        answer = httpx.post(f"{url}/v1/jobs", content=json.dumps(wanted), timeout=30)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["job"]["job_id"])

    return post


@pytest.fixture
def schedule(store: Store, bucket: str, model: str) -> Callable[[str], None]:
    """Adds a schedule that has run once, in vain."""

    def add(name: str) -> None:
        places = {"prefix": f"s3://{bucket}/in/", "output": f"s3://{bucket}/out/{name}/"}
        plan = Plan(name=name, cron="30 1 * * *", zone="Europe/Berlin", model=model, **places)
        now = time.time()
        ScheduleFile(store, bucket, name).create(Schedule(plan=plan, created_at=now, cursor=now))
        run = Run(id="r1", schedule=name, nominal=now, owner="o", claimed_until=now)
        RunFile(store, bucket, name, "r1").create(run.model_copy(update={"outcome": "nothing_new"}))

    return add


@pytest.fixture
def work(controller: Callable[[], Controller], workshop: Any) -> Iterator[threading.Event]:
    """A controller works what is queued in a thread, and each job waits for the event."""
    go, worker = threading.Event(), controller()
    workshop.before = lambda paths, epoch: None if go.wait(60) else 1
    stop = threading.Event()
    thread = threading.Thread(target=worker.watch, args=(stop,))
    thread.start()
    yield go
    go.set()
    stop.set()
    thread.join(60)
    assert not thread.is_alive()


def test_a_job_is_watched_from_its_request_to_its_report(url, look, submit, work, violations):
    from playwright.sync_api import expect

    page = look(f"{url}/")
    expect(page.get_by_text("No jobs yet.")).to_be_visible()
    job = submit()
    link = page.get_by_role("link", name=job)
    link.click(timeout=PATIENCE_MS)  # the list has brought it in by itself
    state = page.locator(".headline .state")
    expect(state).to_contain_text("Running", timeout=PATIENCE_MS)
    first = page.locator(".figures").inner_text()
    cost = page.locator(".figures dd").nth(4)
    expect(cost).to_contain_text("USD", timeout=PATIENCE_MS)
    expect(cost).not_to_have_text(cost.inner_text(), timeout=PATIENCE_MS)  # it ticks
    work.set()
    expect(state).to_contain_text("Completed with errors", timeout=PATIENCE_MS)
    expect(page.locator("#rows-title + div")).to_contain_text("not_an_image", timeout=PATIENCE_MS)
    assert page.locator(".figures").inner_text() != first
    assert violations(page) == []
    page.get_by_role("link", name="Report").click()
    expect(page.locator("#counted")).to_have_text("6 rows", timeout=PATIENCE_MS)
    expect(page.locator(".card img").first).to_be_visible()
    page.locator(".card").first.click()
    expect(page.locator("#viewer")).to_be_visible()


def test_a_job_is_cancelled_after_a_second_thought(url, look, submit, work):
    from playwright.sync_api import expect

    page = look(f"{url}/jobs/{submit()}")
    state = page.locator(".headline .state")
    expect(state).to_contain_text("Running", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name="Keep it running").click()
    expect(page.locator("dialog#cancel")).not_to_be_visible()
    page.locator("#open-cancel").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cancel the job").click()
    expect(state).to_contain_text(re.compile("Cancel"), timeout=PATIENCE_MS)
    work.set()
    expect(state).to_contain_text("Cancelled", timeout=PATIENCE_MS)


def test_a_page_touches_only_what_is_new_and_speaks_only_of_a_state(
    url, look, submit, store: Store, bucket
):
    from playwright.sync_api import expect

    job = submit()
    page = look(f"{url}/jobs/{job}")
    page.evaluate(WATCH)
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.about dd'))")
    marked = page.evaluate("String(getSelection())")
    assert marked

    def change(**changes: Any) -> None:
        RecordFile(store, JobPaths.of(bucket, job)).change(
            lambda old: old.model_copy(update=changes)
        )

    change(counts=Counts(total=6, done=3))
    expect(page.locator(".figures")).to_contain_text("3 of 6", timeout=PATIENCE_MS)
    assert page.evaluate("window.told") == []
    change(state=State.RUNNING, owner="other", entered={"running": time.time()})
    expect(page.locator(".headline .state")).to_contain_text("Running", timeout=PATIENCE_MS)
    assert page.evaluate("window.told") == ["Running"]
    assert page.evaluate("String(getSelection())") == marked


WATCH = """() => {
  window.told = [];
  const note = () => window.told.push(document.getElementById('told').textContent);
  new MutationObserver(note).observe(document.getElementById('told'), {childList: true});
}"""
HIDE = """(hidden) => {
  Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden});
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def test_a_hidden_page_asks_for_nothing_and_catches_up_when_it_is_seen(url, look):
    from playwright.sync_api import expect

    page, asked = look(f"{url}/"), []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_response("**/live/jobs*"):
        pass
    page.evaluate(HIDE, True)
    page.wait_for_timeout(100)  # what was under way
    asked.clear()
    page.wait_for_timeout(2500)
    assert asked == []
    with page.expect_response("**/live/jobs*", timeout=1500) as found:
        page.evaluate(HIDE, False)
    assert found.value.status in (200, 304)
    expect(page.locator("#lost")).to_have_text("")


def test_a_session_that_is_over_is_told_and_leads_back(
    url, chromium, store: Store, bucket, app, submit
):
    from playwright.sync_api import expect

    job = submit()
    _, token = create_key(store, bucket, "mine", ["read"], time.time())
    app.state.context.keys._read_at = None
    page = chromium.new_page()  # not by `look`, to which the refused request is an error
    page.goto(f"{url}/jobs/{job}")
    page.get_by_label("Key").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=job).wait_for()
    del app.state.sessions  # as a restart does
    expect(page.get_by_text("Your session is over")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_label("Key").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=job).wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nobody_is_kept_out(
    url, look, submit, store: Store, bucket, app, violations, scheme, width, schedule
):
    job = submit()
    schedule("night")
    _, token = create_key(store, bucket, "mine", ["read", "submit"], time.time())
    app.state.context.keys._read_at = None
    page = look(f"{url}/jobs/{job}", color_scheme=scheme, viewport={"width": width, "height": 800})
    assert violations(page) == []
    page.get_by_label("Key").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=job).wait_for()
    for path in (f"/jobs/{job}", "/", "/clusters", "/schedules", "/schedules/night", "/costs"):
        page.goto(url + path)
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{url}/jobs/{job}")
    page.get_by_role("button", name="Cancel…").click()
    assert violations(page) == []
    page.goto(f"{url}/schedules/night")
    page.get_by_role("button", name="Pause…").click()
    assert violations(page) == []
    page.get_by_role("button", name="Pause it").click()
    page.get_by_role("button", name="Resume…").wait_for()
