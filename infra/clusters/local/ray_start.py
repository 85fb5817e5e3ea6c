"""The `ray start` command lines and environments of a local head and of local nodes.

Everything is bound to loopback, every port is one that was free a moment ago or left to the
system, and Ray's token authentication is on with a token file of this cluster alone.
"""

import json
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from infra.clusters.local.processes import CLUSTER_TAG, FLEET_TAG, NODE_TAG

HOST = "127.0.0.1"
ENGINE_RESOURCE = "zeroshift_engine"
OBJECT_STORE_BYTES = 100 * 1024 * 1024
HEAD_RAY = (sys.executable, "-m", "infra.clusters.local.ray_loopback")
NODE_RAY = (sys.executable, "-m", "infra.clusters.local.node_process")
START = ("start", "--block")
NODE_TYPE_VARIABLE = "RAY_NODE_TYPE_NAME"
INSTANCE_VARIABLE = "RAY_CLOUD_INSTANCE_ID"
# Of setproctitle, which Ray and vLLM use: a title is written over the arguments alone, and not over
# the environment behind them, where the tags are.
KEEP_ENVIRONMENT = "SPT_NOENV"


def free_ports(count: int) -> list[int]:
    """Ports free on loopback now, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def write_token(path: Path) -> None:
    """A fresh token that only this user can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))


def cluster_environment(
    base: Mapping[str, str],
    cluster_id: str,
    folder: Path,
    metric_ports: tuple[int, int],
    fleet: str = "",
) -> dict[str, str]:
    """What every process of the cluster gets: the tags, the token, quiet and private defaults."""
    kept = {k: v for k, v in base.items() if not k.startswith("RAY_")}
    return {
        **kept,
        CLUSTER_TAG: cluster_id,
        FLEET_TAG: fleet,
        KEEP_ENVIRONMENT: "1",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(folder / "token"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # stays on loopback: see ray_loopback
        "RAY_DISABLE_IMPORT_WARNING": "1",
        "RAY_enable_autoscaler_v2": "1",
        "RAY_SERVE_ENABLE_TASK_EVENTS": "0",
        "AUTOSCALER_METRIC_PORT": str(metric_ports[0]),
        "DASHBOARD_METRIC_PORT": str(metric_ports[1]),
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "PYTHONWARNINGS": "ignore",
    }


def head_command(port: int, config: Path, temp: Path) -> list[str]:
    return [
        *HEAD_RAY,
        *START,
        "--head",
        f"--port={port}",
        "--num-cpus=0",
        "--num-gpus=0",
        "--include-dashboard=false",
        f"--ray-client-server-port={free_ports(1)[0]}",
        f"--autoscaling-config={config}",
        f"--temp-dir={temp}",
        *_common(),
    ]


def node_command(head_address: str, cpus: int, signs: Path) -> list[str]:
    """A node that leaves its signs at `signs`."""
    resources = json.dumps({ENGINE_RESOURCE: 1})
    return [
        *NODE_RAY,
        str(signs),
        *START,
        f"--address={head_address}",
        f"--num-cpus={cpus}",
        "--num-gpus=0",
        f"--resources={resources}",
        *_common(),
    ]


def node_environment(base: Mapping[str, str], node_id: str, node_type: str) -> dict[str, str]:
    """The variables by which autoscaler v2 matches a raylet with the instance it asked for."""
    return {
        **base,
        NODE_TAG: node_id,
        NODE_TYPE_VARIABLE: node_type,
        INSTANCE_VARIABLE: node_id,
    }


def _common() -> list[str]:
    listen, grpc, runtime, metrics = free_ports(4)
    return [
        f"--node-ip-address={HOST}",
        f"--object-store-memory={OBJECT_STORE_BYTES}",
        f"--dashboard-agent-listen-port={listen}",
        f"--dashboard-agent-grpc-port={grpc}",
        f"--runtime-env-agent-port={runtime}",
        f"--metrics-export-port={metrics}",
        "--disable-usage-stats",
        "--include-log-monitor=false",
        "--log-color=false",
    ]
