"""The ways back to the queue of a job that can't go on here: set back, refused, handed on.

Committed shards stay committed, whichever way it goes; each has a budget of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from jobs.clusters.fleet import Fleet
from jobs.control.held_job import HeldJob
from jobs.control.setbacks import capacity_s, wait_s
from jobs.plurals import counted
from jobs.settings.settings import Settings
from jobs.states import State


@dataclass(frozen=True, slots=True)
class WayBack:
    """`end` ends the job instead; `write_off_later` sees to the node time that it had, which was in
    vain after a setback."""

    job: HeldJob
    settings: Settings
    fleet: Fleet
    end: Callable[[State, str], None]
    write_off_later: Callable[[bool], None]

    def set_back(self, reason: str, goes_on: bool = False) -> None:
        """Back to the queue after a fault of infrastructure; the end, when there were too many.

        The cluster goes, being at fault, unless the job `goes_on` there at once.
        """
        before = self.job.record.setbacks
        if len(before) >= self.settings.max_setbacks:
            earlier = f" (after {counted(len(before), 'setback')}: {'; '.join(before)})"
            more = earlier if before else ""
            self.end(State.FAILED, f"{reason}{more}")
            return
        told, setbacks = f"set back: {reason}", (*before, reason)
        if goes_on:
            self.hand_on(told, setbacks=setbacks)
            return
        self.hand_back(told, setbacks=setbacks, not_before=self.job.clock() + wait_s(len(before)))
        self.fleet.rest()

    def look_elsewhere(self, refusal: str, offers_left: int) -> None:
        """The next offer at once; when all of them have refused, all of them later."""
        now, record, offer = self.job.clock(), self.job.record, self.job.record.offer
        refused = (*record.refused, offer.name if offer else "")
        since = record.no_capacity_since or now
        reason = f"no_capacity: {', '.join(refused)}: {refusal}"
        if offers_left > 1:
            self.hand_on(reason, refused=refused)
        elif now - since >= self.settings.max_no_capacity_s:
            self.end(State.FAILED, f"{reason} (for {now - since:.0f} s)")
            return
        else:
            before = record.no_capacity_waits
            self.hand_back(
                reason,
                refused=(),
                no_capacity_since=since,
                no_capacity_waits=before + 1,
                not_before=now + capacity_s(before),
            )
        self.fleet.rest()  # what did come is returned, and billed

    def hand_on(self, reason: str, **changes: object) -> None:
        """To a next epoch of our own, at once: the claim is kept, and with it the warm cluster.

        The epoch is what keeps late writes of the driver that ended apart from the next one's.
        """
        self.write_off_later(True)
        self.job.move(State.QUEUED, reason)
        self.job.change(**changes)

    def hand_back(
        self, reason: str = "handed back", setback: bool = True, **changes: object
    ) -> None:
        """Give the claim up: whoever claims the job next goes on from its committed shards."""
        self.write_off_later(setback)
        self.job.move(State.QUEUED, reason)
        self.job.change(owner="", lease_until=0.0, **changes)
