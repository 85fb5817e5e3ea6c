"""What can go wrong with one picture, as a tree; each becomes that picture's row.

WorkerError              code, stage, message, retryable
├── FetchError           the object can't be read
├── PictureError         the bytes are no picture that we can use
├── AskError             the question can't be put to the model
└── CheckError           the answer is not what was asked for; keeps the raw text

ShardFailed              apart from it: the machinery failed, not a picture
└── StartFailed          before anything was asked

HandedBack               no failure: what this runs on is taken away, and others do the rest
└── NodeLeaving          a shard's node went before the shard was done
"""

from typing import Any

MESSAGE_LIMIT = 500  # characters of a complaint: a validator quotes what it complains of
RAW_LIMIT = 2000  # characters of a wrong answer that are kept


class WorkerError(Exception):
    """One picture's error."""

    def __init__(
        self,
        code: str,
        stage: str,
        message: str,
        retryable: bool = False,
        detail: dict[str, Any] | None = None,
        raw: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.stage, self.retryable = code, stage, retryable
        self.detail, self.raw = detail or {}, raw


class FetchError(WorkerError):
    """The object can't be read."""


class PictureError(WorkerError):
    """The bytes are no picture that we can use."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, "decode", message)


class AskError(WorkerError):
    """The question can't be put to the model."""

    def __init__(self, code: str, message: str, **detail: Any) -> None:
        super().__init__(code, "ask", message, detail=detail)


class CheckError(WorkerError):
    """The answer is not what was asked for; `raw` is what was written, cut when it is long."""

    def __init__(self, code: str, message: str, raw: str = "", **detail: Any) -> None:
        brief = message if len(message) <= MESSAGE_LIMIT else f"{message[:MESSAGE_LIMIT]}…"
        kept = raw if len(raw) <= RAW_LIMIT else f"{raw[:RAW_LIMIT]}…"
        super().__init__(code, "check", brief, detail=detail, raw=kept or None)


class ShardFailed(Exception):
    """A shard can't be worked, whatever is tried."""


class StartFailed(ShardFailed):
    """No engine could be started, so nothing was asked."""


class HandedBack(Exception):
    """What this runs on is taken away; nothing failed, and what is left is for others."""


class NodeLeaving(HandedBack):
    """The node is taken away before the shard was done."""
