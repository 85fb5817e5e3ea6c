"""`zeroshift cost policy`: what the rules of the idle window cost on arrival traces, and why.

Registered by the group of cost commands through `add_policy`.
"""

from decimal import Decimal
from typing import Annotated, Any

import typer

from jobs.cli.columns import print_columns
from jobs.cli.lines import errors_as_lines, print_json
from jobs.cli.store import open_store
from jobs.cli.terminal import err, out
from jobs.errors import SettingsError, ZeroshiftError
from jobs.policy.arrivals import NAMES, read_trace
from jobs.policy.costs import CostModel, assumed
from jobs.policy.measured import own_costs
from jobs.policy.table import Row, compare

CENT = Decimal("0.01")
NAMES_OF_COLUMNS = ("trace", "policy", "USD", "of optimum", "starts", "mean wait s", "idle USD")


def add_policy(app: typer.Typer) -> None:
    """Add the command to a group."""
    app.command("policy")(policy)


def policy(
    trace: Annotated[
        str | None, typer.Option(help=f"A CSV file, or one of {', '.join(NAMES)}; default: these.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """What idle windows cost on arrival traces, against the optimum that knows the future."""
    with errors_as_lines():
        traces = {name: read_trace(name) for name in ((trace,) if trace else NAMES)}
        costs = _costs()
        rows = compare(traces, costs)
        if as_json:
            print_json({"costs": _as_json(costs), "rows": [_row_as_json(row) for row in rows]})
            return
        print_columns(out, NAMES_OF_COLUMNS, [_cells(row) for row in rows], right=range(2, 7))
        for line in explained(costs):
            out.print(line, markup=False)


def _costs() -> CostModel:
    """The user's own where there is a bucket that tells; what is assumed needs none."""
    try:
        settings, store = open_store()
        return own_costs(store, settings.bucket) or assumed()
    except SettingsError:
        return assumed()
    except ZeroshiftError as error:
        err.print(f"assumptions are used: {error}", markup=False)
        return assumed()


def explained(costs: CostModel) -> list[str]:
    """Both rules in words, with the figures of these costs."""
    start, end, restart = costs.start_s, costs.teardown_s, costs.restart_s
    usd = costs.usd(restart)
    return [
        "",
        f"cold start {start:.0f} s and teardown {end:.0f} s: {restart:.0f} s of a node at "
        f"{costs.usd_per_hour.normalize():f} USD/h are {usd:.4f} USD ({costs.basis}; the teardown "
        "is assumed); "
        f"billed in steps of {costs.granularity_s} s, at least {costs.minimum_s} s",
        f"break-even: wait while waiting costs less than a restart, here {restart:.0f} s beyond "
        "what is billed already; never more than twice the least for the same gaps",
        "learned: imagine clusters that wait for 0 to 2 restarts, see what each would have cost on "
        "the jobs so far, and take the cheapest for this time of day; break-even with under 5 "
        "jobs, or when learning has cost 10 % and 2 restarts more than break-even would have",
    ]


def _cells(row: Row) -> list[str]:
    outcome = row.outcome
    return [
        row.trace,
        outcome.policy,
        str(outcome.total_usd.quantize(CENT)),
        f"{row.ratio:.3f}",
        str(outcome.starts),
        f"{outcome.mean_wait_s:.0f}",
        str(outcome.usd["idle"].quantize(CENT)),
    ]


def _as_json(costs: CostModel) -> dict[str, Any]:
    return {
        "usd_per_hour": str(costs.usd_per_hour),
        "start_s": costs.start_s,
        "teardown_s": costs.teardown_s,
        "granularity_s": costs.granularity_s,
        "minimum_s": costs.minimum_s,
        "basis": costs.basis,
        "measured": costs.measured,
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    outcome = row.outcome
    return {
        "trace": row.trace,
        "policy": outcome.policy,
        "usd": f"{outcome.total_usd:f}",
        "usd_by_class": {name: f"{usd:f}" for name, usd in outcome.usd.items()},
        "billed_s": outcome.billed_s,
        "of_optimum": row.ratio,
        "starts": outcome.starts,
        "mean_wait_s": outcome.mean_wait_s,
    }
