"""A few seeds of `make chaos`: real clusters, one fault of each cheap kind, nothing lost after."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.faults import draw
from tests.chaos.lab import lab
from tests.chaos.trial import HEADINGS, close_books, try_fault

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(600)]

IN_PLACE = (28, 7)  # the engine, the store: nothing is started anew
SEEDS = (1, 5)  # a replica, the driver


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="zs", ignore_cleanup_errors=True) as name:
        yield Path(name)


def test_after_each_fault_every_picture_has_one_row_and_nothing_is_left(folder: Path) -> None:
    with lab(folder) as place:
        trials = [try_fault(place, draw(seed)) for seed in IN_PLACE]
        engines = list(place.stage.glob("asked-*"))
        trials += [try_fault(place, draw(seed)) for seed in SEEDS]
        problems = close_books(place, trials)
        print("", HEADINGS, *(trial.line for trial in trials), sep="\n")
    assert [(trial.fault.name, trial.problems) for trial in trials if trial.problems] == []
    assert problems == []
    assert len(engines) == 1, "a second job finds its engine loaded"
