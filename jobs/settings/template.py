"""The commented `zeroshift.toml` that `zeroshift init` writes.

Made from the settings themselves, so that it can't say anything else than they do. Values stand
behind a `#` without a space; whoever takes it away gets the default, spelt out.
"""

import json
import textwrap
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from jobs.errors import SettingsError
from jobs.problems import problems_in
from jobs.settings.settings import Settings
from jobs.settings.sources import FILE, PREFIX

WIDTH = 88
INTRODUCTION = (
    f"Settings of Zeroshift ({FILE}). A value behind a # is the default, or an example where there "
    f"is no default. An environment variable beats this file: {PREFIX}BUCKET for bucket, "
    f"{PREFIX}LOCAL__CPUS for cpus under [local]. Credentials are not settings: they come from the "
    "usual AWS chain (AWS_ACCESS_KEY_ID, AWS_PROFILE, …)."
)


def settings_template(bucket: str | None = None) -> str:
    """The file's text; with `bucket`, that one setting is set: `SettingsError` if it can't be."""
    if bucket is not None:
        _check("bucket", bucket)
    lines = [*_comment(INTRODUCTION)]
    for name, field in Settings.model_fields.items():
        group = field.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            lines += ["", *_comment(group.__doc__ or ""), f"[{name}]", *_settings(group)]
        else:
            lines += _setting(name, field, bucket if name == "bucket" else None)
    return "\n".join(lines) + "\n"


def _check(name: str, value: str) -> None:
    try:
        TypeAdapter(Settings.__annotations__[name]).validate_python(value)
    except ValidationError as error:
        said = problems_in([{**item} for item in error.errors(include_url=False)], None)
        raise SettingsError(f"{name}: {said[0]}") from error


def _settings(group: type[BaseModel]) -> Iterator[str]:
    for name, field in group.model_fields.items():
        yield from _setting(name, field, None)


def _setting(name: str, field: FieldInfo, value: str | None) -> Iterator[str]:
    yield ""
    yield from _comment(field.description or "")
    yield f"{name} = {json.dumps(value)}" if value else f"#{name} = {_default(field)}"


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False):
        yield f"# {line}"


def _default(field: FieldInfo) -> str:
    """The default as TOML, or the example of a setting that has none."""
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "example" in extra:
        return json.dumps(extra["example"])
    value = field.get_default(call_default_factory=True, validated_data={})
    # Money stays text: a TOML float is not exact.
    return json.dumps(str(value) if isinstance(value, Decimal | Path) else value)
