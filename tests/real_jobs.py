"""A job of noise, for tests with real clusters."""

import io
import json
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from jobs.addresses import Address
from jobs.manifest.manifest import parse_manifest
from jobs.record import Record
from jobs.settings.settings import load_settings
from jobs.store.bucket import Store
from jobs.submit.submission import submit


def noise_job(
    store: Store, environment: Mapping[str, str], folder: Path, pictures: int, side: int
) -> Record:
    """A job of so many square pictures of noise, `side` pixels each, under the environment's
    settings; `folder` is a working folder without a file of settings."""
    settings, picture = load_settings(environment, folder), io.BytesIO()
    Image.effect_noise((side, side), 90).convert("RGB").save(picture, "PNG")
    prefix = Address(settings.bucket, "in/")
    for number in range(pictures):
        store.write(prefix / f"{number:03d}.png", picture.getvalue(), "image/png")
    manifest = {"inputs": {"prefix": str(prefix)}, "model": "zeroshift/parts-inspector"}
    return submit(store, settings, parse_manifest(json.dumps(manifest), "m.json")).record
