"""Ids of files, batches and keys: in the order of time, and no path when they come from outside."""

import re
import secrets

from jobs.errors import NotFound

_FORM = re.compile(r"[a-z]{2,6}[-_][0-9a-f]{12,40}", re.ASCII)
_JOB = re.compile(r"[a-z0-9][a-z0-9-]{0,62}-[0-9a-f]{12}", re.ASCII)


def new_id(head: str, now: float) -> str:
    """`head` and 28 hexadecimal digits: a later one sorts behind an earlier one."""
    return f"{head}{int(now * 1000):012x}{secrets.token_hex(8)}"


def checked_id(text: str, head: str) -> str:
    """`text` when it has the form of an id; `NotFound` else, before it becomes a key."""
    if not text.startswith(head) or not _FORM.fullmatch(text):
        raise NotFound(f"no {head.rstrip('-_')} {text[:80]!r}")
    return text


def checked_job(text: str) -> str:
    """`text` when it has the form of a job's id; `NotFound` else."""
    if not is_job_id(text):
        raise NotFound(f"no job {text[:80]!r}")
    return text


def is_job_id(text: str) -> bool:
    return _JOB.fullmatch(text) is not None
