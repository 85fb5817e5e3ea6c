"""What tests of cost share: entries of a ledger as short as they can be written."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from jobs.cost.entry import Entry, NodeTimes
from jobs.cost.shares import QUANTUM
from jobs.record import OfferSnapshot

NOON = datetime(2026, 11, 10, 12, tzinfo=UTC).timestamp()


@pytest.fixture
def noon() -> float:
    return NOON


@pytest.fixture
def make_entry() -> Callable[..., Entry]:
    """An entry of `seconds` of work on a node at 3.60 USD an hour that ended at `until`."""

    def make(
        job_id: str | None = "line-4-1",
        seconds: int = 100,
        until: float = NOON,
        node: str | None = "c-n1",
        price: str | None = "3.60",
        offer: dict[str, Any] | None = None,
        **changes: Any,
    ) -> Entry:
        rate = None if price is None else Decimal(price)
        known = {"name": "local", "provider": "local", "usd_per_hour": rate, "minimum_s": 0}
        known |= {"billing_granularity_s": 1, "catalogue_date": "2026-11-01", **(offer or {})}
        snapshot = OfferSnapshot(**known)
        billed = Decimal(seconds)
        usd = (
            None
            if snapshot.rate is None
            else {"work": (billed * snapshot.rate / 3600).quantize(QUANTUM)}
        )
        since = until - seconds
        times = node and NodeTimes(node_id=node, launched_at=since, gone_at=until)
        whole: dict[str, Any] = {
            "job_id": job_id,
            "epoch": 1,
            "model": "m",
            "labels": {"line": "4"},
            "cluster_id": "c",
            "node": times,
            "since": since,
            "until": until,
            "offer": snapshot,
            "images": 10,
            "ok": 9,
            "raw_s": {"work": billed} if node else {},
            "billed_s": {"work": billed} if node else {},
            "usd": usd,
        }
        return Entry(**{**whole, **changes})

    return make
