"""One offer, judged: the fewest ranks that fit, the cheapest nodes that meet the deadline."""

from dataclasses import dataclass

from infra.catalogue.gpus import Gpu
from infra.catalogue.offers import Offer
from infra.models.spec import ModelSpec, Quantization
from infra.planner.duration import Duration, Engines, duration
from infra.planner.engine import EngineSettings, settings_for
from infra.planner.measured import Measured
from infra.planner.memory import LONG_TEXT, Memory, rank_memory
from infra.planner.money import billed_s, cost_of, hourly_price
from infra.planner.quote import Candidate
from infra.planner.weights import divides
from infra.planner.workload import Tokens, Workload

RANKS = (1, 2, 4, 8)
MOST_NODES = 64


@dataclass(frozen=True, slots=True)
class Wish:
    """What limits the choice: seconds to the last answer, spot prices, a job that may wait."""

    deadline_s: float | None = None
    spot: bool = False

    @property
    def patient(self) -> bool:
        return self.deadline_s is None


@dataclass(frozen=True, slots=True)
class Fit:
    """Engine settings that fit a GPU, and how its memory is shared out."""

    gpu: Gpu
    engine: EngineSettings
    memory: Memory

    @property
    def ranks(self) -> int:
        return self.engine.tensor_parallel


class Unfit(Exception):
    """This offer can't do the job; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Judge:
    """One model and job, held against offers."""

    spec: ModelSpec
    quantization: Quantization
    work: Workload
    tokens: Tokens
    wish: Wish

    def best(self, offer: Offer, gpu: Gpu, known: Measured | None) -> Candidate:
        """The cheapest way on `offer`; `Unfit` with the reason when there is none."""
        if gpu.memory_gib is None:
            raise Unfit(f"memory of {gpu.name} is unknown")
        if not gpu.timed:
            raise Unfit(f"speed of {gpu.name} is unknown: no time can be told")
        if self.wish.spot and offer.spot_usd_per_hour is None:
            raise Unfit("spot price is unknown")
        fit = self._fewest_ranks(offer, gpu)
        if self.wish.deadline_s is None:  # more nodes only start more often
            return self.on_nodes(offer, fit, 1, known)
        return self._in_time(offer, fit, known, self.wish.deadline_s)

    def _in_time(
        self, offer: Offer, fit: Fit, known: Measured | None, deadline_s: float
    ) -> Candidate:
        """The cheapest number of nodes that meets the deadline. Where a meter runs in hours that is
        not always the fewest: two that stay under one hour can cost less than one in two."""
        alone = self.takes(fit, node_size(offer, fit.ranks), known)
        counts = range(1, self._most_nodes(offer) + 1)
        timely = [nodes for nodes in counts if alone.over(nodes).wall.high <= deadline_s]
        if not timely:
            slow = alone.over(counts[-1]).wall.high
            raise Unfit(f"misses the deadline: {slow:,.0f} s at the slow end, nodes: {counts[-1]}")
        nodes = min(timely, key=lambda n: billed_s(offer, n, alone.over(n).node.expected))
        return self._candidate(offer, fit, nodes, alone.over(nodes))

    def _most_nodes(self, offer: Offer) -> int:
        """More nodes than pictures would only idle."""
        return max(1, min(offer.max_nodes, MOST_NODES, self.work.images))

    def _fewest_ranks(self, offer: Offer, gpu: Gpu) -> Fit:
        """The smallest tensor parallelism that fits with headroom on one node of `offer`."""
        worst: Memory | None = None
        for ranks in RANKS:
            if not divides(self.spec, ranks) or ranks > max(offer.gpus_per_node):
                continue
            engine = settings_for(self.spec, self.quantization, self.work, self.tokens, ranks)
            memory = self.memory(gpu, engine)
            if memory.fits and not memory.tight:
                return Fit(gpu, engine, memory)
            worst = memory
        if worst is None:
            raise Unfit(f"{self.spec.name} can't be cut into that many GPUs")
        raise Unfit(worst.reason)

    def memory(self, gpu: Gpu, engine: EngineSettings) -> Memory:
        together = (self.work.concurrency or 1) * self.tokens.sequence
        text = self.work.prompt_tokens + self.work.max_output
        return rank_memory(
            self.spec, gpu, self.quantization, engine, together, long_text=text > LONG_TEXT
        )

    def batch(self, fit: Fit) -> int:
        """Questions that a replica holds at a time: what the KV cache takes, within the limit."""
        held = fit.memory.kv_tokens // self.tokens.sequence
        return max(1, min(held, fit.engine.max_num_seqs))

    def takes(self, fit: Fit, gpus: int, known: Measured | None) -> Duration:
        """Seconds of the job on so many GPUs in all."""
        engines = Engines(
            self.spec, fit.gpu, self.quantization, fit.ranks, gpus // fit.ranks, self.batch(fit)
        )
        return duration(engines, self.work, self.tokens, known)

    def on_nodes(self, offer: Offer, fit: Fit, nodes: int, known: Measured | None) -> Candidate:
        """So many nodes of `offer`, whatever the deadline."""
        took = self.takes(fit, node_size(offer, fit.ranks) * nodes, known)
        return self._candidate(offer, fit, nodes, took)

    def _candidate(self, offer: Offer, fit: Fit, nodes: int, took: Duration) -> Candidate:
        size = node_size(offer, fit.ranks)
        whole = hourly_price(offer, self.wish.spot, self.wish.patient)
        price = None if whole is None else whole * size / offer.gpus
        return Candidate(
            gpu=fit.gpu,
            offer=offer,
            nodes=nodes,
            gpus=nodes * size,
            replicas=nodes * (size // fit.ranks),
            batch=self.batch(fit),
            quantization=self.quantization,
            engine=fit.engine,
            memory=fit.memory,
            duration=took,
            cost=cost_of(offer, nodes, took.node, self.work.images, price),
            usd_per_hour=price,
        )


def node_size(offer: Offer, ranks: int) -> int:
    """GPUs of the smallest node of `offer` that holds one replica."""
    return min(size for size in offer.gpus_per_node if size >= ranks)
