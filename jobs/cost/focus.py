"""Entries of the ledger as rows of FOCUS 1.2: one charge for each tenancy, as a stream.

An entry whose price is unknown makes no row, since a cost must not be null there and must not be
made up; `rows` counts them. The classes of time are columns of our own, `x_…`, after FOCUS's.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from math import ceil, floor

from infra.catalogue.billing import HOUR_S
from jobs.cost.comparison import rate_of
from jobs.cost.entry import CLASSES, Entry
from jobs.cost.focus_columns import FOCUS_COLUMNS, Column
from jobs.money import Plain

# Fine enough that price times quantity is the cost to a hundred-millionth.
QUANTITY = Decimal("0.000000000001")


@dataclass(frozen=True, slots=True)
class Service:
    """What a kind of entry is called; each name has one category."""

    name: str
    category: str
    subcategory: str
    meter: str
    resource: str | None = None


SERVICES = {
    "node": Service("Nodes", "Compute", "Virtual Machines", "Node Time", "Node"),
    "head": Service("Cluster Heads", "Compute", "Virtual Machines", "Head Time", "Head"),
    "requests": Service("Object Storage", "Storage", "Object Storage", "Requests"),
    "storage": Service("Object Storage", "Storage", "Object Storage", "Stored Data"),
    "egress": Service("Data Transfer", "Networking", "Network Connectivity", "Egress"),
    "tokens": Service("Model Endpoints", "AI and Machine Learning", "Generative AI", "Tokens"),
}


def _pascal(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))


OWN_COLUMNS = (
    Column("x_JobId", "text", "own", nulls=True),
    Column("x_Epoch", "decimal", "own"),
    Column("x_ClusterId", "text", "own", nulls=True),
    Column("x_Model", "text", "own", nulls=True),
    Column("x_Images", "decimal", "own"),
    *(Column(f"x_{_pascal(name)}Cost", "decimal", "own", nulls=True) for name in CLASSES),
    *(Column(f"x_{_pascal(name)}Seconds", "decimal", "own", nulls=True) for name in CLASSES),
)
COLUMNS = (*FOCUS_COLUMNS, *OWN_COLUMNS)
FocusRow = dict[str, str | None]


@dataclass(slots=True)
class Focus:
    """Makes rows; `unpriced` counts the entries that made none."""

    account: str
    unpriced: int = 0

    def rows(self, entries: Iterable[Entry]) -> Iterator[FocusRow]:
        for entry in entries:
            row = self.row(entry)
            if row is None:
                self.unpriced += 1
            else:
                yield row

    def row(self, entry: Entry) -> FocusRow | None:
        """One charge; None when its price is unknown."""
        cost = entry.amount
        priced = _priced(entry)
        if cost is None or priced is None:
            return None
        service, provider = SERVICES[entry.kind], entry.offer.provider or "unknown provider"
        used, unit = _used(entry)
        return {
            **dict.fromkeys(column.name for column in COLUMNS),
            **priced,
            **_periods(entry),
            **_own(entry),
            "BilledCost": _plain(cost),
            "EffectiveCost": _plain(cost),
            "ContractedCost": _plain(cost),
            "BillingAccountId": self.account,
            "BillingCurrency": entry.offer.currency,
            "ChargeCategory": "Usage",
            "ChargeDescription": _description(entry),
            "ChargeFrequency": "Usage-Based",
            "ConsumedQuantity": _plain(used),
            "ConsumedUnit": unit,
            "InvoiceIssuerName": provider,
            "PricingCategory": "Dynamic" if entry.offer.spot else "Standard",
            "ProviderName": provider,
            "PublisherName": provider,
            "ResourceId": entry.node.node_id if entry.node else None,
            "ResourceType": service.resource if entry.node else None,
            "ServiceCategory": service.category,
            "ServiceName": service.name,
            "ServiceSubcategory": service.subcategory,
            "SkuMeter": service.meter,
            "Tags": json.dumps(entry.labels, sort_keys=True) if entry.labels else None,
        }


def _priced(entry: Entry) -> FocusRow | None:
    """Quantity, unit prices and list cost; None when a price is unknown.

    The price on the list is that before the discount for work that may wait.
    """
    sku = entry.offer.name if entry.node else f"{entry.offer.name}/{entry.kind}"
    price_id = f"{sku}/{entry.offer.catalogue_date}{'/spot' if entry.offer.spot else ''}"
    if entry.node is not None:
        rate, listed = rate_of(entry), _listed(entry)
        quantity = (entry.seconds / HOUR_S).quantize(QUANTITY, ROUND_HALF_EVEN)
        unit = "Hours"
    else:
        rate = listed = entry.price
        quantity, unit = entry.quantity or Decimal(0), _unit(entry.unit)
    if rate is None or listed is None or entry.amount is None:
        return None
    whole = entry.amount if listed == rate else listed * quantity
    details = {"x_GpuType": entry.offer.gpu} if entry.offer.gpu and entry.node else None
    return {
        "ContractedUnitPrice": _plain(rate),
        "ListUnitPrice": _plain(listed),
        "ListCost": _plain(whole),
        "PricingQuantity": _plain(quantity),
        "PricingUnit": unit,
        "SkuId": sku,
        "SkuPriceId": price_id,
        "SkuPriceDetails": json.dumps(details) if details else None,
    }


def _listed(entry: Entry) -> Decimal | None:
    return entry.offer.head_usd_per_hour if entry.kind == "head" else entry.offer.usd_per_hour


def _used(entry: Entry) -> tuple[Decimal, str]:
    """What was consumed: seconds that a node ran, by the meter where nothing else is known."""
    if entry.node is None:
        return entry.quantity or Decimal(0), _unit(entry.unit)
    return sum(entry.raw_s.values(), Decimal(0)) or entry.seconds, "Seconds"


def _unit(unit: str) -> str:
    """As FOCUS spells units: sizes as they are, whatever is counted with a capital."""
    return unit if unit[:2].isupper() else unit[:1].upper() + unit[1:]


def _periods(entry: Entry) -> FocusRow:
    """The charge's period, to whole seconds outwards, and the month in which it was billed."""
    end = datetime.fromtimestamp(entry.until, UTC)
    month = end.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    after = (month + timedelta(days=32)).replace(day=1)
    start_s, end_s = floor(entry.since), ceil(entry.until)
    return {
        "ChargePeriodStart": moment(start_s),
        "ChargePeriodEnd": moment(max(end_s, start_s + 1)),
        "BillingPeriodStart": moment(month.timestamp()),
        "BillingPeriodEnd": moment(after.timestamp()),
    }


def moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _description(entry: Entry) -> str:
    whose = f"job {entry.job_id}" if entry.job_id else "no job"
    what = SERVICES[entry.kind].meter.lower()
    return f"{what} of {whose} on {entry.offer.name}"


def _own(entry: Entry) -> FocusRow:
    usd, seconds = entry.usd or {}, entry.billed_s
    return {
        "x_JobId": entry.job_id,
        "x_Epoch": str(entry.epoch),
        "x_ClusterId": entry.cluster_id or None,
        "x_Model": entry.model or None,
        "x_Images": str(entry.images),
        **{f"x_{_pascal(name)}Cost": _plain(usd.get(name)) for name in CLASSES},
        **{f"x_{_pascal(name)}Seconds": _plain(seconds.get(name)) for name in CLASSES},
    }


def _plain(value: Plain | None) -> str | None:
    return None if value is None else f"{value:f}"
