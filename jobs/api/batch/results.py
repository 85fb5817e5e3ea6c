"""The rows of a batch's jobs as its output and error files, as a stream.

Every request of the batch gets exactly one line: its answer, its error, or why nobody came to it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jobs.addresses import Address, JobPaths
from jobs.api.batch.answers import Answers
from jobs.api.batch.file_record import OutputFile
from jobs.api.batch.record import Batch, BatchPaths, Group, Usage
from jobs.closing.results import rows_of
from jobs.record import RecordFile
from jobs.rows import Row, RowError
from jobs.store.bucket import Store
from jobs.store.streams import lines_of
from jobs.strict_json import load_strict

LONGEST = 64 * 1024 * 1024  # bytes of a line that we wrote ourselves


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it; a file without lines is None."""

    output_file_id: str | None
    error_file_id: str | None
    completed: int
    failed: int
    usage: Usage


@dataclass(slots=True)
class Results:
    """Writes the files of one batch, whose jobs have all ended.

    check   called before each row; what it raises breaks the work off
    """

    store: Store
    bucket: str
    batch: Batch
    created: int
    check: Callable[[], None] = lambda: None
    input_tokens: int = 0
    output_tokens: int = 0

    def write(self) -> Written:
        batch_id = self.batch.id
        good = OutputFile(self.store, self.bucket, batch_id, "output")
        bad = OutputFile(self.store, self.bucket, batch_id, "error")
        try:
            self._write(good, bad)
            return Written(
                good.close(),
                bad.close(),
                good.lines,
                bad.lines,
                Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens),
            )
        except BaseException:
            good.drop()
            bad.drop()
            raise

    def _write(self, good: OutputFile, bad: OutputFile) -> None:
        batch, answers = self.batch, Answers(self.batch.id, self.created)
        for line in self._refused():
            bad.write(line)
        for group in batch.groups:
            seen: set[str] = set()
            for row in self._rows(group):
                self.check()
                custom_id = str(row.fields["custom_id"])
                seen.add(custom_id)
                self._count(row)
                if row.error is None:
                    good.write(answers.answered(custom_id, group.model, row, group.texts))
                else:
                    bad.write(answers.failed(custom_id, row.error))
            for custom_id in self._asked(group):
                if custom_id not in seen:
                    bad.write(self._unanswered(answers, custom_id, group))

    def _refused(self) -> Iterator[bytes]:
        batch = self.batch
        if batch.refused:
            refused = BatchPaths(self.bucket, batch.id).refused(batch.intake)
            yield from lines_of(self.store, refused, LONGEST)

    def _rows(self, group: Group) -> Iterator[Row]:
        if group.job_id is not None:
            record = RecordFile(self.store, JobPaths.of(self.bucket, group.job_id)).load()
            for line in rows_of(self.store, Address.parse(record.output)):
                yield Row.model_validate_json(line)

    def _asked(self, group: Group) -> Iterator[str]:
        index = BatchPaths(self.bucket, self.batch.id).index(self.batch.intake, group.number)
        for line in lines_of(self.store, index, LONGEST):
            yield load_strict(line, str(index))["custom_id"]

    def _unanswered(self, answers: Answers, custom_id: str, group: Group) -> bytes:
        batch = self.batch
        if group.problem and group.job_id is None:
            error = RowError(
                code="invalid_value", stage="submit", message=group.problem, retryable=False
            )
            return answers.failed(custom_id, error)
        if batch.expired:
            message = "This request could not be executed before the completion window expired."
            return answers.unanswered(custom_id, "batch_expired", message)
        if batch.cancel_requested:
            message = "This request was not executed before the batch was cancelled."
            return answers.unanswered(custom_id, "batch_cancelled", message)
        message = f"The job of this request ended without its answer: {group.problem}"
        return answers.unanswered(custom_id, "job_failed", message)

    def _count(self, row: Row) -> None:
        if row.usage is not None:
            self.input_tokens += row.usage.prompt_tokens
            self.output_tokens += row.usage.output_tokens
