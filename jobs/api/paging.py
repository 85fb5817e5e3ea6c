"""Pages of lists: `after` is the last id of the page before, `limit` how many there are on one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import Query

from jobs.api.problem import ApiError

T = TypeVar("T")
After = Annotated[
    str | None, Query(max_length=100, description="The last id of the page before this one.")
]
Limit = Annotated[int, Query(ge=1, le=100, description="How many there are on a page.")]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    data: list[T]
    ids: list[str]
    has_more: bool

    @property
    def first_id(self) -> str | None:
        return self.ids[0] if self.ids else None

    @property
    def last_id(self) -> str | None:
        return self.ids[-1] if self.ids else None


def page_of(
    ids: Sequence[str], after: str | None, limit: int, look: Callable[[str], T | None]
) -> Page[T]:
    """The page behind `after`; `look` answers what an id stands for, None for what to pass over."""
    data: list[T] = []
    kept: list[str] = []
    for each in _behind(ids, after):
        found = look(each)
        if found is None:
            continue
        if len(data) == limit:
            return Page(data, kept, has_more=True)
        data.append(found)
        kept.append(each)
    return Page(data, kept, has_more=False)


def _behind(ids: Sequence[str], after: str | None) -> Iterable[str]:
    if after is None:
        return ids
    try:
        return ids[ids.index(after) + 1 :]
    except ValueError as error:
        raise ApiError(400, f"after: nothing here has the id {after!r}.", "after") from error
