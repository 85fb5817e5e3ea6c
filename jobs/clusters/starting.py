"""Starting: how long a job's engine may take to get ready, phase by phase.

The head has a deadline of its own (`infra.clusters`). Then a node must come, then the engine must
answer; whichever does not, is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from infra.clusters.base import NodeInterval
from infra.errors import NoCapacity, StartFailed


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds from the start of each phase. Generous: a large model may have to be fetched."""

    node_s: float = 600.0
    engine_s: float = 1800.0


def check_start(
    nodes: Sequence[NodeInterval], since: float, refusal: str, now: float, deadlines: Deadlines
) -> None:
    """`StartFailed` that names the phase, when a job waits since `since` for an engine in vain.

    `NoCapacity` when the provider has no node to give. Nodes that did come are returned by whoever
    catches this.
    """
    living = [node for node in nodes if node.gone_at is None]
    if not living and refusal:
        kind = NoCapacity if refusal.startswith("no_capacity") else StartFailed
        raise kind(f"phase node: {refusal}")
    if not living and now - since > deadlines.node_s:
        raise StartFailed(f"phase node: no node came within {deadlines.node_s:g} s")
    begun = max([since, *(node.launched_at for node in living[:1])])
    if living and now - begun > deadlines.engine_s:
        raise StartFailed(f"phase engine: no engine was ready within {deadlines.engine_s:g} s")
