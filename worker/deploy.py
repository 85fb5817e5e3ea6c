"""Ray Serve: deploy the engine replicas, and take them away again."""

from typing import Any

import ray
from ray import serve
from ray.serve.config import AutoscalingConfig
from ray.serve.handle import DeploymentHandle

from jobs.bucket import StoreOptions
from jobs.order import Order
from worker.replica import Replica

APPLICATION = "zeroshift"
ENGINE_RESOURCE = "zeroshift_engine"


def connect(address: str) -> None:
    """Join the cluster at `address`, and no other that may run on this machine."""
    ray.init(address=address, namespace=APPLICATION, log_to_driver=False, logging_level="warning")


def deploy(order: Order, engine: str, store: StoreOptions) -> DeploymentHandle[Any]:
    """Deploy the replicas of `order`, or adopt those that already run with the same settings.

    Returns when they are ready; `RuntimeError` from Serve when they can't start.
    """
    serve.start(proxy_location="Disabled")
    application = _deployment(order).bind(
        engine, order.model, order.engine, order.cpus, store.to_dict()
    )
    return serve.run(application, name=APPLICATION, route_prefix=None, blocking=False)


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
        graceful_shutdown_timeout_s=10,
        ray_actor_options={"num_cpus": 1, "resources": {ENGINE_RESOURCE: 1}},
    )


def retire() -> None:
    """Remove every replica and Serve itself, so that nothing holds a node."""
    serve.shutdown()
