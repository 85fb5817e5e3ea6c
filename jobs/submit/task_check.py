"""The task of a manifest against the world: its schema compiles, and its prompt can be filled.

Part of submitting. A schema by import path is looked up here, in the user's own environment, and
travels as plain JSON from here on: nothing of the user's is ever imported by a worker.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from jobs.errors import ManifestError
from jobs.manifest.manifest import Manifest
from jobs.manifest.task import CustomTask
from jobs.schema.lint import Finding, lint
from jobs.schema.worst_case import LONGEST, default_max_tokens, worst_case
from jobs.tasks import resolve_task


def with_schema(manifest: Manifest) -> Manifest:
    """The manifest with a schema by import path looked up; `ManifestError` when it is not there."""
    task = manifest.task
    if not isinstance(task, CustomTask) or isinstance(task.json_schema, dict):
        return manifest
    plain = task.model_copy(update={"json_schema": _imported(task.json_schema)})
    return manifest.model_copy(update={"task": plain})


def check_task(manifest: Manifest) -> tuple[str, ...]:
    """Warnings about the task; `ManifestError` names the place when it can't be asked.

    Presets as they are have been tested and are not compiled again.
    """
    task = resolve_task(manifest.task)
    if task.fields and manifest.inputs.index is None:
        raise ManifestError(
            f"task.prompt: {{{task.fields[0]}}} is a field of an index, and inputs has none; "
            f"allowed: inputs.index, or {{{{{task.fields[0]}}}}} for the text in braces"
        )
    own = not isinstance(manifest.task, str)
    findings = lint(task.schema, compiler=own)
    refused = [each for each in findings if each.kind == "refused"]
    if refused:
        raise ManifestError(f"task.schema: {refused[0]}")
    warned = [f"task.schema: {each}" for each in findings] if own else []
    return (*warned, *_about_length(manifest, task.schema, findings))


def _about_length(
    manifest: Manifest, schema: dict[str, Any], findings: list[Finding]
) -> tuple[str, ...]:
    longest = worst_case(schema).tokens
    given = manifest.sampling.max_tokens
    allowed = given or default_max_tokens(schema)
    endless = any(each.kind == "unbounded" for each in findings)
    if endless and given is None and isinstance(manifest.task, CustomTask):
        return (f"sampling.max_tokens: {allowed}, since the schema sets no bound; set one of both",)
    if longest > allowed and (given is not None or longest > LONGEST) and not endless:
        return (
            f"sampling.max_tokens: {allowed} is less than the longest answer that the schema "
            f"allows, about {longest} tokens; what is longer is cut, asked again, and else an "
            "error",
        )
    return ()


def _imported(path: str) -> dict[str, Any]:
    module, _, name = path.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        model = getattr(importlib.import_module(module), name)
    except Exception as error:  # the user's module runs here, and may raise anything
        raise ManifestError(
            f"task.schema: {path!r} can't be imported: {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise ManifestError(f"task.schema: {path!r} is no pydantic model; allowed: module:Model")
    return model.model_json_schema()
