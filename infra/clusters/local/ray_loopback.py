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


if __name__ == "__main__":
    services.resolve_ip_for_localhost = _same
    ray_constants.ENABLE_RAY_CLUSTER = True  # of this process alone: its children have the variable
    sys.exit(main())  # type: ignore[no-untyped-call]
