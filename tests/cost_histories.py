"""Random histories of nodes and of the jobs on them, for tests of invariants."""

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from hypothesis import strategies as st

from infra.clusters.base import NodeInterval
from jobs.cost.account import Tenancy
from jobs.cost.told import Ending, Told
from jobs.order import Attempt, Marker, Turn
from jobs.record import OfferSnapshot, Record

BEGAN = 1_700_000_000.0
SPAN_S = 20_000
seconds = st.integers(0, SPAN_S * 1000).map(lambda ms: ms / 1000)
moments = seconds.map(lambda s: round(BEGAN + s, 3))
maybe = st.none() | moments
stretches = st.lists(
    st.tuples(moments, st.integers(0, 900_000)).map(
        lambda each: (each[0], round(each[0] + each[1] / 1000, 3))
    ),
    max_size=6,
)


def offer(
    usd_per_hour: str | None = "3.60",
    step_s: int | None = 1,
    minimum_s: int | None = 0,
    boot_billed: bool | None = None,
    discount: str | None = None,
) -> OfferSnapshot:
    return OfferSnapshot(
        name="o",
        usd_per_hour=None if usd_per_hour is None else Decimal(usd_per_hour),
        billing_granularity_s=step_s,
        minimum_s=minimum_s,
        catalogue_date="today",
        boot_billed=boot_billed,
        async_discount=None if discount is None else Decimal(discount),
    )


offers = st.builds(
    offer,
    st.decimals(0, 100, places=6).map(str),
    st.sampled_from([1, 60, 3600, None]),
    st.sampled_from([0, 60, 600, None]),
    st.sampled_from([True, False, None]),
    st.sampled_from([None, "0.5", "0.333333"]),
)


@st.composite
def intervals(draw, name: str = "n") -> NodeInterval:
    """A node that is gone, whose provider's stamps are in order."""
    stamps = sorted(draw(moments) for _ in range(4))
    launched, joined, left, gone = stamps
    return NodeInterval(
        name,
        launched,
        gone,
        draw(st.sampled_from([None, joined])),
        draw(st.sampled_from([None, left])),
        draw(st.booleans()),
    )


@st.composite
def tellings(draw, nodes: tuple[str, ...] = ("n", "m", "")) -> Told:
    """Whatever workers may tell, by clocks that may be wrong: also what can't be."""
    markers = tuple(
        Marker(
            shard=shard,
            epoch=1,
            attempt=draw(st.integers(1, 3)),
            rows=draw(st.integers(0, 9)),
            errors=0,
            digest="d",
            started_at=draw(moments),
            ended_at=draw(moments),
            node=draw(st.sampled_from(nodes)),
            busy=draw(st.none() | stretches.map(tuple)),
            loading_at=draw(maybe),
            ready_at=draw(maybe),
        )
        for shard in range(draw(st.integers(0, 4)))
    )
    turns = tuple(
        Turn(
            shard=draw(st.integers(0, 4)),
            epoch=1,
            attempt=draw(st.integers(1, 4)),
            node=draw(st.sampled_from(nodes)),
            began_at=draw(moments),
            busy=draw(st.none() | stretches.map(tuple)),
        )
        for _ in range(draw(st.integers(0, 4)))
    )
    attempt = Attempt(epoch=1, loading_at=draw(maybe), ready_at=draw(maybe))
    skews = {name: draw(st.sampled_from([0.0, -300.0, 300.0, 7.5])) for name in nodes}
    return Told(attempt, markers, turns, skews)


@dataclass(frozen=True)
class History:
    """Nodes of one cluster, and tenancies that follow each other on it from first to last."""

    nodes: tuple[NodeInterval, ...]
    stays: tuple[tuple[Tenancy, float], ...]
    offer: OfferSnapshot

    def entries(self):
        return [e for stay, until in self.stays for e in stay.entries(self.nodes, until)]


@st.composite
def histories(draw) -> History:
    nodes = tuple(draw(intervals(name)) for name in draw(st.sampled_from([("n",), ("n", "m")])))
    price = draw(offers)
    first = min(node.launched_at for node in nodes)
    last = max(node.gone_at or 0.0 for node in nodes)
    cuts = sorted({first, last, *draw(st.lists(moments, max_size=3))})
    edges = [cut for cut in cuts if first <= cut <= last]
    stays = tuple(
        (
            Tenancy(
                record(f"j{number}", number + 1),
                "c",
                price,
                since,
                draw(tellings()),
                Ending(draw(maybe), draw(maybe)),
                setback=draw(st.booleans()),
            ),
            until,
        )
        for number, (since, until) in enumerate(pairwise(edges))
    )
    return History(nodes, stays, price)


def record(job_id: str, epoch: int = 1) -> Record:
    return Record(job_id=job_id, created_at=BEGAN, output="s3://b/o/", model="m", epoch=epoch)
