"""What a dry run passes a submission passes, and they refuse in the same words."""

import json
import re
from collections.abc import Callable
from decimal import Decimal

import pytest

from jobs.addresses import Address
from jobs.cli import submit as command
from jobs.errors import ManifestError
from jobs.settings.api import Webhook
from jobs.settings.budgets import Budget
from jobs.settings.doors import Rule
from jobs.submit.submission import resolved, submit

LLAMA = "meta-llama/Llama-3.2-11B-Vision-Instruct"
SMALL = "Qwen/Qwen2.5-VL-3B-Instruct"
OWN_CODE = "openbmb/MiniCPM-V-4_5"
GATES = {
    "webhook that nobody allows": ({"webhook": "https://evil.example/"}, "webhook: found"),
    "webhook that is no address": ({"webhook": "hooks"}, "webhook: found 'hooks'; allowed: http"),
    "webhook without TLS": ({"webhook": "http://hooks.example.com/a"}, "webhook: .*allowed: https"),
    "webhook where clouds keep keys": ({"webhook": "https://169.254.169.254/"}, "link-local"),
    "output where a rule looks": ({"output": "s3://BUCKET/inbox/x/"}, "of rule 'inbox/': results"),
    "results of another job": ({"output": "s3://BUCKET/taken/"}, "results of another job"),
    "an output that can't be": ({"output": "s3://no-such..b/out/"}, "output: "),
    "an empty prefix": ({"inputs": {"prefix": "s3://BUCKET/none/"}}, "inputs.prefix: nothing"),
    "no bucket": ({"inputs": {"prefix": "s3://no-such-b/in/"}}, "inputs.prefix: "),
    "no index": ({"inputs": {"index": "s3://BUCKET/x.jsonl"}}, "inputs.index: "),
    "an index of nothing": ({"inputs": {"index": "s3://BUCKET/empty.jsonl"}}, "no pictures in"),
    "an index that is none": ({"inputs": {"index": "s3://BUCKET/odd.jsonl"}}, "odd.jsonl line 1"),
    "a prompt with a field": ({"task": {"preset": "caption", "prompt": "{x}?"}}, "task.prompt"),
    "a schema that no engine takes": (
        {"task": {"prompt": "?", "schema": {"type": "string", "enum": []}}},
        "task",
    ),
    "a licence to be read": ({"model": SMALL}, ""),
    "a licence not for here": ({"model": LLAMA}, ""),
    "code of its own": ({"model": OWN_CODE}, ""),
    "no such model": ({"model": "no/such-model"}, ""),
    "no such offer": ({"hardware": {"offer": "moon"}}, "offer 'moon'"),
    "too many nodes": ({"hardware": {"replicas": 9}}, "allowed: 1 to 1"),
    "a kind of GPU here": ({"hardware": {"gpus": ["L4"]}}, "hardware.gpus: found with offer"),
    "residency": ({"residency": {"regions": ["eu"]}}, "residency.regions: "),
    "a month that is spent": ({"labels": {"line": "4"}}, "budgets: "),
}


@pytest.fixture
def settings(make_settings):
    rule = Rule(prefix="inbox/", model="m")
    spent = Budget(label="line=4", usd=Decimal("0.01"))
    hooks = Webhook(allowed=("https://hooks.example.com/",))
    return make_settings(rules=(rule,), budgets=(spent,), webhook=hooks)


@pytest.fixture
def dry_run(store, settings) -> Callable[..., None]:
    return lambda manifest: command._show_plan(store, settings, resolved(manifest), as_json=True)


@pytest.fixture(autouse=True)
def _world(store, bucket, put_pictures, monkeypatch):
    put_pictures(2)
    store.write(Address(bucket, "taken/_SUCCESS"), b'{"job_id": "other-0123456789ab"}')
    store.write(Address(bucket, "empty.jsonl"), b"\n")
    store.write(Address(bucket, "odd.jsonl"), b"[]\n")
    spent = "jobs.cost.budgets.Purse.used_up"
    monkeypatch.setattr(spent, property(lambda purse: purse.name.startswith("line=4")))


def said_by(act: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(ManifestError) as caught:
        act(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("changes", "words"), GATES.values(), ids=GATES)
def test_both_refuse_what_one_refuses(
    store, bucket, settings, make_manifest, dry_run, changes, words
):
    manifest = make_manifest(**json.loads(json.dumps(changes).replace("BUCKET", bucket)))
    by_submit = said_by(submit, store, settings, manifest)
    by_dry_run = said_by(dry_run, manifest)
    assert re.search(words or "^model: ", by_submit)
    # Why a model can't be run here is said by whoever is asked first: the planner, or a gate.
    assert (by_submit == by_dry_run) if words else by_dry_run.startswith("model: ")
    assert list(store.list(Address(bucket, "zeroshift/jobs/"))) == []


def test_both_take_what_is_right(store, settings, make_manifest, dry_run, capsys):
    manifest = make_manifest(webhook="https://hooks.example.com/a", labels={"line": "5"})
    dry_run(manifest)
    shown = json.loads(capsys.readouterr().out)
    submitted = submit(store, settings, manifest)
    assert [each["gate"] for each in shown["checked"]] == [
        each.gate for each in submitted.record.checked
    ]
    assert set(submitted.warnings) <= set(shown["warnings"])


def test_several_offers_that_can_not_be_raised_yet_can_be_planned(
    store, bucket, settings, make_manifest, dry_run, capsys
):
    hardware = {"offer": ["aws/p5.4xlarge", "runpod/h200"]}
    manifest = make_manifest(model="Qwen/Qwen2.5-VL-7B-Instruct", hardware=hardware)
    assert "can be planned (--dry-run)" in said_by(submit, store, settings, manifest)
    dry_run(manifest)
    assert "can't be raised yet" in "".join(json.loads(capsys.readouterr().out)["warnings"])
