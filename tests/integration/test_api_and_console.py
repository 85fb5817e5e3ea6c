"""The doors, nothing faked behind them: OpenAI's own client and a browser at one `zeroshift serve`
that raises real Ray and vLLM with the bundled model. One cluster works all of it, and goes.

In this order, whatever order the tests are in: a job is watched in the console, a batch runs, then
the example of the docs with a key, and the cluster rests.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx
import jsonschema
import openai
import pytest

from demo.batch import shots
from infra.clusters.local.processes import FLEET_TAG, tagged
from jobs.cluster_record import known_fleet
from jobs.clusters.fleet import cluster_records
from tests.browser import has_chromium, looking
from tests.integration.asked_for_real import (
    INBOX,
    MODEL,
    TASK,
    Done,
    client_of,
    created,
    ended,
    example_of_docs,
    lines,
)
from tests.integration.serving_for_real import BUCKET, PATIENCE_S, Served, serving
from tests.integration.watched_for_real import Watched, watch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PICTURES = 20
ORDER = ["Queued", "Planning", "Provisioning", "Running", "Finalizing", "Completed with errors"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("serve")) as served:
        for shot in shots(PICTURES, 710_000):
            served.store.write(INBOX / shot.name, shot.body)
        served.store.write(INBOX / "notes.png", b"<?xml version='1.0'?><Error/>")
        yield served


# What is asked at once


@dataclass(frozen=True)
class Asked:
    """A job and a batch."""

    job: str
    batch: Any


@pytest.fixture(scope="module")
def asked(served: Served) -> Asked:
    wanted = {"name": "night", "inputs": {"prefix": str(INBOX)}, "model": MODEL}
    answer = httpx.post(f"{served.url}/v1/jobs", json=wanted, timeout=60)
    assert answer.status_code == 201, answer.text
    with client_of(served) as client:
        assert [each.id for each in client.models.list()] == [MODEL]
        batch = created(client, "\n".join(lines().values()))
        return Asked(answer.json()["job"]["job_id"], batch)


# A job in the console


@pytest.fixture(scope="module")
def watched(served: Served, chromium: Any, request: pytest.FixtureRequest) -> Watched:
    with looking(chromium) as look:
        return watch(served, look, lambda: request.getfixturevalue("asked").job, PICTURES + 1)


@pytest.mark.browser
def test_a_job_goes_through_its_states_before_ones_eyes(watched: Watched) -> None:
    states = watched.of("state")
    assert states == [each for each in ORDER if each in states]
    assert {"Provisioning", "Running", "Completed with errors"} <= set(states)
    assert "the engine is being started" in watched.of("reason")


@pytest.mark.browser
def test_progress_and_cost_tick_while_it_runs(watched: Watched) -> None:
    done = watched.of("done")
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, PICTURES + 1)
    assert len(done) > 2
    costs = [Decimal(each.split()[0]) for each in watched.of("cost") if "USD" in each]
    assert len(costs) > 10
    assert costs == sorted(costs)


@pytest.mark.browser
def test_its_report_shows_every_picture_with_its_boxes(watched: Watched) -> None:
    assert watched.cards == PICTURES + 1
    assert watched.drawn == watched.boxes > 0


@pytest.mark.browser
def test_nobody_is_kept_from_using_its_pages(watched: Watched) -> None:
    assert watched.violations == []


# A batch of OpenAI's client


@pytest.fixture(scope="module")
def done(served: Served, request: pytest.FixtureRequest) -> Done:
    if has_chromium():
        request.getfixturevalue("watched")  # its page is opened before anything is asked
    asked: Asked = request.getfixturevalue("asked")
    with client_of(served) as client:
        return ended(served, client, asked.batch)


def test_every_line_of_a_batch_is_answered_once_or_refused_once(done: Done) -> None:
    assert done.output.keys() | done.errors.keys() == lines().keys()
    assert not done.output.keys() & done.errors.keys()
    counts = {"total": 12, "completed": 8, "failed": 4}
    assert (done.batch.status, done.batch.request_counts.to_dict()) == ("completed", counts)


def test_answers_are_completions_that_fit_the_schema(done: Done) -> None:
    for name, each in done.output.items():
        said = openai.types.chat.ChatCompletion.model_validate(each["response"]["body"])
        assert each["response"]["status_code"] == 200
        assert (said.model, said.choices[0].finish_reason) == (MODEL, "stop")
        if name != "text":
            jsonschema.validate(json.loads(said.choices[0].message.content), TASK.schema)
    verdicts = {json.loads(content(done, n))["verdict"] for n in done.output if n != "text"}
    assert verdicts == {"ok", "defective"}  # it looked at the pictures


def content(done: Done, name: str) -> str:
    return str(done.output[name]["response"]["body"]["choices"][0]["message"]["content"])


def test_what_can_not_be_answered_says_why(done: Done) -> None:
    said = {
        name: (each["response"]["status_code"], each["response"]["body"]["error"]["code"])
        for name, each in done.errors.items()
    }
    assert said == {
        "broken": (400, "not_an_image"),
        "elsewhere": (400, "invalid_image_url"),
        "unknown": (404, "model_not_found"),
        "no-messages": (400, "missing_required_parameter"),
    }


def test_tokens_of_the_batch_are_those_of_its_lines(done: Done) -> None:
    usages = [each["response"]["body"]["usage"] for each in done.output.values()]
    assert all(each["prompt_tokens"] > 0 and each["completion_tokens"] > 0 for each in usages)
    assert done.batch.usage.total_tokens >= sum(each["total_tokens"] for each in usages)


def test_the_moments_of_a_batch_are_in_order(done: Done) -> None:
    batch = done.batch
    moments = [batch.created_at, batch.in_progress_at, batch.finalizing_at, batch.completed_at]
    assert moments == sorted(moments)
    assert (batch.failed_at, batch.cancelled_at, batch.expired_at) == (None, None, None)


def test_a_file_with_a_line_that_is_no_json_is_refused_as_a_whole(served: Served) -> None:
    with client_of(served) as client:
        found = ended(served, client, created(client, f"{lines()['text']}\n{{no json"))
    assert found.batch.status == "failed"
    [error] = found.batch.errors.data
    assert (error.code, error.line) == ("invalid_json_line", 2)
    assert (found.output, found.errors) == ({}, {})


# With a key: the example of the docs


@pytest.fixture(scope="module")
def example(served: Served, done: Done) -> Iterator["subprocess.Popen[str]"]:
    made = served.cli("keys", "create", "client")
    assert made.returncode == 0, made.stderr
    served.key = made.stdout.strip()
    with example_of_docs(served) as process:
        try:
            yield process
        finally:
            process.kill()  # where it has ended, this does nothing


@pytest.fixture(scope="module")
def explained(example: "subprocess.Popen[str]") -> list[str]:
    """What the example has said."""
    said, wrong = example.communicate(timeout=PATIENCE_S)
    assert example.returncode == 0, wrong
    return said.splitlines()


def test_the_example_of_the_docs_runs_as_it_stands_there(explained: list[str]) -> None:
    first, *verdicts = explained
    assert first == f"completed {len(verdicts)} of {len(verdicts)}"
    assert {each.split()[1] for each in verdicts} <= {"ok", "defective"}


# And nothing stays


@pytest.fixture(scope="module")
def rested(served: Served, explained: list[str]) -> list[Any]:
    """The clusters' records, when all are down, every bill is final and everybody was told."""
    head = {"Authorization": f"Bearer {served.key}"}

    def look() -> list[Any] | None:
        clusters = cluster_records(served.store, BUCKET)
        jobs = httpx.get(f"{served.url}/v1/jobs", headers=head, timeout=60).json()["data"]
        bills = [
            httpx.get(f"{served.url}/v1/jobs/{job['job_id']}/receipt", headers=head, timeout=60)
            for job in jobs
        ]
        are_final = all(bill.json()["bill"]["final"] for bill in bills)
        is_over = are_final and all(cluster.gone_at for cluster in clusters)
        return clusters if is_over and len(served.letters) >= len(jobs) else None

    return list(served.until(look, 0.5))


def test_all_of_it_took_one_cluster_and_no_process_is_left(served: Served, rested: Any) -> None:
    [cluster] = rested
    assert (cluster.state, cluster.checked) == ("down", "no process is left")
    fleet = known_fleet(served.store, BUCKET)
    assert fleet
    assert tagged(FLEET_TAG, fleet) == []


def test_every_bill_is_computed_again_from_the_ledger(served: Served, rested: Any) -> None:
    found = served.cli("cost", "verify")
    assert (found.returncode, found.stdout.strip()) == (0, "the ledger and every bill agree")


def test_whoever_is_to_be_told_of_an_end_was_told_with_a_signature(
    served: Served, rested: Any, done: Done
) -> None:
    told = {letter.headers["webhook-id"]: letter for letter in served.letters}
    assert all(letter.is_signed for letter in told.values())
    states = {each.event["data"]["job_id"]: each.event["data"]["state"] for each in told.values()}
    for job in done.batch.job_ids:
        assert states[job] in ("completed", "completed_with_errors")


def test_without_its_key_nobody_is_let_in_any_more(served: Served, rested: Any) -> None:
    with (
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="none is needed") as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.models.list()


@pytest.mark.browser
def test_the_bill_on_the_page_of_a_job_becomes_final(
    served: Served, watched: Watched, rested: Any, look: Any, violations: Any
) -> None:
    from playwright.sync_api import expect

    page = look(f"{served.url}/jobs/{watched.job}")
    page.get_by_label("Key").fill(served.key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Bill", exact=True)).to_be_visible()
    expect(page.get_by_text("Cost", exact=True)).to_be_visible()  # and not: so far
    head = {"Authorization": f"Bearer {served.key}"}
    receipt = httpx.get(f"{served.url}/v1/jobs/{watched.job}/receipt", headers=head, timeout=60)
    total = Decimal(receipt.json()["bill"]["total_usd"])
    assert Decimal(page.locator("tfoot td").last.inner_text()) == total
    for path in ("/", "/clusters", "/costs", f"/jobs/{watched.job}"):
        page.goto(served.url + path)
        assert violations(page) == []
