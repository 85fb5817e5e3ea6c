"""What a bucket may not do to us: hear our secrets, reach our files, be run, send us elsewhere."""

import ast
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.addresses import Address, JobPaths
from jobs.control.controller import Controller
from jobs.errors import ManifestError, ZeroshiftError
from jobs.manifest.manifest import Manifest, parse_manifest
from jobs.record import Record
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import submit
from tests.chaos import canaries

ROOT = Path(__file__).parents[3]
NOT_DATA = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "_pickle", "dbm"}
# A decoder's pipe to its own child: nothing of it comes from a bucket but bytes of a picture.
OWN_PIPE = {"worker/pictures/decoder.py", "worker/pictures/child.py"}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def armed(monkeypatch: pytest.MonkeyPatch, store: Store) -> Store:
    """A store whose client was made with the canaries as its secrets."""
    for name, secret in canaries.SECRETS.items():
        monkeypatch.setenv(name, secret)
    return Store(store.options)


def test_a_failing_job_tells_its_secrets_to_no_object_log_or_argument(
    armed: Store,
    bucket: str,
    settings: Settings,
    make_manifest: Callable[..., Manifest],
    put_pictures: Callable[..., None],
    workshop: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG, "zeroshift")
    put_pictures(4, broken=2)
    submit(armed, settings, make_manifest(name="good"))
    submit(armed, settings, make_manifest(name="bad", output=f"s3://{bucket}/other/"))
    controller = Controller(armed, settings, engine="fake", make=workshop.make)
    controller.once()
    workshop.before = lambda paths, epoch: 1
    submit(armed, settings, make_manifest(name="dies", output=f"s3://{bucket}/third/"))
    controller.once()
    (tmp_path / "told.log").write_text(caplog.text + "".join(capfd.readouterr()))
    assert list(canaries.in_objects(armed, bucket, set())) == []
    assert list(canaries.in_files(tmp_path)) == []
    assert list(canaries.in_arguments()) == []


def test_a_store_that_refuses_us_is_told_of_without_our_secrets(
    armed: Store, bucket: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ZeroshiftError) as refused:
        armed.read(Address(f"{bucket}-none", "x"))
    told = f"{refused.value!r} {refused.value.__cause__!r} {armed.options} {caplog.text}"
    assert not any(secret in told for secret in canaries.SECRETS.values())


@pytest.mark.parametrize(
    "name",
    [
        "../../../../../../../../tmp/zeroshift-escaped.png",
        "/tmp/zeroshift-escaped.png",
        "..%2f..%2ftmp%2fzeroshift-escaped.png",
        "..\\..\\zeroshift-escaped.png",
        "~/zeroshift-escaped.png",
        "$(touch zeroshift-escaped).png",
        "x" * 1000 + ".png",
        "zeroshift-\u202e\u0085escaped.png",
    ],
)
def test_no_key_makes_anything_be_written_outside_of_the_work_folder(
    name: str,
    store: Store,
    bucket: str,
    submitted: Callable[..., Record],
    controller: Callable[..., Controller],
    load: Callable[[Record], Record],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    monkeypatch.chdir(outside)
    store.write(Address(bucket, f"in/{name}"), PNG)
    record = submitted()
    controller().once()
    assert load(record).state.ended
    written = list(Path("/tmp").glob("zeroshift-*escaped*"))
    assert [*written, *outside.iterdir(), *tmp_path.parent.glob("*escaped*")] == []
    [row] = _rows(store, load(record))
    assert row["key"] == f"s3://{bucket}/in/{name}"


def test_a_key_with_a_nul_is_a_row_or_a_refusal_and_no_file(
    store: Store,
    bucket: str,
    make_manifest: Callable[..., Manifest],
    settings: Settings,
    controller: Callable[..., Controller],
    load: Callable[[Record], Record],
) -> None:
    keys = {"keys": [f"s3://{bucket}/in/a\0b.png"]}
    record = submit(store, settings, make_manifest(inputs=keys)).record
    controller().once()
    ended = load(record)
    assert ended.state.ended
    assert [row["status"] for row in _rows(store, ended)] == ["error"]


@pytest.mark.parametrize(
    "key",
    [
        "http://example.com/a.png",
        "https://example.com/a.png",
        "file:///etc/passwd",
        "/etc/passwd",
        "../a.png",
        "ftp://example.com/a.png",
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.1:8080/a.png",
        "data:image/png;base64,AAAA",
        "S3://bucket/a.png",
    ],
)
def test_an_input_that_is_no_object_of_a_bucket_is_refused(
    key: str, store: Store, bucket: str, settings: Settings, model: str
) -> None:
    for inputs in ({"keys": [key]}, {"prefix": f"{key}/"}, {"index": f"{key}.jsonl"}):
        with pytest.raises(ManifestError, match="s3://BUCKET/"):
            parse_manifest(json.dumps({"inputs": inputs, "model": model}), "m.json")


def test_an_index_that_begins_with_an_url_is_refused_at_once(
    store: Store, bucket: str, submitted: Callable[..., Record]
) -> None:
    store.write(Address(bucket, "a.jsonl"), b'{"key": "http://169.254.169.254/latest/"}\n')
    with pytest.raises(ManifestError, match=r"line 1 is .*169.254.169.254.*allowed: "):
        submitted(inputs={"index": f"s3://{bucket}/a.jsonl"})


def test_a_line_of_an_index_that_names_an_url_is_refused(
    store: Store,
    bucket: str,
    submitted: Callable[..., Record],
    controller: Callable[..., Controller],
    load: Callable[[Record], Record],
) -> None:
    lines = f'{{"key": "s3://{bucket}/a.png"}}\n{{"key": "http://169.254.169.254/latest/"}}\n'
    store.write(Address(bucket, "a.jsonl"), lines.encode())
    record = submitted(inputs={"index": f"s3://{bucket}/a.jsonl"})
    controller().once()
    ended = load(record)
    assert ended.state.value == "failed"
    assert "169.254.169.254" in ended.reason
    assert list(store.list(JobPaths.of(bucket, record.job_id).rows)) == []


def test_what_comes_from_a_bucket_is_read_by_no_module_that_runs_what_it_reads() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in _sources()
        if (names := _imported(path) & NOT_DATA)
    }
    assert found == {each: {"pickle"} for each in OWN_PIPE}
    assert all("jobs.store.bucket" not in _imported(ROOT / each) for each in OWN_PIPE)


def test_nothing_is_evaluated_and_no_shell_is_asked() -> None:
    banned = {"eval", "exec", "compile", "__import__", "system", "popen", "unsafe_load"}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and (_runs(node, banned) or _asks_a_shell(node))
    ]
    assert found == []


def test_the_only_unpickling_reads_the_pipe_of_a_parent() -> None:
    for each in sorted(OWN_PIPE):
        loads = [
            ast.unparse(node)
            for node in ast.walk(ast.parse((ROOT / each).read_text()))
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("pickle.loads", "pickle.load")
        ]
        assert loads in ([], ["pickle.loads(connection.recv_bytes())"])


def _runs(call: ast.Call, banned: set[str]) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id in banned
    return isinstance(call.func, ast.Attribute) and call.func.attr in banned - {"compile"}


def _asks_a_shell(call: ast.Call) -> bool:
    return any(word.arg == "shell" for word in call.keywords)


def _sources() -> Iterator[Path]:
    return (path for room in ("jobs", "worker", "infra") for path in (ROOT / room).rglob("*.py"))


def _imported(path: Path) -> set[str]:
    """Modules that a file imports, each with its first name alone too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found | {name.split(".")[0] for name in found}


def _rows(store: Store, record: Record) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for part in store.list(Address.parse(record.output) / "part-")
        for line in store.read(part.address).splitlines()
    ]
