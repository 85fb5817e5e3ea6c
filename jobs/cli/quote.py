"""A quote for people: the choice first, then what it rests on, then what was not taken and why.

It prints what `infra.planner.report` made, so that a person and a program are told the same.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from textwrap import wrap
from typing import Any

from jobs.cli.columns import print_columns, shown
from jobs.cli.terminal import err, out
from jobs.plurals import counted

LABEL = 16  # columns
MOST_REJECTED = 12


def print_quote(quote: dict[str, Any]) -> None:
    """The whole quote on stdout; warnings on stderr."""
    say("model", f"{quote['model']}, {counted(quote['images'], 'image')}")
    if quote["choice"] is not None:
        _choice(quote)
    _image_tokens(quote["image_tokens"])
    _kv(quote["kv_explosion"])
    _alternatives(quote)
    _rejected(quote["rejected"])
    _explained(quote.get("explain", ()))
    for warning in quote["warnings"]:
        err.print(f"note: {warning}", markup=False)


def say(label: str, text: str) -> None:
    """A terminal gets whole words under each other, everything else one line."""
    lines = [text]
    if out.is_terminal:
        room = max(LABEL, out.width - LABEL)
        lines = wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    for name, line in zip(chain([label], repeat("")), lines, strict=False):
        out.print(f"{name:<{LABEL}}{line}".rstrip(), markup=False, emoji=False)


def _choice(quote: dict[str, Any]) -> None:
    choice, memory = quote["choice"], quote["memory"]
    if choice["gpu"] is not None:
        where = f" of {choice['offer']}" if choice["offer"] else ""
        engines = counted(choice["replicas"], "engine")
        cut = f"{engines} with tensor parallel {choice['tensor_parallel']}"
        say("hardware", f"{choice['count']} x {choice['gpu']}{where}, as {cut}")
    else:
        say("hardware", f"{counted(choice['nodes'], 'node')} of {choice['offer']}, without GPUs")
    if memory is not None:
        say("memory", memory["reason"])
        say("", _memory(memory))
    say("time", _time(quote["time_s"]))
    say("cost", _cost(quote["cost"]))
    if quote["engine"] is not None:
        say("engine", ", ".join(f"{name}={value}" for name, value in quote["engine"].items()))


def _memory(memory: dict[str, Any]) -> str:
    parts = {
        "weights": "weights_gib",
        "activation": "activation_gib",
        "non-torch": "non_torch_gib",
        "graphs": "graphs_gib",
        "KV cache": "kv_gib",
    }
    told = ", ".join(f"{name} {memory[key]:.2f}" for name, key in parts.items())
    return f"{told} of {memory['budget_gib']:.2f} GiB a GPU"


def _time(seconds: dict[str, Any] | None) -> str:
    if seconds is None:
        return "unknown"
    span = f"{duration(seconds['low'])} to {duration(seconds['high'])}"
    return f"{duration(seconds['expected'])} expected ({span}); {seconds['basis']}"


def _cost(cost: dict[str, Any] | None) -> str:
    if cost is None or cost["usd"] is None:
        return "unknown"
    least, most = (float(cost[name]) for name in ("usd_low", "usd_high"))
    span = f" expected ({least:.2f} to {most:.2f})" if least != most else ""
    each = float(cost["usd_per_1000_images"])
    return f"{float(cost['usd']):.2f} USD{span}, {each:.4f} per 1,000 images"


def duration(seconds: float) -> str:
    """`1 h 05 min`, `3 min 20 s` or `45 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"


def _image_tokens(tokens: dict[str, Any]) -> None:
    size = f"{tokens['model_width']}x{tokens['model_height']} as the model sees it"
    say("image tokens", f"{tokens['tokens']:,} ({tokens['patches']:,} patches), {size}")
    pictures = tokens["distribution"]
    if pictures["count"] > 1:
        named = ("min", "median", "p95", "max")
        say("", ", ".join(f"{name} {pictures[name]:,}" for name in named))
    for step in tokens["reductions"]:
        say("", f"max_pixels {step['max_pixels']:>10,}: saves {step['saved']:.0%} of them")


def _kv(rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        told = (f"{row['pictures']}: {row['gib']:.2f} GiB{_fits(row)}" for row in rows)
        say("KV at once", ", ".join(told))


def _fits(row: dict[str, Any]) -> str:
    return "" if row["fits"] else " (too many)"


def _alternatives(quote: dict[str, Any]) -> None:
    for label, line in zip(chain(["beside it"], repeat("")), _beside(quote), strict=False):
        say(label, line)
    if not quote["runners_up"]:
        return
    out.print()
    rows = [_row(each) for each in quote["runners_up"]]
    print_columns(out, ("runner-up", "GPUs", "time", "USD"), rows, right=(3,), whole=True)


def _beside(quote: dict[str, Any]) -> Iterator[str]:
    cost = quote["cost"]
    if cost and cost["usd"] is not None:
        yield f"billed by the begun hour: {float(cost['hourly_usd']):.2f} USD"
        yield f"always on: {float(cost['always_on_usd_per_day']):.2f} USD a day"
    for each in quote["endpoints"]:
        usd = "unknown" if each["usd"] is None else f"{float(each['usd']):.2f} USD"
        yield f"by the token at {each['name']}: {usd}"


def _row(each: dict[str, Any]) -> list[str]:
    took, cost = each["time_s"], each["cost"]
    return [
        each["offer"],
        f"{each['count']} x {each['gpu']}",
        duration(took["expected"]) if took else "unknown",
        shown(cost["usd"] if cost else None),
    ]


def _rejected(rejected: Sequence[dict[str, Any]]) -> None:
    if not rejected:
        return
    out.print()
    rows = [[each["offer"], each["gpu"], each["reason"]] for each in rejected[:MOST_REJECTED]]
    print_columns(out, ("not taken", "GPU", "why"), rows, whole=True)
    if len(rejected) > MOST_REJECTED:
        out.print(f"and {len(rejected) - MOST_REJECTED} more; see --json")


def _explained(lines: Sequence[dict[str, Any]]) -> None:
    if lines:
        out.print()
    for line in lines:
        say(line["figure"], "")
        say("", f"= {line['formula']}")
        say("", f"= {line['value']}")


def print_endpoint(quote: dict[str, Any]) -> None:
    """A job at an endpoint: there is no hardware to choose."""
    say("endpoint", f"{quote['choice']['offer']}, {counted(quote['images'], 'image')}, no hardware")
    say("image tokens", shown(quote["image_tokens"]["tokens"]))
    say("cost", _cost(quote["cost"]))
    for warning in quote["warnings"]:
        err.print(f"note: {warning}", markup=False)
