"""The columns of FOCUS 1.2 that the export has, as its published text describes them.

The FinOps Open Cost and Usage Specification, version 1.2 (May 2025, tag v1.2 of its repository):
all 21 mandatory columns, and the recommended and conditional ones that a ledger of node time can
fill. Columns of our own begin with `x_` and stand last, as it asks. Here are only facts; the rules
between columns are in `focus_rules`, and what we put into a column is in `focus`.
"""

from dataclasses import dataclass
from typing import Literal

FOCUS_VERSION = "1.2"

Kind = Literal["text", "decimal", "moment", "currency", "json"]
Level = Literal["mandatory", "conditional", "recommended", "own"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    nulls     whether it may be null in some row; when it must be, `focus_rules` says
    least     the smallest value of a decimal; None is any
    allowed   the only values of a text; empty is any
    """

    name: str
    kind: Kind
    level: Level
    nulls: bool = False
    least: int | None = None
    allowed: frozenset[str] = frozenset()


CHARGE_CATEGORIES = frozenset({"Usage", "Purchase", "Tax", "Credit", "Adjustment"})
CHARGE_FREQUENCIES = frozenset({"One-Time", "Recurring", "Usage-Based"})
PRICING_CATEGORIES = frozenset({"Standard", "Dynamic", "Committed", "Other"})
SERVICE_CATEGORIES = frozenset(
    {
        "AI and Machine Learning",
        "Analytics",
        "Business Applications",
        "Compute",
        "Databases",
        "Developer Tools",
        "Multicloud",
        "Identity",
        "Integration",
        "Internet of Things",
        "Management and Governance",
        "Media",
        "Migration",
        "Mobile",
        "Networking",
        "Security",
        "Storage",
        "Web",
        "Other",
    }
)
# Of the published subcategories those that we write, each with its one parent.
SUBCATEGORIES = {
    "Virtual Machines": "Compute",
    "Object Storage": "Storage",
    "Network Connectivity": "Networking",
    "Generative AI": "AI and Machine Learning",
    "Other (Other)": "Other",
}

FOCUS_COLUMNS = (
    Column("BilledCost", "decimal", "mandatory"),
    Column("BillingAccountId", "text", "mandatory"),
    Column("BillingAccountName", "text", "mandatory", nulls=True),
    Column("BillingCurrency", "currency", "mandatory"),
    Column("BillingPeriodEnd", "moment", "mandatory"),
    Column("BillingPeriodStart", "moment", "mandatory"),
    Column("ChargeCategory", "text", "mandatory", allowed=CHARGE_CATEGORIES),
    Column("ChargeClass", "text", "mandatory", nulls=True, allowed=frozenset({"Correction"})),
    Column("ChargeDescription", "text", "mandatory", nulls=True),
    Column("ChargeFrequency", "text", "recommended", allowed=CHARGE_FREQUENCIES),
    Column("ChargePeriodEnd", "moment", "mandatory"),
    Column("ChargePeriodStart", "moment", "mandatory"),
    Column("ConsumedQuantity", "decimal", "conditional", nulls=True),
    Column("ConsumedUnit", "text", "conditional", nulls=True),
    Column("ContractedCost", "decimal", "mandatory"),
    Column("ContractedUnitPrice", "decimal", "conditional", nulls=True, least=0),
    Column("EffectiveCost", "decimal", "mandatory"),
    Column("InvoiceId", "text", "recommended", nulls=True),
    Column("InvoiceIssuerName", "text", "mandatory"),
    Column("ListCost", "decimal", "mandatory"),
    Column("ListUnitPrice", "decimal", "conditional", nulls=True, least=0),
    Column("PricingCategory", "text", "conditional", nulls=True, allowed=PRICING_CATEGORIES),
    Column("PricingQuantity", "decimal", "mandatory", nulls=True),
    Column("PricingUnit", "text", "mandatory", nulls=True),
    Column("ProviderName", "text", "mandatory"),
    Column("PublisherName", "text", "mandatory"),
    Column("ResourceId", "text", "conditional", nulls=True),
    Column("ResourceName", "text", "conditional", nulls=True),
    Column("ResourceType", "text", "conditional", nulls=True),
    Column("ServiceCategory", "text", "mandatory", allowed=SERVICE_CATEGORIES),
    Column("ServiceName", "text", "mandatory"),
    Column("ServiceSubcategory", "text", "recommended", allowed=frozenset(SUBCATEGORIES)),
    Column("SkuId", "text", "conditional", nulls=True),
    Column("SkuMeter", "text", "conditional", nulls=True),
    Column("SkuPriceDetails", "json", "conditional", nulls=True),
    Column("SkuPriceId", "text", "conditional", nulls=True),
    Column("Tags", "json", "conditional", nulls=True),
)
MANDATORY = tuple(each.name for each in FOCUS_COLUMNS if each.level == "mandatory")
