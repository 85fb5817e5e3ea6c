"""What holds here, without a store: settings are read only when they say something
of it, as reading them takes longer than all the rest of such a command.
"""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from infra.catalogue.offers import Offer, catalogued_offers
from infra.offers import local_offer

# As in jobs.settings.sources, which is too slow to be imported for them.
FILE, PREFIX = "zeroshift.toml", "ZEROSHIFT_"
GROUPS = ("offers", "local", "jurisdiction")


@dataclass(frozen=True, slots=True)
class Known:
    """This machine, the catalogue and the user's own rows, and where the settings say we are."""

    offers: tuple[Offer, ...]
    jurisdiction: str | None = None


def known() -> Known:
    """What holds here; `SettingsError` for wrong settings."""
    if not _said():
        return Known((local_offer(), *catalogued_offers()))
    from jobs.offers import offers
    from jobs.settings.settings import load_settings

    # Nothing is read from or written to a bucket here, so none need be set.
    settings = load_settings({f"{PREFIX}BUCKET": "none", **os.environ})
    return Known(offers(settings), settings.jurisdiction)


def known_offers() -> tuple[Offer, ...]:
    return known().offers


def _said() -> bool:
    """Whether the environment or the file sets anything of offers, or can't be read."""
    names = tuple(f"{PREFIX}{group.upper()}" for group in GROUPS)
    if any(name.upper().startswith(names) for name in os.environ):
        return True
    named = os.environ.get(f"{PREFIX}CONFIG")
    file = Path(named or FILE)
    if not named and not file.exists():
        return False
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return True  # reading the settings says what is wrong
    return any(given.get(group) for group in GROUPS)
