"""The manifest's `inputs`: which pictures, and which of them stand in one prompt."""

import re
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from jobs.addresses import Address
from jobs.manifest.forms import Filled, Index, Key, Prefix
from jobs.manifest.parts import Part

PICTURES_PER_GROUP = 8


def _kind_of_group(value: object) -> str | None:
    if isinstance(value, dict | GroupBy):
        return "<own>"
    return "<folder>" if value == "folder" else None


class GroupBy(Part):
    """Pictures of one group, by what their keys or their lines in the index have in common."""

    pattern: Filled | None = Field(
        default=None,
        description="A regular expression with one group in parentheses, searched in each key; "
        "equal text in the parentheses is one group.",
    )
    field: Filled | None = Field(default=None, description="A field of the index.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.pattern is None) == (self.field is None):
            raise ValueError("found pattern and field, or neither; allowed: exactly one")
        if self.pattern is not None:
            _check_pattern(self.pattern)
        return self


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(
            f"pattern {pattern!r} is no regular expression: {error}; allowed: one with one group "
            "in parentheses"
        ) from error
    if groups != 1:
        raise ValueError(f"pattern {pattern!r} has {groups} groups; allowed: one in parentheses")


AnyGroup = Annotated[
    Annotated[Literal["folder"], Tag("<folder>")] | Annotated[GroupBy, Tag("<own>")],
    Discriminator(
        _kind_of_group,
        custom_error_type="group",
        custom_error_message="Input should be 'folder', or an object with pattern or field",
    ),
]


class Inputs(Part):
    """Which pictures, in one of three ways."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in {"prefix": "string", "keys": "array", "index": "string"}.items()
            ]
        }
    )

    prefix: Prefix | None = Field(default=None, description="Every object under this address.")
    keys: tuple[Key, ...] | None = Field(
        default=None, min_length=1, description="Just these objects."
    )
    index: Index | None = Field(
        default=None, description="A JSON Lines object that names the inputs."
    )
    group_by: AnyGroup | None = Field(
        default=None, description="Ask about several pictures in one prompt: one row a group."
    )
    max_pictures: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="Pictures in one prompt; a larger group is an error row. Default: 8 with "
        "group_by, else 1. Set it for an index whose lines have lists of keys.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in ("prefix", "keys", "index") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"found {found}; allowed: exactly one of prefix, keys, index")
        if self.index is None and isinstance(self.group_by, GroupBy) and self.group_by.field:
            raise ValueError("group_by.field is a field of an index; allowed: with inputs.index")
        return self

    @property
    def most_pictures(self) -> int:
        """Of one group; of one line of an index without `group_by`."""
        return self.max_pictures or (1 if self.group_by is None else PICTURES_PER_GROUP)

    @property
    def bucket(self) -> str:
        """The bucket of the inputs; of the first one, when they are keys."""
        return Address.parse(self.prefix or self.index or (self.keys or ("",))[0]).bucket
