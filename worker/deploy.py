"""Ray Serve: deploy the engine replicas, and take them away again."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import ray
from ray import PlacementGroupID, serve
from ray.serve.config import AutoscalingConfig
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import ApplicationStatus
from ray.util import list_named_actors, placement_group_table, remove_placement_group
from ray.util.placement_group import PlacementGroup

from jobs.order import Order
from jobs.store.bucket import StoreOptions
from worker.notice import NOTICE_S
from worker.replica import Replica

APPLICATION = "zeroshift"
ENGINE_RESOURCE = "zeroshift_engine"
RAYS_OWN = "_ray_internal"  # names of actors that Ray itself keeps


def connect(address: str) -> None:
    """Join the cluster at `address`, and no other that may run on this machine."""
    ray.init(address=address, namespace=APPLICATION, log_to_driver=False, logging_level="warning")


def deploy(
    order: Order, engine: str, store: StoreOptions, check: Callable[[], None] = lambda: None
) -> DeploymentHandle[Any]:
    """Deploy the replicas of `order`, or adopt those that already run with the same settings.

    Returns when they are ready; `RuntimeError` from Serve when they can't start. `check` raises
    when they can't either, before a node is asked for.
    """
    serve.start(proxy_location="Disabled")
    bound = (engine, order.model, order.engine, order.cpus, store.to_dict())
    name = f"{APPLICATION}-{_digest(*bound, order.replicas, order.in_flight)}"
    running = serve.status().applications
    if name in running and running[name].status == ApplicationStatus.RUNNING:
        return serve.get_app_handle(name)
    check()
    for other in running:  # it holds what the new one needs
        serve.delete(other)
    application = _deployment(order).bind(*bound)
    return serve.run(application, name=name, route_prefix=None, blocking=False)


def _digest(*settings: Any) -> str:
    """Serve restarts every replica of an application that is deployed again, whatever has changed:
    so the name says whether anything has."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def _deployment(order: Order) -> Any:
    scaling = AutoscalingConfig(
        min_replicas=0,
        initial_replicas=order.replicas,
        max_replicas=order.replicas,
        target_ongoing_requests=1,
        upscale_delay_s=0,
        # Longer than any pause in a job: the controller decides when the cluster rests.
        downscale_delay_s=3600,
    )
    return serve.deployment(
        Replica,
        name="engine",
        autoscaling_config=scaling,
        max_ongoing_requests=order.in_flight + 1,
        health_check_period_s=5,
        health_check_timeout_s=60,
        # On a node that was given notice Serve ends a replica this long before the node goes: at
        # once, that is. It gets nothing new, and what it works on may be finished.
        graceful_shutdown_timeout_s=NOTICE_S,
        ray_actor_options={"num_cpus": 1, "resources": {ENGINE_RESOURCE: 1}},
    )


def retire() -> None:
    """Remove every replica, Serve itself, and what else would hold a node.

    The autoscaler keeps a node for a detached actor that asks for nothing, and for a placement
    group that nobody uses. The cluster is ours alone: whatever is on it is ours to end.
    """
    serve.shutdown()
    for name in list_named_actors(all_namespaces=True):
        if not name["name"].startswith(RAYS_OWN):
            _kill(name["name"], name["namespace"])
    for group_id, group in placement_group_table().items():
        if group["state"] != "REMOVED":
            remove_placement_group(PlacementGroup(PlacementGroupID(bytes.fromhex(group_id))))


def _kill(name: str, namespace: str) -> None:
    try:
        ray.kill(ray.get_actor(name, namespace))
    except ValueError:  # it has gone meanwhile
        return
