"""The tables `[[budgets]]` of `zeroshift.toml`: what may be spent in a month, a day or an hour.

Each is for all work, or for the jobs with one label. A job's own budget is in its manifest.
"""

from collections import Counter
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from jobs.manifest.forms import Variable, form
from jobs.settings.groups import Group, example
from jobs.webhook_urls import check_url

Label = Annotated[str, *form(r"[^=\s][^=]*=.+", "NAME=VALUE of a label, as line=4")]


def _not_ours(name: str) -> str:
    if name.upper().startswith("ZEROSHIFT_"):
        raise ValueError(f"found {name!r}; allowed: a name without ZEROSHIFT_, as settings have it")
    return name


class Budget(Group):
    """One bound."""

    label: Label | None = Field(
        default=None,
        description="Label and value of the jobs it is for. Not set: all that is spent.",
        json_schema_extra=example("line=4"),
    )
    per: Literal["month", "day", "hour"] = Field(
        default="month", description="The period, in UTC, at whose begin it is whole again."
    )
    usd: Decimal = Field(gt=0, le=10**9, description="USD that may be spent in a period.")
    kind: Literal["hard", "soft"] = Field(
        default="hard",
        description="hard: no further job is taken, and running ones finish what is in flight and "
        "end over_budget, with what they have. soft: it is only told.",
    )
    webhook: Annotated[str, AfterValidator(check_url)] | None = Field(
        default=None,
        description="Address that is told, by https, or by http on this machine. Not set: only "
        "the log.",
        json_schema_extra=example("https://hooks.example.com/zeroshift"),
    )
    secret_variable: Annotated[Variable, AfterValidator(_not_ours)] = Field(
        default="WEBHOOK_SECRET",
        description="Name of the environment variable with the key that what is told is signed "
        "with. The key itself is never a setting.",
    )

    @property
    def name(self) -> str:
        """`line=4 per month`, as it is told."""
        return f"{self.label or 'all'} per {self.per}"

    def covers(self, labels: dict[str, str]) -> bool:
        """Whether what a job with these labels costs counts."""
        if self.label is None:
            return True
        name, _, value = self.label.partition("=")
        return labels.get(name) == value


def _each_once(budgets: tuple[Budget, ...]) -> tuple[Budget, ...]:
    found = Counter((each.label, each.per, each.kind) for each in budgets)
    twice = [key for key, count in found.items() if count > 1]
    if twice:
        label, per, kind = twice[0]
        raise ValueError(f"found {kind} {label or 'all'} per {per} twice; allowed: each once")
    return budgets


Budgets = Annotated[tuple[Budget, ...], AfterValidator(_each_once)]
