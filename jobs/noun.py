"""The base of what lies in the bucket as JSON: a noun that never changes, with no field unknown."""

from pydantic import BaseModel, ConfigDict


class Noun(BaseModel):
    # Built when first used: a process reads few of the kinds that it imports.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
