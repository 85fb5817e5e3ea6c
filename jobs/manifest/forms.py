"""Forms of text and money in requests and settings: names, addresses, labels, USD."""

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer
from pydantic_core import PydanticCustomError


def form(pattern: str, meaning: str) -> Any:
    """Text of a form that an error message names in words rather than as a regular expression."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.DOTALL):
            raise PydanticCustomError("form", "Input should be {meaning}", {"meaning": meaning})
        return text

    return AfterValidator(check), Field(json_schema_extra={"pattern": f"^{pattern}$"})


def _plain(amount: Decimal) -> str:
    return format(amount.normalize(), "f")  # 5, 5.0 and "5.00" are one amount and so one job


_WORDS = "lower-case letters, digits and inner hyphens, 1 to 63 characters"
Name = Annotated[str, *form(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", _WORDS)]
Prefix = Annotated[str, *form(r"s3://[^/\s]+/(.*/)?", "s3://BUCKET/PREFIX/ with the last slash")]
Key = Annotated[str, *form(r"s3://[^/\s]+/.*[^/]", "s3://BUCKET/KEY")]
Index = Annotated[str, *form(r"s3://[^/\s]+/.+\.jsonl", "s3://BUCKET/NAME.jsonl")]
Revision = Annotated[str, *form(r"[0-9a-f]{40}", "a commit of 40 hexadecimal digits")]
ImportPath = Annotated[
    str, *form(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "module:Model, a pydantic model to import")
]
Usd = Annotated[
    Decimal, Field(gt=0, le=10**9, decimal_places=6), PlainSerializer(_plain, return_type=str)
]
Filled = Annotated[str, Field(min_length=1)]
Url = Annotated[str, *form(r"https?://\S+", "an address that begins with http:// or https://")]
Variable = Annotated[
    str, *form(r"[A-Za-z_][A-Za-z0-9_]*", "the name of a variable: letters, digits and _")
]
Within = Annotated[
    str, *form(r"[^/\n][^\n]*/", "a prefix in the bucket such as inbox/, with the last slash")
]
# As many and as long as AWS takes as tags: whatever reads a bill takes these.
Labels = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=128)], Annotated[str, Field(max_length=256)]
    ],
    Field(max_length=50),
]
