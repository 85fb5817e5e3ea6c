"""Endpoints that are paid by the token: models that somebody else runs, to hold a quote against.

Rows of endpoints.json. Each fact has its own source and date, as they were published apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from math import ceil
from types import MappingProxyType
from typing import Any

from infra.catalogue.loading import read_rows
from infra.catalogue.names import plain

FILE = "endpoints.json"
MONEY = ("input_usd_per_million", "output_usd_per_million", "batch_discount")


@dataclass(frozen=True, slots=True)
class TileRule:
    """A picture with both sides up to `small_side` pixels is one tile, a larger one is cut into
    tiles of `tile_side`; each tile is `tile_tokens` tokens."""

    small_side: int
    tile_side: int
    tile_tokens: int

    def count(self, width: int, height: int) -> int:
        if max(width, height) <= self.small_side:
            return self.tile_tokens
        tiles = ceil(width / self.tile_side) * ceil(height / self.tile_side)
        return tiles * self.tile_tokens


@dataclass(frozen=True, slots=True)
class Endpoint:
    """USD for a million tokens; None is unknown.

    model           the model of our catalogue that runs there; None: one without weights to have
    batch_discount  share off the price for work that may wait a day
    image           how it counts pictures; None: it does not say
    eu              whether the work stays in the European Union
    """

    name: str
    aliases: tuple[str, ...]
    provider: str
    model: str | None
    input_usd_per_million: Decimal | None
    output_usd_per_million: Decimal | None
    source: str
    dated: str
    batch_discount: Decimal | None
    batch_source: str
    batch_dated: str
    image: TileRule | None
    image_source: str
    image_dated: str
    eu: bool | None
    note: str = ""

    def image_tokens(self, width: int, height: int) -> int | None:
        """Tokens of a picture of that size in pixels; None when the endpoint does not say."""
        return None if self.image is None else self.image.count(width, height)


@cache
def endpoints() -> Mapping[str, Endpoint]:
    """Every endpoint of the catalogue by name, in the order of the file."""
    return MappingProxyType({row["name"]: _endpoint(row) for row in read_rows(FILE)})


def find_endpoint(name: str) -> Endpoint | None:
    """The endpoint of that name or alias, if there is one."""
    for endpoint in endpoints().values():
        if plain(name) in map(plain, (endpoint.name, *endpoint.aliases)):
            return endpoint
    return None


def _endpoint(row: Mapping[str, Any]) -> Endpoint:
    money = {name: None if row[name] is None else Decimal(row[name]) for name in MONEY}
    image = TileRule(**row["image"]) if row["image"] else None
    return Endpoint(**{**row, **money, "aliases": tuple(row["aliases"]), "image": image})
