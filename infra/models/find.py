"""The model of a name: in the catalogue, bundled, in a folder, in a bucket or on the hub."""

import difflib
import os
import re
from collections.abc import Callable
from pathlib import Path

from infra.catalogue.models import catalogued_models
from infra.errors import PlanRefused
from infra.models.folder import BUNDLED, bundled_folder
from infra.models.sources import CONFIG, FolderReader, Reader
from infra.models.spec import ModelSpec

ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SUGGESTIONS, LIKENESS = 3, 0.6

ReaderFor = Callable[[str], Reader | None]


def find_spec(
    name: str, reader_for: ReaderFor | None = None, hub: bool = False, revision: str = "main"
) -> ModelSpec:
    """The model called `name`; capitals do not matter for those of the catalogue.

    `reader_for` reads the places that only the caller knows, such as `s3://BUCKET/PREFIX/`. The hub
    is asked for a name of its form when `hub` allows it. `PlanRefused` names the nearest models.
    """
    known = {each.casefold(): spec for each, spec in catalogued_models().items()}
    if (spec := known.get(name.casefold())) is not None:
        return spec
    if name in BUNDLED:
        return _read(name, FolderReader(bundled_folder(name)))
    if "://" in name:
        return _elsewhere(name, reader_for)
    if name and os.path.isdir(folder := os.path.expanduser(name)):
        return _read(name, FolderReader(Path(folder)))
    if hub and not _is_offline() and ON_HUB.fullmatch(name):
        return _on_hub(name, revision)
    raise _unknown(name)


def _read(name: str, reader: Reader) -> ModelSpec:
    from infra.models.config_json import read_spec  # not needed for a model of the catalogue

    return read_spec(name, reader)


def _elsewhere(name: str, reader_for: ReaderFor | None) -> ModelSpec:
    reader = reader_for(name) if reader_for else None
    if reader is None:
        raise PlanRefused(
            f"model: {name!r} can't be read from here; allowed: a model of the catalogue, a folder "
            "with its files, s3://BUCKET/PREFIX/"
        )
    return _read(name, reader)


def _is_offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").strip().casefold() in ("1", "true", "yes", "on")


def _on_hub(name: str, revision: str) -> ModelSpec:
    from infra.models.hub import HubReader  # slow to import, and most plans need no network

    reader = HubReader(name, revision)
    try:
        there = reader.read(CONFIG) is not None
    except PlanRefused as refused:
        raise PlanRefused(f"{refused}{_hint(name)}") from refused
    if not there:
        raise _unknown(name)
    return _read(name, reader)


def _unknown(name: str) -> PlanRefused:
    return PlanRefused(
        f"model: no model {name!r}{_hint(name)} (allowed: a model of the catalogue, "
        f"{', '.join(BUNDLED)}, a folder with a {CONFIG}, s3://BUCKET/PREFIX/)"
    )


def _hint(name: str) -> str:
    near = nearest_models(name)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def nearest_models(name: str) -> list[str]:
    """Names of the catalogue that are most like `name`, with or without its owner."""
    names = [*catalogued_models(), *BUNDLED]
    wanted = name.casefold()
    forms = {form.casefold(): each for each in names for form in (each, each.split("/")[-1])}
    found = difflib.get_close_matches(wanted, forms, 2 * SUGGESTIONS, LIKENESS)
    return list(dict.fromkeys(forms[form] for form in found))[:SUGGESTIONS]
