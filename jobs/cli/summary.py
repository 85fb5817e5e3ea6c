"""Tables for people: a job's summary, its bill, lists of jobs and clusters."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.table import Table

from jobs.cli.columns import print_columns
from jobs.cli.progress import cost_so_far, money, rate
from jobs.clusters.fleet import ClusterRecord
from jobs.plurals import counted
from jobs.record import Record
from jobs.versions import NEWER


def print_summary(
    console: Console, record: Record, receipt: dict[str, Any] | None, idle_s: float = 0.0
) -> None:
    """How a job ended, or stands: state, pictures, where the results are, the bill, or the cost so
    far and what it is going to be."""
    counts = record.counts
    why = f", {record.reason}" if record.reason else ""
    console.print(f"{record.job_id}: [bold]{record.state.value}[/]{why}")
    images = f"{counts.done:,} of {counted(counts.total, 'image')}, {counts.errors:,} with errors"
    console.print(f"{images}  {rate(record)}".rstrip())
    console.print(f"results: {record.output}", soft_wrap=True)
    if not record.state.ended and record.cost_usd is not None:
        console.print(f"cost so far: {cost_so_far(record, idle_s)}")
    if receipt is not None:
        for warning in receipt["warnings"]:
            console.print(f"[yellow]warning[/]: {warning}", soft_wrap=True)
        if receipt["wasted_tokens"]:
            total = receipt["prompt_tokens"] + receipt["output_tokens"]
            console.print(f"{receipt['wasted_tokens']} of {total} tokens gave no answer")
        print_bill(console, receipt)


def print_bill(console: Console, receipt: dict[str, Any]) -> None:
    """The bill of a receipt, phase by phase, summing to the total."""
    bill = receipt["bill"]
    table = Table(box=None, pad_edge=False)
    table.add_column("bill")
    table.add_column("seconds", justify="right")
    table.add_column("USD", justify="right")
    for phase in bill["phases"]:
        if Decimal(phase["seconds"]) or phase["raw_s"] is None:  # a class of no time says nothing
            table.add_row(phase["phase"], phase["seconds"], _usd(phase["usd"]))
    for line in bill["lines"]:
        if line["usd"] is not None:
            table.add_row(f"{line['quantity']} {line['unit']}", "", _usd(line["usd"]))
    table.add_row("[bold]total[/]", bill["billed_s"], f"[bold]{_usd(bill['total_usd'])}[/]")
    console.print(table)
    offer = bill["offer"]
    console.print(
        f"offer {offer['name']} at {offer['usd_per_hour'] or 'unknown'} USD/h "
        f"({offer['catalogue_date']}), {bill['unit'] or 'by its meter'}; "
        f"per 1,000 images {bill['usd_per_1000_images'] or 'unknown'} USD"
    )
    if bill["not_priced"]:
        console.print(f"not priced: {', '.join(bill['not_priced'])}", soft_wrap=True)
    if bill["setbacks"] or bill["preemptions"]:
        console.print(
            f"{counted(bill['setbacks'], 'setback')} and "
            f"{counted(bill['preemptions'], 'preemption')}, on which "
            f"{_usd(bill['setback_usd'])} USD went"
        )
    if not bill["final"]:
        console.print("the cluster still runs: the bill is not final")
    teardown = receipt["teardown"]
    if teardown["gone_at"] is not None:
        gone = datetime.fromtimestamp(teardown["gone_at"], UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        console.print(f"cluster {teardown['cluster_id']} gone at {gone}; {teardown['checked']}")


def print_jobs(console: Console, records: Iterable[Record], unreadable: Iterable[str] = ()) -> None:
    """Each job on a line, its id whole wherever it goes: it is what other commands ask for.

    `unreadable` are jobs whose records another version has written.
    """
    names = ("job", "state", "images", "errors", "cost", "submitted")
    lines = [_cells(record) for record in records]
    lines += [(job_id, NEWER, "", "", "", "") for job_id in unreadable]
    if not lines:
        console.print("no jobs")
        return
    print_columns(console, names, lines, right=(2, 3, 4))


def _cells(record: Record) -> tuple[str, ...]:
    counts = record.counts
    return (
        record.job_id,
        record.state.value,
        f"{counts.done}/{counts.total}",
        str(counts.errors),
        "-" if record.cost_usd is None else money(record.cost_usd),
        _when(record.created_at),
    )


def print_clusters(console: Console, clusters: Iterable[ClusterRecord], now: float) -> None:
    """Each cluster, and under it each of its nodes; a node lives by its cluster's lease."""
    table = Table(box=None, pad_edge=False)
    for name in ("cluster", "state", "lease", "nodes", "age", "node cost"):
        table.add_column(name)
    for cluster in clusters:
        living = sum(node.gone_at is None for node in cluster.nodes)
        table.add_row(
            cluster.cluster_id,
            cluster.state,
            _lease(cluster, cluster.gone_at, now),
            f"{living} of {len(cluster.nodes)}",
            f"{(cluster.gone_at or now) - cluster.created_at:.0f} s",
            money(cluster.usd_of(cluster.nodes, now)),
        )
        for node in cluster.nodes:
            table.add_row(
                f"  {node.node_id}",
                "up" if node.gone_at is None else "gone",
                _lease(cluster, node.gone_at, now),
                "",
                f"{(node.gone_at or now) - node.launched_at:.0f} s",
                money(cluster.usd_of([node], now)),
            )
    console.print(table if table.row_count else "no clusters")


def _lease(cluster: ClusterRecord, gone_at: float | None, now: float) -> str:
    left = cluster.lease_until - now
    if gone_at is not None:
        return "-"
    return f"{left:.0f} s" if left > 0 else f"dead for {-left:.0f} s"


def _usd(text: str | None) -> str:
    return "unknown" if text is None else f"{Decimal(text):.6f}"


def _when(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
