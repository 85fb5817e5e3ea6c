"""The autoscaling configuration that the head is started with.

Ray's autoscaler v2 still reads the launcher's old schema: every field below the line "legacy" is
demanded by it and means nothing to a provider that starts raylets itself.
"""

import json
from pathlib import Path
from typing import Any

from infra.clusters.base import ClusterSpec
from infra.clusters.local.ray_start import ENGINE_RESOURCE

HEAD_TYPE, NODE_TYPE = "head", "engine"
PROVIDER = "infra.clusters.local.provider.LocalNodeProvider"


def write_config(path: Path, spec: ClusterSpec, folder: Path, head_address: str) -> None:
    """Write the configuration as JSON, which is YAML."""
    path.write_text(json.dumps(config(spec, folder, head_address), indent=1))


def config(spec: ClusterSpec, folder: Path, head_address: str) -> dict[str, Any]:
    return {
        "cluster_name": spec.cluster_id,
        "max_workers": spec.max_nodes,
        "idle_timeout_minutes": spec.idle_s / 60,
        "provider": {
            "type": "external",
            "module": PROVIDER,
            "disable_node_updaters": True,
            "folder": str(folder),
            "head_address": head_address,
            "cpus": spec.cpus,
            "notice_s": spec.notice_s,
        },
        "head_node_type": HEAD_TYPE,
        "available_node_types": {
            HEAD_TYPE: {"resources": {}, "node_config": {}, "max_workers": 0},
            NODE_TYPE: {
                "resources": {"CPU": spec.cpus, ENGINE_RESOURCE: 1},
                "node_config": {},
                "min_workers": 0,
                "max_workers": spec.max_nodes,
            },
        },
        # legacy
        "auth": {},
        "upscaling_speed": 1.0,
        "docker": {},
        "initialization_commands": [],
        "setup_commands": [],
        "head_setup_commands": [],
        "worker_setup_commands": [],
        "head_start_ray_commands": [],
        "worker_start_ray_commands": [],
        "file_mounts": {},
        "cluster_synced_files": [],
        "file_mounts_sync_continuously": False,
        "rsync_exclude": [],
        "rsync_filter": [],
    }
