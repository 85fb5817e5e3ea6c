"""A cloud with a meter of its own, written apart from the ledger: it must come to the same.

It keeps a log of events, what each node did and when, and adds the bill up in whole numbers:
milliseconds, and billionths of a USD. It knows nothing of jobs; it is fed from what a provider
knows, its registry's files, or from the clusters' records.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

BILLIONTHS = 1_000_000_000
CENT = BILLIONTHS // 100


@dataclass(frozen=True)
class Tariff:
    """What the cloud charges: billionths of a billionth of a USD an hour, so that any discount is
    a whole number of them."""

    fine_usd_per_hour: int
    step_ms: int
    least_ms: int
    charges_boot: bool

    @classmethod
    def of(cls, offer: Mapping[str, Any]) -> "Tariff":
        """From an offer as JSON has it."""
        left = 1 - Decimal(offer.get("async_discount") or 0)
        price = Decimal(offer["usd_per_hour"]) * left * BILLIONTHS * BILLIONTHS
        step = offer["billing_granularity_s"]
        return cls(
            int(price),
            1000 * (60 * 60 if step is None else step),
            1000 * (offer["minimum_s"] or 0),
            offer.get("boot_billed") is not False,
        )


@dataclass
class FakeCloudMeter:
    """The meter of one account at one tariff."""

    tariff: Tariff
    log: list[tuple[int, str, str]] = field(default_factory=list)

    def note(self, node: str, what: str, at: float | None) -> None:
        """An event: `launch`, `up` or `gone`, at a moment; None: it did not happen."""
        if at is not None:
            self.log.append((int(Decimal(str(at)) * 1000 + Decimal("0.5")), node, what))

    def feed(self, nodes: Iterable[Mapping[str, Any]]) -> None:
        """Nodes as a cluster's record has them."""
        for node in nodes:
            self.note(node["node_id"], "launch", node["launched_at"])
            self.note(node["node_id"], "up", node.get("joined_at"))
            self.note(node["node_id"], "gone", node["gone_at"])

    def feed_registry(self, folder: Path) -> None:
        """Nodes as the local provider's own files have them."""
        self.feed(json.loads(each.read_text()) for each in sorted(folder.glob("*.json")))

    def billed_ms(self, node: str) -> int:
        """What the meter of a node that is gone shows."""
        starts = "launch" if self.tariff.charges_boot else "up"
        on = [at for at, name, what in self.log if name == node and what == starts]
        off = [at for at, name, what in self.log if name == node and what == "gone"]
        if not on or not off or off[0] <= on[0]:
            return 0
        steps = (off[0] - on[0] + self.tariff.step_ms - 1) // self.tariff.step_ms
        shown = steps * self.tariff.step_ms
        return shown if shown > self.tariff.least_ms else self.tariff.least_ms

    def billionths(self, node: str) -> int:
        """What a node costs, to the nearest billionth of a USD."""
        fine = self.billed_ms(node) * self.tariff.fine_usd_per_hour
        an_hour = 3_600_000 * BILLIONTHS
        return (2 * fine + an_hour) // (2 * an_hour)

    def total(self) -> int:
        """What all nodes cost, in billionths of a USD."""
        return sum(self.billionths(node) for node in {name for _, name, _ in self.log})


def in_billionths(usd: Decimal) -> int:
    """An amount of the ledger in the meter's own unit."""
    return int(usd * BILLIONTHS)
