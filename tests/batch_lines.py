"""Lines of batches, for the API's tests."""

import json
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["ok", "defective"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}}


def line(custom_id: str, body: object, **changes: Any) -> str:
    """A line of a batch's input file."""
    request = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions"}
    return json.dumps({**request, "body": body, **changes})
