"""The import check of `worker.preflight`, before a node is launched: in a process of its own,
beside what else the driver has to start.

It takes some thirteen seconds of a CPU, so what has passed is remembered on this machine for as
long as the interpreter and its installed packages are the same.
"""

import hashlib
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from worker.errors import StartFailed

MEMORY = Path(tempfile.gettempdir()) / "zeroshift-preflight"
COMMAND = (sys.executable, "-m", "worker", "preflight")
LONGEST_S = 300.0
SAYS = "start_failed: "  # each line of `preflight` begins with it; libraries say more


@contextmanager
def import_check(engine: str) -> Iterator[Callable[[], None]]:
    """Begin to check; what is given waits for the end of it, and raises `StartFailed`.

    Only vLLM brings what may be broken, so nothing is checked for another engine.
    """
    passed = MEMORY / _fingerprint()
    if engine != "vllm" or passed.exists():
        yield lambda: None
        return
    with subprocess.Popen(
        COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield lambda: _wait(process, passed)
        finally:
            process.kill()


def _wait(process: subprocess.Popen[str], passed: Path) -> None:
    try:
        _, said = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        raise StartFailed(f"the import check took more than {LONGEST_S:g} s") from None
    if process.returncode != 0:
        problems = [line.removeprefix(SAYS) for line in said.splitlines() if line.startswith(SAYS)]
        died = f"the import check ended with status {process.returncode}"
        raise StartFailed("; ".join(problems) or died)
    with suppress(OSError):  # then it is checked again
        passed.parent.mkdir(exist_ok=True)
        passed.touch()


def _fingerprint() -> str:
    """Of the interpreter and the names of all installed packages, which hold their versions."""
    packages = Path(sysconfig.get_path("purelib")).glob("*.dist-info")
    names = [sys.executable, *sorted(each.name for each in packages)]
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:32]
