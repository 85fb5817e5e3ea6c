"""Clusters by provider. Each provider is a package beside `local` and keeps `base`'s contract."""

from pathlib import Path

from infra.clusters.base import Cluster, ClusterSpec
from infra.errors import ClusterError


def make_cluster(provider: str, spec: ClusterSpec, work_dir: Path) -> Cluster:
    """A cluster of `provider`, not raised yet."""
    if provider == "local":
        from infra.clusters.local.cluster import LocalCluster

        return LocalCluster(spec, work_dir)
    raise ClusterError(f"no provider {provider!r}; allowed: local")
