"""What settings are read from: variables that begin with `ZEROSHIFT_`, and `zeroshift.toml`.

Both are read as they are given, without the model's judgement; only names that no setting has are
found here, since pydantic-settings passes over unknown variables in silence.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_settings import BaseSettings, EnvSettingsSource
from pydantic_settings.exceptions import SettingsError as SourceError

from jobs.errors import SettingsError
from jobs.problems import Problem, unknown_key

FILE = "zeroshift.toml"
PREFIX = "ZEROSHIFT_"
DELIMITER = "__"
CONFIG = f"{PREFIX}CONFIG"
# Ours, but no settings: where the file is, and the tags on the processes of a cluster.
OTHER_VARIABLES = frozenset({CONFIG, f"{PREFIX}CLUSTER", f"{PREFIX}FLEET", f"{PREFIX}NODE"})
# What is wrong, and the setting that was probably meant.
Unknown = dict[str, str | None]


class _Environment(EnvSettingsSource):
    """The variables that it is given, never those of the process behind the caller's back."""

    def __init__(self, settings: type[BaseSettings], environ: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in environ.items() if value}
        super().__init__(settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._given


def read_variables(settings: type[BaseSettings], environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings in `environ`, nested as the model is; empty variables are not set."""
    try:
        return _Environment(settings, environ)()
    except SourceError as error:
        group = re.search(r'field "(\w+)"', str(error))
        variable = PREFIX + (group[1].upper() if group else "")
        raise SettingsError(f"environment: {variable}: not JSON; allowed: an object") from error
    except RecursionError as error:
        raise SettingsError("environment: a variable is nested too deeply") from error


def given_as(keys: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The variable that gave the value at `keys`, or something around or in it, as it is spelt."""
    own = {name.upper(): name for name, value in environ.items() if value}
    for length in range(len(keys), 0, -1):
        wanted = PREFIX + DELIMITER.join(keys[:length]).upper()
        if wanted in own:
            return own[wanted]
    within = PREFIX + DELIMITER.join([*keys, ""]).upper()
    return next((own[name] for name in sorted(own) if name.startswith(within)), None)


def config_file(environ: Mapping[str, str], folder: Path) -> Path | None:
    """The file that is named, or the one in `folder` if it is there."""
    if named := environ.get(CONFIG):
        return folder / named
    default = folder / FILE
    return default if default.exists() else None


def read_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{file}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: not UTF-8 text at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not TOML: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"{file}: nested too deeply") from error
    except ValueError as error:  # Python reads no integer of more than some thousand digits
        raise SettingsError(
            f"{file}: found a number of too many digits; allowed: up to 4300"
        ) from error


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both, group by group; where both have a value, the one of `above`."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        groups = isinstance(old, dict) and isinstance(value, dict)
        result[key] = merged(old, value) if groups else value  # type: ignore[arg-type]
    return result


def unknown_variables(settings: type[BaseSettings], environ: Mapping[str, str]) -> Unknown:
    """Variables of ours that are no setting; within a group the model itself finds them."""
    names = dict(_names(settings))
    groups = [name for name, group in names.items() if group]
    found: Unknown = {}
    for variable in sorted(environ):
        upper = variable.upper()
        name = upper.removeprefix(PREFIX)
        if upper == name or upper in OTHER_VARIABLES or name in names:
            continue
        if not name.startswith(tuple(f"{group}{DELIMITER}" for group in groups)):
            near = unknown_key(name, list(names))[1]
            hint = (
                f"did you mean {PREFIX}{near}?" if near else f"{PREFIX}… allows {', '.join(names)}"
            )
            text = f"environment: {variable}: unknown variable; {hint}"
            found[text] = near.lower() if near else None
    return found


def unknown_keys(settings: type[BaseSettings], given: dict[str, Any], file: Path | None) -> Unknown:
    """Keys at the top of the file that are no setting."""
    known = list(settings.model_fields)
    found: Unknown = {}
    for key in given:
        if key not in known:
            text, near = unknown_key(key, known)
            found[f"{file.name if file else FILE}: {Problem((key,), text)}"] = near
    return found


def _names(model: type[BaseModel], head: str = "") -> Iterator[tuple[str, bool]]:
    """Every setting as a variable without its prefix, and whether it is a group."""
    for field_name, field in model.model_fields.items():
        name, kind = f"{head}{field_name.upper()}", field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield name, True
            yield from _names(kind, f"{name}{DELIMITER}")
        else:
            yield name, False
