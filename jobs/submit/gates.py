"""Gates: what must hold before anything is paid for. Licence, remote code, engine, budget.

`jobs.submit.residency` is one more.

Each either passes, with what was checked, or raises `ManifestError` with what would let it pass.
Unknown is a refusal, never a pass.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from infra.catalogue.licences import Licence, find_licence
from infra.models.spec import ModelSpec
from jobs.cost.budgets import Purse, period
from jobs.errors import ManifestError
from jobs.record import Checked
from jobs.settings.budgets import Budget


def licence_gate(
    spec: ModelSpec, jurisdiction: str | None, acknowledged: Sequence[str]
) -> list[Checked]:
    """The model's licence, where the settings say that we are."""
    licence = find_licence(spec.licence)
    if problem := excluded(spec, licence, jurisdiction):
        raise ManifestError(f"model: {problem}; allowed: another model, see zeroshift models")
    if licence.needs_acknowledgement and licence.key not in acknowledged:
        raise ManifestError(
            f"model: {spec.name} is under {licence.name}: {licence.terms.rstrip('.')}; allowed: "
            f'"acknowledge": ["{licence.key}"] in the manifest'
        )
    return [Checked(gate="licence", what=spec.name, found=licence.name)]


def excluded(spec: ModelSpec, licence: Licence, jurisdiction: str | None) -> str | None:
    """Why the licence grants nothing here, or may not: unknown is no permission."""
    if not licence.excluded_jurisdictions:
        return None
    where = ", ".join(licence.excluded_jurisdictions).upper()
    if jurisdiction is None:
        return (
            f"the licence of {spec.name} ({licence.name}) excludes {where}, and where you are is "
            "not known: set jurisdiction in the settings"
        )
    if licence.excludes(jurisdiction):
        terms = licence.terms.rstrip(".")
        return f"the licence of {spec.name} ({licence.name}) excludes {where}: {terms}"
    return None


def engine_gate(spec: ModelSpec) -> list[Checked]:
    """vLLM drops models; what it dropped can be planned, but not run."""
    if spec.last_vllm is not None:
        raise ManifestError(
            f"model: {spec.name} ran on vLLM up to {spec.last_vllm} alone; allowed: another "
            "model, see zeroshift models"
        )
    return []


def code_gate(spec: ModelSpec, revision: str | None) -> list[Checked]:
    """Code that comes with weights runs only from a pinned commit."""
    if not spec.remote_code:
        return [Checked(gate="remote code", what=spec.name, found="none")]
    if revision is None:
        raise ManifestError(
            f"model: {spec.name} runs code of its own repository; allowed: "
            '"revision": "<commit of 40 hexadecimal digits>" in the manifest'
        )
    return [Checked(gate="remote code", what=spec.name, found=f"pinned to {revision}")]


def spent_gate(purses: Sequence[tuple[Budget, Purse]], now: float) -> list[Checked]:
    """What jobs with these labels may still spend; a purse that is used up is a refusal."""
    for budget, purse in purses:
        if purse.hard and purse.used_up:
            again = datetime.fromtimestamp(period(budget.per, now)[1], UTC)
            raise ManifestError(
                f"budgets: {purse.spent:.2f} of {purse.usd:f} USD are spent, {purse.name}; "
                f"allowed: after {again:%Y-%m-%d %H:%M} UTC, or a higher budget in the settings"
            )
    return [
        Checked(
            gate="budget",
            what=f"{purse.usd:f} USD, {purse.name}",
            found=f"{purse.spent:.6f} USD are spent",
        )
        for _, purse in purses
    ]


def budget_gate(
    most: Decimal | None, usd: Decimal | None, cheaper: Callable[[], Sequence[tuple[str, Decimal]]]
) -> list[Checked]:
    """A quote above the budget is refused with the cheapest change that would fit it."""
    if most is None:
        return []
    if usd is None:
        found = "quote unknown; the job is stopped when it has cost as much"
        return [Checked(gate="budget", what=f"{most} USD", found=found)]
    if usd <= most:
        return [Checked(gate="budget", what=f"{most} USD", found=f"quoted {usd} USD")]
    changes = sorted(cheaper(), key=lambda change: change[1])
    fitting = [change for change in changes if change[1] <= most]
    if fitting:
        # The dearest that fits changes the least.
        what, price = fitting[-1]
        advice = f"{what} would cost {price} USD"
    elif changes:
        advice = f"the cheapest change tried, {changes[0][0]}, would still cost {changes[0][1]} USD"
    else:
        advice = "no change was found that would lower it"
    raise ManifestError(f"budget.max_usd: {most} is below the quote of {usd} USD; {advice}")
