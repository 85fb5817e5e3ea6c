"""What can go wrong with one picture, as a tree; each becomes that picture's row.

WorkerError              code, stage, message, retryable
├── FetchError           the object can't be read
├── PictureError         the bytes are no picture that we can use
└── CheckError           the answer is not what was asked for; keeps the raw text

ShardFailed              apart from it: the machinery failed, not a picture
"""

MESSAGE_LIMIT = 500  # characters of a complaint: a validator quotes what it complains of
RAW_LIMIT = 2000  # characters of a wrong answer that are kept


class WorkerError(Exception):
    """One picture's error."""

    def __init__(self, code: str, stage: str, message: str, retryable: bool = False) -> None:
        super().__init__(message)
        self.code, self.stage, self.retryable = code, stage, retryable


class FetchError(WorkerError):
    """The object can't be read."""


class PictureError(WorkerError):
    """The bytes are no picture that we can use."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, "decode", message)


class CheckError(WorkerError):
    """The answer is not what was asked for."""

    def __init__(self, code: str, message: str, raw: str = "") -> None:
        brief = message if len(message) <= MESSAGE_LIMIT else f"{message[:MESSAGE_LIMIT]}…"
        shown = f"{brief}; answer: {raw[:RAW_LIMIT]!r}" if raw else brief
        super().__init__(code, "check", shown)


class ShardFailed(Exception):
    """A shard can't be worked, whatever is tried."""
