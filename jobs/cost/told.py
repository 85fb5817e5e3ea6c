"""What the workers of one epoch told of themselves, made into the cuts of each node's time.

A marker tells of work that counts; a turn that stays behind, of work that does not. Their stamps
are of the worker's clock. Where that differs from the controller's by more than some seconds, as
the store's stamps on what both wrote show, they are shifted by it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from infra.clusters.base import NodeInterval
from jobs.addresses import JobPaths
from jobs.cost.entry import Cuts, Stretch
from jobs.errors import ZeroshiftError
from jobs.order import Attempt, Marker, Order, Turn
from jobs.store.bucket import Store
from jobs.stretches import capped, without

SKEW_S = 5.0  # stamps of stores are whole seconds, and a request takes its time
MOST = 64  # stretches that an entry keeps of each kind


@dataclass(frozen=True, slots=True)
class Ending:
    """How a tenancy ends: when the job was done or stopped (None: at its last row), when the
    cluster began to go down, and whether what was not committed is lost."""

    done_at: float | None = None
    drain_at: float | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """Of one epoch: markers that count, turns that do not, and the worker's own report.

    skews   seconds that a node's clock is ahead of the controller's; "" is the worker's head
    """

    attempt: Attempt = field(default_factory=lambda: Attempt(epoch=0))
    markers: tuple[Marker, ...] = ()
    turns: tuple[Turn, ...] = ()
    skews: Mapping[str, float] = field(default_factory=dict)

    def cuts(self, node: NodeInterval, nodes: Sequence[NodeInterval], ending: Ending) -> Cuts:
        """What the classes of one of the cluster's `nodes` are told by."""
        names = {each.node_id for each in nodes}
        markers = [each for each in self.markers if _is_of(each.node, node, names)]
        turns = [each for each in self.turns if _is_of(each.node, node, names)]
        commits = [self._ours(each.ended_at, each.node) for each in markers]
        ready_at = self._first("ready_at", [*markers, *turns])
        done_at = self.last_row() if ending.done_at is None else ending.done_at
        work = [part for each in markers for part in self._busy(each)]
        wasted = [part for each in turns for part in self._in_vain(each, done_at)]
        last = max(commits, default=ready_at)
        end = (node.left_at or node.gone_at) if node.preempted else done_at
        if (ending.lost or node.preempted) and last is not None and end is not None:
            wasted.append((last, end))
        return Cuts(
            loading_at=self._first("loading_at", [*markers, *turns]),
            ready_at=ready_at,
            done_at=done_at,
            drain_at=_drain(node.left_at, max(commits, default=None), ending.drain_at),
            work=tuple(capped(work, MOST)),
            wasted=tuple(capped(without(wasted, work), MOST)),
        )

    def rows(self, node: NodeInterval, nodes: Sequence[NodeInterval]) -> tuple[int, int]:
        """Rows and good rows of the epoch that were made on a node; each on one node alone."""
        names = {each.node_id for each in nodes}
        mine = [
            each
            for each in self.markers
            if (each.node if each.node in names else nodes[0].node_id) == node.node_id
        ]
        rows = sum(each.rows for each in mine)
        return rows, rows - sum(each.errors for each in mine)

    def skew(self, node: NodeInterval) -> float:
        """By how much the node's clock was seen to be ahead; 0 unless that matters."""
        return round(self.skews.get(node.node_id, self.skews.get("", 0.0)), 3)

    def last_row(self) -> float | None:
        return max((self._ours(each.ended_at, each.node) for each in self.markers), default=None)

    def requests(self) -> dict[str, int]:
        """To the store, by class, and bytes: those that the workers told."""
        counted: dict[str, int] = defaultdict(int)
        for marker in self.markers:
            for name, count in marker.requests.items():
                counted[name] += count
        return dict(counted)

    def _busy(self, marker: Marker) -> Iterator[Stretch]:
        """Of a worker that did not tell when, all the time that it had the shard."""
        told = ((marker.started_at, marker.ended_at),) if marker.busy is None else marker.busy
        return self._all_ours(told, marker.node)

    def _in_vain(self, turn: Turn, done_at: float | None) -> Iterator[Stretch]:
        """Of a replica that died, from when it began until the shard was taken up again."""
        if turn.busy is not None:
            yield from self._all_ours(turn.busy, turn.node)
            return
        began = self._ours(turn.began_at, turn.node)
        again = [
            self._ours(at, node) for at, node in self._taken_up(turn.shard) if at > turn.began_at
        ]
        end = min(again, default=done_at)
        if end is not None:
            yield began, end

    def _taken_up(self, shard: int) -> Iterator[tuple[float, str]]:
        yield from ((each.began_at, each.node) for each in self.turns if each.shard == shard)
        yield from ((each.started_at, each.node) for each in self.markers if each.shard == shard)

    def _first(self, name: str, found: Sequence[Marker | Turn]) -> float | None:
        """The first of the replicas' stamps on a node, else what the driver told of all of them."""
        stamps = [(getattr(each, name), each.node) for each in found]
        known = [self._ours(at, node) for at, node in stamps if at is not None]
        told: float | None = getattr(self.attempt, name)
        return min(known, default=None if told is None else self._ours(told, ""))

    def _all_ours(self, told: Iterable[Stretch], node: str) -> Iterator[Stretch]:
        return ((self._ours(begin, node), self._ours(end, node)) for begin, end in told)

    def _ours(self, stamp: float, node: str) -> float:
        """A worker's stamp by the controller's clock."""
        return round(stamp - self.skews.get(node, self.skews.get("", 0.0)), 3)


def _is_of(name: str, node: NodeInterval, names: set[str]) -> bool:
    """Whether it was told on `node`; where nobody knows, it is taken to be."""
    return name == node.node_id or name not in names


def _drain(left_at: float | None, commit: float | None, drain_at: float | None) -> float | None:
    """A node that has had notice may still commit; after that it only goes."""
    if left_at is None:
        return drain_at
    own = left_at if commit is None else max(left_at, commit)
    return own if drain_at is None else min(own, drain_at)


def read_told(store: Store, paths: JobPaths, epoch: int, markers: Mapping[int, Marker]) -> Told:
    """What the bucket has of an epoch; `markers` are all of the job. What can't be read is not
    told: the bill must not wait for it."""
    attempt = Attempt(epoch=epoch)
    with suppress(ZeroshiftError, ValueError):
        attempt = Attempt.model_validate_json(store.read(paths.attempt(epoch)))
    mine = {shard: each for shard, each in markers.items() if each.epoch == epoch}
    turns: list[Turn] = []
    with suppress(ZeroshiftError, ValueError):
        turns.extend(_turns(store, paths, epoch, mine))
    skews: dict[str, float] = {}
    with suppress(ZeroshiftError, ValueError):
        skews = _skews(store, paths, mine, attempt)
    return Told(attempt, tuple(mine.values()), tuple(turns), skews)


def _turns(
    store: Store, paths: JobPaths, epoch: int, markers: Mapping[int, Marker]
) -> Iterator[Turn]:
    for found in store.list(paths.turns):
        shard, of_epoch, attempt = map(int, found.address.name.removesuffix(".json").split("-"))
        counted = shard in markers and markers[shard].rank == (of_epoch, attempt)
        if of_epoch == epoch and not counted:
            yield Turn.model_validate_json(store.read(found.address))


def _skews(
    store: Store, paths: JobPaths, markers: Mapping[int, Marker], attempt: Attempt
) -> dict[str, float]:
    """By node, where it is more than `SKEW_S`: the store's stamp on what each wrote beside its own.

    Of several objects the one that got there fastest tells most.
    """
    order = Order.model_validate_json(store.read(paths.order))
    if order.written_at is None:
        return {}
    ours = store.look(paths.order).modified.timestamp() - order.written_at
    late: dict[str, list[float]] = defaultdict(list)
    for found in store.list(paths.markers):
        marker = markers.get(int(found.address.name.removesuffix(".json")))
        if marker is not None:
            late[marker.node].append(found.modified.timestamp() - marker.ended_at)
    stamp = attempt.ended_at or attempt.ready_at
    if stamp is not None:
        stored = store.look(paths.attempt(attempt.epoch)).modified.timestamp()
        late[""].append(stored - stamp)
    ahead = {node: ours - min(stamps) for node, stamps in late.items()}
    return {node: skew for node, skew in ahead.items() if abs(skew) > SKEW_S}
