"""This machine as hardware: no roofline tells its speed, so only earlier jobs do."""

from dataclasses import dataclass

from infra.models.spec import ModelSpec
from infra.planner.duration import Duration, measured_duration
from infra.planner.measured import Measured
from infra.planner.money import Cost, Range, cost_of
from infra.planner.plan import Plan
from infra.planner.workload import Tokens, Workload, tokens_of

REST_S = Range(10, 20, 40)  # beyond the idle window; 15 to 19 s measured (docs/guide.md)


@dataclass(frozen=True, slots=True)
class LocalQuote:
    """A job on this machine; `duration` and `cost` are None until a job of the model has run."""

    plan: Plan
    work: Workload
    tokens: Tokens
    duration: Duration | None
    cost: Cost | None


def quote_local(
    plan: Plan, spec: ModelSpec, work: Workload, known: Measured | None, idle_s: float
) -> LocalQuote:
    """What `work` takes and costs on `plan`'s nodes; `idle_s` is the idle window."""
    tokens = tokens_of(spec, work)
    if known is None:
        return LocalQuote(plan, work, tokens, None, None)
    rest = Range(REST_S.low + idle_s, REST_S.expected + idle_s, REST_S.high + idle_s)
    took = measured_duration(known, tokens.sequence * work.images / plan.nodes, rest)
    price = plan.offer.usd_per_hour
    return LocalQuote(
        plan, work, tokens, took, cost_of(plan.offer, plan.nodes, took.node, work.images, price)
    )
