"""`ray`'s command line, kept on loopback: `python -m infra.clusters.local.ray_loopback start …`.

Ray replaces a loopback address by one that other machines can reach, and then listens on every
interface. It has a mode that stays on loopback, meant for laptops, which refuses a second node.
Here the mode is on for every process of the cluster (see `ray_start.cluster_environment`), and this
entry point lets a node start all the same: on a local cluster every node can reach loopback.
"""

import sys

from ray._private import ray_constants, services
from ray.scripts.scripts import main


def _same(host: str) -> str:
    return host


def run() -> int | None:
    """Run the command line that this process was started with; answers its exit status."""
    services.resolve_ip_for_localhost = _same
    ray_constants.ENABLE_RAY_CLUSTER = True  # of this process alone: its children have the variable
    status: int | None = main()  # type: ignore[no-untyped-call]
    return status


if __name__ == "__main__":
    sys.exit(run())
