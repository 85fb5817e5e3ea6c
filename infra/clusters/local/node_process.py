"""A local node's root process: `python -m infra.clusters.local.node_process PLACE start --block …`.

It is `ray start` (see `ray_loopback`) that leaves two signs at PLACE: one when the node is part of
the cluster, one when it is given notice, which is SIGTERM from outside, as a cloud does before it
takes a spot node back. What follows a notice is Ray's: the node is drained as preempted, Serve
starts replicas elsewhere, and the node goes when nothing is left on it, or when its time is over.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ray._private import node, utils

from infra.clusters.local import ray_loopback, signs

Handler = Callable[[int, FrameType | None], None]


def telling_node(place: Path) -> type[node.Node]:
    """Ray's node, which returns from its construction when the cluster knows it."""

    class TellingNode(node.Node):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            signs.give(place, signs.JOINED)

    return TellingNode


def telling(place: Path, install: Callable[[Handler], None]) -> Callable[[Handler], None]:
    """Ray's way to install a handler of SIGTERM; the handler gives the sign first."""

    def install_telling(handler: Handler) -> None:
        def tell(number: int, frame: FrameType | None) -> None:
            try:
                signs.give(place, signs.NOTICE)
            finally:
                handler(number, frame)

        install(tell)

    return install_telling


if __name__ == "__main__":
    place = Path(sys.argv.pop(1))
    utils.set_sigterm_handler = telling(place, utils.set_sigterm_handler)
    node.Node = telling_node(place)  # type: ignore[misc]  # `ray start` looks it up there
    sys.exit(ray_loopback.run())
