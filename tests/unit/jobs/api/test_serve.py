"""`zeroshift serve` answers soon, holds large uploads in little memory, and ends when told to."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.addresses import Address
from jobs.api.access.keys import create_key
from jobs.api.serving import Server
from jobs.cli import serve as command
from jobs.errors import UserError
from jobs.hosts import is_this_machine

MIB = 1024 * 1024
ROOT = Path(__file__).parents[4]


@pytest.fixture
def server(moto):
    """A store in another thread, reached by HTTP: what it holds is not the server's memory."""
    return moto


@pytest.fixture
def served(store, bucket, tmp_path):
    """The command in a process of its own, without working; its process and port."""
    environ = {name: value for name, value in os.environ.items() if "ZEROSHIFT" not in name}
    environ |= {"ZEROSHIFT_BUCKET": bucket, "ZEROSHIFT_ENDPOINT_URL": store.options.endpoint_url}
    arguments = [sys.executable, "-m", "jobs.cli", "serve", "--no-work", "--port", "0"]
    process = subprocess.Popen(
        arguments,
        env={**environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        first = process.stderr.readline()
        found = re.fullmatch(rf"serving bucket {bucket} at http://127.0.0.1:(\d+) .*\n", first)
        assert found, first + process.stderr.read()
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(ValueError):  # taken away by a test
            process.stderr.close()


def peak_mib(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def form_of(size):
    """A form with a file of `size` bytes, piece by piece."""
    yield b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.jsonl"\r\n\r\n'
    for _ in range(size // MIB):
        yield b"x" * (MIB - 1) + b"\n"
    yield b"\r\n--b--\r\n"


def test_the_command_streams_an_upload_and_ends_cleanly(served, store, bucket):
    process, port = served
    assert "only this machine" in process.stderr.readline()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", "/readyz")
        assert connection.getresponse().read() == b'{"status":"ok"}'
        before = peak_mib(process)
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        connection.request("POST", "/v1/files", form_of(64 * MIB), headers, encode_chunked=True)
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 200, said
    [content] = [
        each
        for each in store.list(Address(bucket, "zeroshift/files/"))
        if each.address.name == "content"
    ]
    assert content.size == 64 * MIB
    assert peak_mib(process) - before < 48  # MiB; the file alone has 64
    process.send_signal(signal.SIGTERM)
    said = process.stderr.read()
    assert process.wait(60) == 0
    lines = [json.loads(each) for each in said.splitlines() if each.startswith("{")]
    assert [(each["what"], each["status"]) for each in lines] == [("POST /v1/files", 200)]


def test_ctrl_c_is_one_line_and_no_failure(served):
    process, _ = served
    assert "no keys" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.stderr.read() == "ending\n"
    assert process.wait(60) == 0


def test_a_request_in_hand_is_answered_before_it_ends(served):
    process, port = served
    lines = (
        "POST /v1/jobs HTTP/1.1",
        "Host: localhost",
        "Content-Length: 2",
        "Expect: 100-continue",
    )
    head = "\r\n".join((*lines, "", "")).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as caller:
        caller.sendall(head)
        assert caller.recv(100).startswith(b"HTTP/1.1 100")  # so its body is waited for
        process.send_signal(signal.SIGINT)
        for line in process.stderr:
            if line == "ending\n":
                break
        caller.sendall(b"{}")
        assert caller.recv(100).startswith(b"HTTP/1.1 400")
    assert process.wait(60) == 0


def test_nobody_reading_its_log_does_not_end_a_server(served):
    process, port = served
    process.stderr.readline()
    reader = process.stderr.detach()
    reader.close()
    for _ in range(2):  # the first one's line of the audit log breaks
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as one:
            one.request("POST", "/v1/jobs", b"{}")
            assert one.getresponse().status == 400
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0


def test_it_answers_before_anything_slow_is_imported():
    """Told by what is imported: a time would tell of the machine."""
    code = (
        "import sys, urllib.request\n"
        "from jobs.cli.serve import Server\n"
        "with Server('127.0.0.1', 0) as server:\n"
        "    said = urllib.request.urlopen(server.url + '/healthz', timeout=60).read()\n"
        '    assert said == b\'{"status": "ok"}\', said\n'
        "    slow = {'boto3', 'fastapi', 'pydantic', 'ray', 'torch', 'vllm', 'typer', 'httpx'}\n"
        "    assert not slow & set(sys.modules), slow & set(sys.modules)\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environ, timeout=120)


def test_the_whole_app_is_made_without_what_only_jobs_need():
    """Tables, pictures, prices and schemas come with the first job: the bar is 1.5 s to ready."""
    code = (
        "import sys\n"
        "import jobs.api.app, jobs.cli.store, jobs.console, jobs.metrics\n"
        "slow = {'pyarrow', 'numpy', 'PIL', 'jsonschema', 'jinja2', 'infra.planner.ask', 'ray'}\n"
        "assert not slow & set(sys.modules), slow & set(sys.modules)\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environ, timeout=120)


def test_other_hosts_are_refused_without_keys(here, capsys):
    with pytest.raises(SystemExit) as ended:
        command.serve(["--host", "0.0.0.0", "--port", "0"])
    assert ended.value.code == 2
    assert "zeroshift keys create" in capsys.readouterr().err


def test_other_hosts_are_served_with_a_key(here, store, bucket, monkeypatch, capsys):
    create_key(store, bucket, "n", ["read"], 1.0)
    seen = []

    def work(server, *rest):
        seen.append(server.host)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_work", work)
    monkeypatch.setattr(command, "audit_to_stderr", lambda: None)
    command.serve(["--host", "0.0.0.0", "--port", "0"])
    assert seen == ["0.0.0.0"]
    assert "no keys" not in capsys.readouterr().err


def test_a_port_that_is_taken_is_one_line(here, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(SystemExit) as ended:
        command.serve(["--port", str(other.getsockname()[1])])
    assert ended.value.code == 2
    assert "the port is taken" in capsys.readouterr().err


def test_a_port_that_is_no_number_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        command.serve(["--port", "x"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--port: found 'x'; allowed: 0 to 65535" in said
    assert said.count("\n") == 1


def test_help_is_short_and_needs_no_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        command.serve(["--help"])
    assert ended.value.code == 0
    assert "--no-work" in capsys.readouterr().out


def test_without_settings_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "end_like_ctrl_c", lambda: None)
    with pytest.raises(SystemExit) as ended:
        command.serve(["--port", "0"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "bucket: missing" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_port_that_is_none_is_one_line(port):
    with pytest.raises(UserError, match="--port"):
        Server("127.0.0.1", port)


def test_wrong_settings_are_one_line_and_the_server_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ZEROSHIFT_BUCKIT", "x")
    monkeypatch.chdir(tmp_path)
    handler = signal.getsignal(signal.SIGTERM)
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, handler)
        ended = stack.enter_context(pytest.raises(SystemExit))
        command.serve(["--port", "0"])
    assert ended.value.code == 2
    assert "ZEROSHIFT_BUCKIT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
    ],
)
def test_loopback_is_told_from_the_rest(host, local):
    assert is_this_machine(host) is local
