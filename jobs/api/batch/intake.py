"""A batch's requests become the indexes of jobs; what can't be asked becomes a refused line.

Nothing of an intake counts until the batch's record names it. Indexes grow on this machine's disk,
not in memory.
"""

import json
import tempfile
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from jobs.api.batch.answers import Answers
from jobs.api.batch.lines import Request
from jobs.api.batch.pictures import Pictures
from jobs.api.batch.record import BatchPaths, Group
from jobs.api.body_checks import BodyError
from jobs.api.translate import Shape, manifest_of, translate
from jobs.store.bucket import Store
from jobs.store.streams import PartWriter

MOST_SHAPES = 32  # of one batch: each is a job of its own


@dataclass(slots=True)
class ShapedLines:
    """The requests of one shape so far."""

    number: int
    shape: Shape
    file: IO[str]
    lines: int = 0


@dataclass(slots=True)
class Intake:
    """Takes requests in, under a name of its own; a context manager around one `take` for each."""

    store: Store
    paths: BatchPaths
    name: str
    models: Collection[str]
    pictures: Pictures
    answers: Answers
    groups: dict[str, ShapedLines] = field(default_factory=dict)
    refused: int = 0
    _open: ExitStack = field(default_factory=ExitStack)
    _folder: Path = Path()
    _refusals: PartWriter | None = None

    def __enter__(self) -> "Intake":
        self._folder = Path(self._open.enter_context(tempfile.TemporaryDirectory()))
        writer = PartWriter(self.store, self.paths.refused(self.name), "application/jsonl")
        self._refusals = self._open.enter_context(writer)
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def take(self, request: Request) -> None:
        """One request: a line of an index, or of the refused ones."""
        assert self._refusals is not None, "an intake is a context manager"
        try:
            asked = translate(request.body, self.models)
            keys = [self.pictures.key(picture) for picture in asked.pictures]
            group = self._group(asked.shape)
        except BodyError as error:
            self._refusals.write(self.answers.refused(request.custom_id, error) + b"\n")
            self.refused += 1
            return
        line = {"keys": keys, "custom_id": request.custom_id, "prompt": asked.prompt}
        group.file.write(json.dumps(line) + "\n")
        group.lines += 1

    def write(self, offer: str, labels: dict[str, str]) -> tuple[Group, ...]:
        """Write what the jobs are to be made of; after the last request."""
        return tuple(self._written(each, offer, labels) for each in self.groups.values())

    def _written(self, found: ShapedLines, offer: str, labels: dict[str, str]) -> Group:
        number, shape = found.number, found.shape
        index = self.paths.index(self.name, number)
        found.file.flush()
        self.store.upload(index, found.file.name, "application/jsonl")
        output = str(self.paths.results(self.name, number))
        manifest = {
            **manifest_of(shape, f"batch-{self.name}", str(index), output, offer),
            "labels": labels,
        }
        body = json.dumps(manifest, indent=1).encode()
        self.store.write(self.paths.manifest(self.name, number), body)
        return Group(
            number=number, lines=found.lines, model=shape.model, texts=shape.reply == "text"
        )

    def _group(self, shape: Shape) -> ShapedLines:
        key = json.dumps([shape.model, shape.sampling, shape.schema, shape.detail, shape.many])
        name = f"{shape.reply}{key}"
        if name not in self.groups:
            if len(self.groups) == MOST_SHAPES:
                raise BodyError(
                    "too_many_shapes",
                    f"The batch has more than {MOST_SHAPES} combinations of model, sampling and "
                    "response_format.",
                    None,
                )
            number = len(self.groups)
            path = self._folder / f"{number}.jsonl"
            file = self._open.enter_context(path.open("w", encoding="ascii"))
            self.groups[name] = ShapedLines(number, shape, file)
        return self.groups[name]
