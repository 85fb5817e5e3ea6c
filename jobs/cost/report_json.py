"""A report of cost as JSON: for programs, the API and the pages. Amounts are decimal strings.

Null is unknown, never 0.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from jobs.cost.comparison import AtEndpoint
from jobs.cost.entry import CLASSES
from jobs.cost.report import Report, Sums


def to_json(
    report: Report,
    by: str,
    since: float | None,
    until: float,
    kept_s: float,
    at: Iterable[tuple[str, AtEndpoint | None]],
) -> dict[str, Any]:
    total = report.total
    return {
        "currency": "USD",
        "by": by,
        "since": _moment(since),
        "until": _moment(until),
        "groups": [{"key": key, **sums_to_json(sums)} for key, sums in report.in_order()],
        "total": sums_to_json(total),
        "otherwise": {
            "hourly_usd": _plain(None if total.total_usd is None else total.hourly_usd),
            "always_on": {
                "nodes": report.always_on.nodes,
                "seconds": round(kept_s, 3),
                "usd": _plain(report.always_on.usd(kept_s)),
            },
            "endpoints": [
                {"model": model, "name": e and e.name, "usd": _plain(e.usd if e else None)}
                for model, e in at
            ],
        },
    }


def sums_to_json(sums: Sums) -> dict[str, Any]:
    return {
        "entries": sums.entries,
        "unpriced": sums.unpriced,
        "images": sums.images,
        "ok": sums.ok,
        "usd": _plain(sums.total_usd),
        "usd_per_1000_images": _plain(sums.usd_per_1000),
        "raw_s": _plain(sums.total_raw_s) if sums.raw_s else None,
        "billed_s": _plain(sums.total_billed_s),
        "classes": {
            name: {
                "raw_s": _plain(sums.raw_s.get(name)),
                "billed_s": _plain(sums.billed_s.get(name)),
                "usd": _plain(sums.usd.get(name)),
            }
            for name in sorted({*sums.raw_s, *sums.billed_s, *sums.usd}, key=_class_order)
        },
    }


def _class_order(name: str) -> tuple[int, str]:
    return (CLASSES.index(name) if name in CLASSES else len(CLASSES), name)


def _plain(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


def _moment(moment: float | None) -> str | None:
    return None if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"
