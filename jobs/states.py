"""The states of a job and the legal moves between them."""

from enum import StrEnum

from jobs.errors import IllegalMove


class State(StrEnum):
    QUEUED = "queued"
    PLANNING = "planning"
    PROVISIONING = "provisioning"
    RUNNING = "running"
    FINALIZING = "finalizing"
    COMPLETED = "completed"
    COMPLETED_WITH_ERRORS = "completed_with_errors"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OVER_BUDGET = "over_budget"

    @property
    def ended(self) -> bool:
        return self in _ENDED

    @property
    def succeeded(self) -> bool:
        return self in (State.COMPLETED, State.COMPLETED_WITH_ERRORS)


_ENDED = frozenset(
    {
        State.COMPLETED,
        State.COMPLETED_WITH_ERRORS,
        State.FAILED,
        State.CANCELLED,
        State.OVER_BUDGET,
    }
)
_STOPS = frozenset({State.FAILED, State.CANCELLED, State.OVER_BUDGET})

# A controller that is stopped hands its job back to the queue. A successor that takes over a dead
# one's job starts again at planning. Either way committed shards stay committed.
_AGAIN = frozenset({State.QUEUED, State.PLANNING})
MOVES: dict[State, frozenset[State]] = {
    State.QUEUED: _STOPS | {State.PLANNING},
    State.PLANNING: _STOPS | _AGAIN | {State.PROVISIONING},
    State.PROVISIONING: _STOPS | _AGAIN | {State.RUNNING},
    State.RUNNING: _STOPS | _AGAIN | {State.FINALIZING},
    State.FINALIZING: _STOPS | _AGAIN | {State.COMPLETED, State.COMPLETED_WITH_ERRORS},
    State.COMPLETED: frozenset(),
    State.COMPLETED_WITH_ERRORS: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
    # With a higher budget it goes on from its committed shards, when somebody says so.
    State.OVER_BUDGET: frozenset({State.QUEUED}),
}


def check_move(old: State, new: State) -> None:
    """`IllegalMove` unless a job may go from `old` to `new`."""
    if new not in MOVES[old]:
        allowed = ", ".join(sorted(MOVES[old])) or "none, it has ended"
        raise IllegalMove(f"a job can't go from {old} to {new}; allowed: {allowed}")
