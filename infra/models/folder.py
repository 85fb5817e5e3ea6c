"""Models by name: a folder on disk, or one that comes with Zeroshift.

The catalogue of hub models, and reading models from `s3://` and from a hub, belong to the planner
that is to come; until then such a name is refused with one line.
"""

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec as find_package
from pathlib import Path
from typing import Any

from infra.errors import PlanRefused

# Families whose picture sizes and boxes the worker knows; a test holds the two lists together.
RUNNABLE = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe")
BUNDLED = {"zeroshift/parts-inspector": ("demo", "model")}


@dataclass(frozen=True, slots=True)
class Model:
    """A model whose files are here. `context` is the longest sequence it takes, in tokens."""

    name: str
    folder: Path
    architecture: str
    context: int


def find_model(name: str) -> Model:
    """The model of that name or folder; `PlanRefused` when there is none that can be run."""
    folder = _folder(name)
    config_path = folder / "config.json"
    if not os.path.isfile(config_path):  # unlike Path's, it takes what can't be a path
        raise PlanRefused(
            f"model: {name!r} is neither a folder with a config.json nor a bundled model "
            f"(allowed: a folder, {', '.join(BUNDLED)})"
        )
    if not any(folder.glob("*.safetensors")):
        raise PlanRefused(f"model: {name!r} has no safetensors; other formats are not loaded")
    config = _config(name, config_path)
    family = config.get("model_type", "unknown")
    if family not in RUNNABLE:
        raise PlanRefused(f"model: {name!r} is of type {family!r}; allowed: {', '.join(RUNNABLE)}")
    text = config.get("text_config") or config
    return Model(
        name=name,
        folder=folder.resolve(),
        architecture=(config.get("architectures") or ["unknown"])[0],
        context=int(text.get("max_position_embeddings", 4096)),
    )


def _config(name: str, path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise PlanRefused(f"model: {name!r} has an unreadable config.json: {error}") from error
    if not isinstance(config, dict):
        raise PlanRefused(f"model: {name!r} has a config.json that is no object")
    return config


def _folder(name: str) -> Path:
    return bundled_folder(name) if name in BUNDLED else Path(name).expanduser()


def bundled_folder(name: str) -> Path:
    """Where a model of `BUNDLED` lies."""
    package, folder = BUNDLED[name]
    found = find_package(package)
    assert found is not None, "the package of a bundled model comes with this one"
    assert found.submodule_search_locations, "and is a folder"
    return Path(found.submodule_search_locations[0]) / folder
