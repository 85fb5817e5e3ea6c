"""What a manifest that comes over the network may not ask: things of the serving machine itself.

Who submits by hand has the machine anyway; who has a key of the API has not.
"""

from collections.abc import Iterator
from pathlib import Path

from infra.models.folder import BUNDLED
from jobs.addresses import ROOT, Address
from jobs.errors import ManifestError
from jobs.manifest.manifest import CustomTask, Manifest, parse_manifest
from jobs.settings.settings import Settings

SOURCE = "manifest"


def read_request(body: bytes, settings: Settings, idempotency_key: str | None) -> Manifest:
    """The manifest of a request; `ManifestError` in one line."""
    manifest = parse_manifest(body, SOURCE)
    _check_task(manifest)
    _check_model(manifest, settings)
    _check_places(manifest, settings)
    if idempotency_key is None:
        return manifest
    if manifest.idempotency_key not in (None, idempotency_key):
        raise ManifestError(
            "idempotency_key: found another one than in the header Idempotency-Key; allowed: one "
            "of the two"
        )
    return manifest.model_copy(update={"idempotency_key": idempotency_key})


def _check_task(manifest: Manifest) -> None:
    task = manifest.task
    if isinstance(task, CustomTask) and isinstance(task.json_schema, str):
        raise ManifestError(
            "task.schema: a model to import would be imported by the server; allowed: a JSON Schema"
        )


def _check_model(manifest: Manifest, settings: Settings) -> None:
    model = manifest.model
    if model in BUNDLED or model in settings.api.models or model.startswith("s3://"):
        return
    try:
        is_folder = model.startswith(("/", ".", "~")) or Path(model).is_dir()
    except OSError as error:  # longer than any name may be
        raise ManifestError(f"model: found {model[:40]!r}…; allowed: a name") from error
    if is_folder:
        raise ManifestError(
            f"model: {model!r} is a folder of the server that is not served; allowed: one of "
            "/v1/models, or a name"
        )


def _check_places(manifest: Manifest, settings: Settings) -> None:
    for name, text in _places(manifest):
        address = Address.parse(text)
        if address.bucket == settings.bucket and address.key.startswith(ROOT):
            raise ManifestError(f"{name}: {text} is Zeroshift's own; allowed: outside of {ROOT}")


def _places(manifest: Manifest) -> Iterator[tuple[str, str]]:
    inputs = manifest.inputs
    named = {"inputs.prefix": inputs.prefix, "inputs.index": inputs.index}
    for name, text in {**named, "output": manifest.output}.items():
        if text is not None:
            yield name, text
    for number, key in enumerate(inputs.keys or ()):
        yield f"inputs.keys[{number}]", key
