"""Licences of models: what a job must be told, or refused for, before it costs anything."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from infra.catalogue.loading import read_rows

FILE = "licences.json"
UNKNOWN = "unknown"
EU = "eu"
# Who names one of its members means the union as well. As of 2026-11-30.
MEMBERS = frozenset(
    {
        *("at", "be", "bg", "cy", "cz", "de", "dk", "ee", "el", "es", "fi", "fr", "gr", "hr"),
        *("hu", "ie", "it", "lt", "lu", "lv", "mt", "nl", "pl", "pt", "ro", "se", "si", "sk"),
    }
)


@dataclass(frozen=True, slots=True)
class Licence:
    """`terms` is what matters of it in one line; it is no legal advice.

    commercial              None: unknown
    excluded_jurisdictions  where it grants nothing, in small letters: "eu" is the whole union
    """

    key: str
    name: str
    commercial: bool | None
    excluded_jurisdictions: tuple[str, ...]
    terms: str
    source: str
    dated: str

    @property
    def needs_acknowledgement(self) -> bool:
        """Whether a user must say that the use is not commercial."""
        return self.commercial is False

    def excludes(self, jurisdiction: str) -> bool:
        """Whether it grants nothing there; a member of the European Union is in the union."""
        named = jurisdiction.casefold()
        around = {named, EU} if named in MEMBERS else {named}
        return not around.isdisjoint(self.excluded_jurisdictions)


@cache
def licences() -> Mapping[str, Licence]:
    """Every licence of the catalogue by key."""
    found = (
        Licence(**{**row, "excluded_jurisdictions": tuple(row["excluded_jurisdictions"])})
        for row in read_rows(FILE)
    )
    return MappingProxyType({licence.key: licence for licence in found})


def find_licence(key: str) -> Licence:
    """The licence of that key; another text is an unknown licence under the name it goes by."""
    known = licences().get(key.casefold())
    return known or replace(licences()[UNKNOWN], name=key)
