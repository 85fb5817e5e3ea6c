"""Several pictures in one prompt: pinned inputs become groups, one row each. Part of pinning.

A group keeps its pictures in the order in which they were pinned, and groups stand where their
first picture stood.
"""

from collections.abc import Callable, Iterable, Iterator

from jobs.addresses import Address
from jobs.errors import ManifestError
from jobs.manifest.inputs import GroupBy, Inputs
from jobs.order import Fault, PinnedInput, PinnedObject
from jobs.patterns import TooSlow, search

NameOf = Callable[[PinnedInput], str | None]


def grouped(pinned: Iterable[PinnedInput], inputs: Inputs) -> Iterator[PinnedInput]:
    """`pinned` with the pictures of each group in one input; without `group_by` as it is, a stream.

    An input without a group, a group too large, or one with a picture that has a fault, carries its
    fault: a row says so.
    """
    if inputs.group_by is None:
        return (_within(each, inputs.most_pictures) for each in pinned)
    name_of = _naming(inputs.group_by)
    groups: dict[str, list[PinnedInput]] = {}
    for number, each in enumerate(pinned):
        name = name_of(each)
        # No group's name has a line end in front.
        groups.setdefault(f"\n{number}" if name is None else name, []).append(each)
    return (_one(name, found, inputs) for name, found in groups.items())


def _naming(group_by: str | GroupBy) -> NameOf:
    if not isinstance(group_by, GroupBy):
        return lambda pinned: Address.parse(pinned.address).key.rpartition("/")[0]
    if group_by.field is not None:
        field = group_by.field
        return lambda pinned: _text(pinned.fields.get(field))
    pattern = group_by.pattern or ""
    return lambda pinned: _matched(pattern, Address.parse(pinned.address).key)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _matched(pattern: str, key: str) -> str | None:
    try:
        found = search(pattern, key)
    except TooSlow as error:
        raise ManifestError(f"inputs.group_by: {error}") from error
    return None if found is None else found.group(1)


def _one(name: str, found: list[PinnedInput], inputs: Inputs) -> PinnedInput:
    first = found[0]
    if name.startswith("\n"):
        by = inputs.group_by
        what = by.model_dump(exclude_none=True) if isinstance(by, GroupBy) else by
        fault = Fault(code="group_unknown", message=f"no group by {what} in {first.address}")
        return first.model_copy(update={"fault": fault})
    pictures = [each for one in found for each in one.objects]
    others = tuple(PinnedObject(**each.model_dump(include=_OBJECT)) for each in pictures[1:])
    fields: dict[str, object] = {}
    for one in reversed(found):  # where they differ, the first picture's count
        fields |= one.fields
    wrong = next((one.fault for one in found if one.fault), None)
    made = {"group": name, "others": others, "fields": fields, "fault": wrong}
    whole = first.model_copy(update=made)
    return _within(whole, inputs.most_pictures)


def _within(pinned: PinnedInput, most: int) -> PinnedInput:
    count = len(pinned.objects)
    if count <= most:
        return pinned
    message = f"{count} pictures in one prompt; allowed: up to {most} (inputs.max_pictures)"
    return pinned.model_copy(update={"fault": Fault(code="group_too_large", message=message)})


_OBJECT = set(PinnedObject.model_fields)
