"""How templates of pages are read, a report's as the console's: all that is put in is escaped."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jobs.plurals import counted
from jobs.report import summary

if TYPE_CHECKING:
    from jinja2 import Environment


def make_environment(package: str, folder: str, **more: Callable[..., Any]) -> "Environment":
    """Templates in `folder` of `package`, with the filters that all pages have, and `more`."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # with the first page

    environment = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    common = {
        "duration": summary.duration,
        "when": summary.when,
        "counted": counted,
        "count": lambda number: f"{number:,}",
        "words": lambda text: text.replace("_", " "),
    }
    environment.filters.update({**common, **more})
    return environment
