"""`zeroshift evaluate`: how right a job's answers are, and whether the grammar hurts them."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jobs.addresses import Address, JobPaths
from jobs.cli.lines import errors_as_lines, print_json
from jobs.cli.store import load_record, open_store
from jobs.cli.terminal import out
from jobs.closing.evaluate import Report, evaluate
from jobs.closing.results import rows_of
from jobs.errors import UserError
from jobs.manifest.manifest import Manifest, parse_manifest
from jobs.plurals import counted
from jobs.rows import Row
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.strict_json import load_strict
from jobs.submit.grammar_probe import probe
from jobs.submit.planning import plan_for
from jobs.submit.submission import load_manifest, resolved
from jobs.tasks import resolve_task

app = typer.Typer()


@app.command("evaluate")
def evaluate_command(
    what: Annotated[str, typer.Argument(help="A job's id, or a manifest file to ask with.")],
    labels: Annotated[
        Path | None,
        typer.Option(help='JSON lines of {"key": …, "label": {…}}; without it the index has them.'),
    ] = None,
    grammar_check: Annotated[
        int | None,
        typer.Option(min=1, help="Ask so many pictures with and without the grammar, here."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Compare a job's answers with labels, or answers with the grammar to those without."""
    with errors_as_lines():
        settings, store = open_store()
        if grammar_check is not None:
            manifest = resolved(_manifest(store, settings, what))
            found = probe(store, manifest, plan_for(manifest, settings), grammar_check)
            if as_json:
                print_json(found)
            else:
                print_comparison(out, found)
            return
        report = _judged(store, settings, what, labels)
        if as_json:
            print_json(report.to_dict())
        else:
            print_report(out, report)


def _manifest(store: Store, settings: Settings, what: str) -> Manifest:
    if Path(what).is_file():
        return parse_manifest(Path(what).read_bytes(), what)
    load_record(store, settings, what)
    return load_manifest(store, JobPaths.of(settings.bucket, what))


def _judged(store: Store, settings: Settings, job: str, labels: Path | None) -> Report:
    record = load_record(store, settings, job)
    if not record.state.ended:
        raise UserError(f"{job} is {record.state.value}: there are no results yet")
    manifest = load_manifest(store, JobPaths.of(settings.bucket, job))
    schema = resolve_task(manifest.task).schema
    rows = (Row.model_validate_json(line) for line in rows_of(store, Address.parse(record.output)))
    report = evaluate(rows, read_labels(labels) if labels else {}, schema)
    if not report.labelled:
        hint = "no row has a label" if labels else "the index has no labels; give --labels FILE"
        raise UserError(f"{job}: {hint}")
    return report


def read_labels(file: Path) -> dict[str, Any]:
    """Labels by key; `UserError` names the first line that is none."""
    try:
        lines = file.read_text().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: {error}") from error
    found: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            key, label = _label(line, f"{file} line {number}")
            if found.setdefault(key, label) != label:
                raise UserError(f"{file} line {number}: another label for {key}; allowed: one")
    return found


def _label(line: str, where: str) -> tuple[str, Any]:
    item = load_strict(line, where)
    if not (isinstance(item, dict) and isinstance(item.get("key"), str) and "label" in item):
        raise UserError(f'{where}: allowed: {{"key": "s3://BUCKET/KEY", "label": {{…}}}}')
    return item["key"], item["label"]


def print_report(console: Console, report: Report) -> None:
    plain = report.to_dict()
    console.print(
        f"{report.labelled} with a label: {report.answered} answered, "
        f"{counted(report.unanswered, 'error')}; {report.unlabelled} without one"
    )
    for name, found in plain["fields"].items():
        console.print(f"{name}: {_percent(found['accuracy'])} right")
        console.print(_confusion(found["confusion"]))
    if plain["kinds"]:
        console.print(_kinds(plain["kinds"]))
    if plain["boxes"]["matched"]:
        boxes = plain["boxes"]
        console.print(f"boxes: {boxes['matched']} matched, median IoU {boxes['median_iou']:.2f}")
    if plain["reliability"]:
        console.print(_reliability(plain["reliability"]))
        console.print(f"calibration error {_percent(report.calibration_error)}")


def print_comparison(console: Console, found: dict[str, Any]) -> None:
    console.print(
        f"{found['asked']} asked with the grammar and without: {found['agreed']} made the same "
        f"choices, {found['same']} gave the same answer"
    )
    for code in found["failed"]:
        console.print(f"not compared: {code}")
    for example in found["examples"]:
        console.print(example, markup=False)
    if found["agreed"] < found["asked"]:
        console.print(
            "where they differ, the grammar may force a spelling that the model was not trained "
            "on: see output.format"
        )


def _confusion(confusion: dict[str, dict[str, int]]) -> Table:
    answers = sorted({answer for row in confusion.values() for answer in row})
    table = Table(box=None, pad_edge=False)
    for column in ("label \\ answer", *answers):
        table.add_column(column, justify="right" if column in answers else "left")
    for label, row in confusion.items():
        table.add_row(label, *(str(row.get(answer, 0)) for answer in answers))
    return table


def _kinds(kinds: dict[str, dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("kind", "found", "invented", "missed", "precision", "recall"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind, each in kinds.items():
        counts = (str(each[name]) for name in ("right", "wrong", "missed"))
        table.add_row(kind, *counts, _percent(each["precision"]), _percent(each["recall"]))
    return table


def _reliability(bins: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("confidence", "answers", "mean", "right"):
        table.add_column(column, justify="right")
    for each in bins:
        span = f"{each['from']:.1f}-{each['from'] + 0.1:.1f}"
        mean, right = _percent(each["confidence"]), _percent(each["right"])
        table.add_row(span, str(each["count"]), mean, right)
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
