"""Clusters by provider. Each provider is a package beside `local` and keeps `base`'s contract."""

from pathlib import Path

from infra.clusters.base import Cluster, ClusterSpec, Sweeper
from infra.errors import ClusterError


def make_cluster(provider: str, spec: ClusterSpec, work_dir: Path) -> Cluster:
    """A cluster of `provider`, not raised yet."""
    if provider == "local":
        from infra.clusters.local.cluster import LocalCluster

        return LocalCluster(spec, work_dir)
    raise _unknown(provider)


def make_sweeper(provider: str) -> Sweeper:
    """How what runs at `provider` is found and ended without the controller that raised it."""
    if provider == "local":
        from infra.clusters.local.sweep import LocalSweeper

        return LocalSweeper()
    raise _unknown(provider)


PROVIDERS = ("local",)


def _unknown(provider: str) -> ClusterError:
    return ClusterError(f"no provider {provider!r}; allowed: {', '.join(PROVIDERS)}")
