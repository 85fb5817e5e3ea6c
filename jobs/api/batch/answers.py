"""Rows as lines of a batch's output and error files, in OpenAI's form."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from jobs.api.body_checks import BodyError
from jobs.rows import Row, RowError

BAD_REQUEST, SERVER_ERROR = 400, 500
OUR_FAULT = ("check", "work")  # stages of rows that the request is not to blame for


@dataclass(frozen=True, slots=True)
class Answers:
    """Writes the lines of one batch; `created` is in seconds since the epoch."""

    batch_id: str
    created: int

    def answered(self, custom_id: str, model: str, row: Row, is_text: bool) -> bytes:
        """The line of an answer."""
        content = row.output if is_text else json.dumps(row.output, ensure_ascii=False)
        message = {"role": "assistant", "content": content, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        body = {
            "id": self._id("chatcmpl-", custom_id),
            "object": "chat.completion",
            "created": self.created,
            "model": model,
            "choices": [choice],
            "usage": _usage(row),
            "system_fingerprint": None,
        }
        return self._line(custom_id, 200, body)

    def failed(self, custom_id: str, error: RowError) -> bytes:
        """The line of a row's error: the request's own fault, or the server's."""
        ours = error.stage in OUR_FAULT or error.retryable
        status = SERVER_ERROR if ours else BAD_REQUEST
        return self._error(custom_id, status, error.code, f"{error.stage}: {error.message}", None)

    def refused(self, custom_id: str, error: BodyError) -> bytes:
        """The line of a request that could not be asked."""
        return self._error(custom_id, error.status, error.code, str(error), error.param)

    def unanswered(self, custom_id: str, code: str, message: str) -> bytes:
        """The line of a request that nobody came to."""
        return _dumped(
            {
                "id": self._id("batch_req_", custom_id),
                "custom_id": custom_id,
                "response": None,
                "error": {"code": code, "message": message},
            }
        )

    def _error(
        self, custom_id: str, status: int, code: str, message: str, param: str | None
    ) -> bytes:
        kind = "invalid_request_error" if status < SERVER_ERROR else "server_error"
        error = {"message": message, "type": kind, "param": param, "code": code}
        return self._line(custom_id, status, {"error": error})

    def _line(self, custom_id: str, status: int, body: dict[str, Any]) -> bytes:
        name = self._id("batch_req_", custom_id)
        response = {"status_code": status, "request_id": name, "body": body}
        return _dumped({"id": name, "custom_id": custom_id, "response": response, "error": None})

    def _id(self, head: str, custom_id: str) -> str:
        """The same for the same request, however often the file is written."""
        digest = hashlib.sha256(f"{self.batch_id}/{custom_id}".encode()).hexdigest()
        return f"{head}{digest[:24]}"


def _usage(row: Row) -> dict[str, int]:
    if row.usage is None:
        return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    asked, said = row.usage.prompt_tokens, row.usage.output_tokens
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _dumped(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode()  # in ASCII: a line for every reader
