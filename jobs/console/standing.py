"""Where a job stands, in figures for a page: progress, rate, what is left, time by state."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from markupsafe import Markup

from jobs.cost.receipt import phase_seconds
from jobs.record import Record
from jobs.report.charts import Part, bar
from jobs.report.summary import RESTING, TONES, Line, duration
from jobs.states import State


@dataclass(frozen=True, slots=True)
class Standing:
    """A record at a moment; `rate` is pictures a second, `left_s` and both may be unknown."""

    record: Record
    now: float

    @property
    def is_live(self) -> bool:
        return not self.record.state.ended

    @property
    def state(self) -> str:
        """The state's name; a job that is to be cancelled says so."""
        wanted = self.record.cancel_requested and self.is_live
        return "cancelling" if wanted else self.record.state.value

    @property
    def no_cost(self) -> str:
        """Why there is no cost: nothing was paid for, or nobody knows what."""
        offer = self.record.offer
        if offer is not None and offer.usd_per_hour is None:
            return "unknown"
        return "none yet" if self.is_live else "none"

    @property
    def percent(self) -> int:
        counts = self.record.counts
        return min(100, 100 * counts.done // counts.total) if counts.total else 0

    @property
    def elapsed_s(self) -> float:
        return max(0.0, self._end - self.record.created_at)

    @property
    def rate(self) -> float | None:
        return self.record.pictures_a_second(self.now)

    @property
    def left_s(self) -> float | None:
        counts = self.record.counts
        if self.record.state is not State.RUNNING or not self.rate:
            return None
        return (counts.total - counts.done) / self.rate

    @property
    def per_1000(self) -> Decimal | None:
        cost, done = self.record.cost_usd, self.record.counts.done
        return cost * 1000 / done if cost is not None and done else None

    @property
    def _end(self) -> float:
        return (
            self.record.entered.get(self.record.state, self.now) if not self.is_live else self.now
        )

    def phases(self) -> tuple[Markup, Sequence[Line]]:
        """A bar and its lines: seconds in each state so far."""
        spent = self._seconds()
        total = sum(seconds for _, seconds in spent) or 1.0
        parts = [Part(name, seconds, TONES.get(name, "other")) for name, seconds in spent]
        lines = [
            Line(part.name, part.tone, duration(part.value), f"{100 * part.value / total:.0f} %")
            for part in parts
        ]
        return bar("Seconds in each state of the job", parts), lines

    def _seconds(self) -> list[tuple[str, float]]:
        seconds = phase_seconds(self.record, self._end)
        if self.is_live:  # what it is in is no rest after its end
            seconds[self.record.state.value] = seconds.pop(RESTING)
        seconds.pop(RESTING, None)
        return list(seconds.items())
