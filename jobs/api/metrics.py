"""Figures of the server for Prometheus, beside those that the context has from elsewhere.

prometheus_client is imported when they are asked for first.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jobs.api.access.audit import Counts

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from jobs.api.context import Context


class RequestFigures:
    """A collector of what the audit counted."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily

        requests = CounterMetricFamily(
            "zeroshift_http_requests",
            "Requests to the API.",
            labels=["method", "route", "status"],
        )
        for (method, route, status), count in list(self._counts.requests.items()):
            requests.add_metric([method, route, str(status)], count)
        seconds = CounterMetricFamily(
            "zeroshift_http_request_seconds", "Seconds spent on requests.", labels=["route"]
        )
        for route, spent in list(self._counts.seconds.items()):
            seconds.add_metric([route], spent)
        yield requests
        yield seconds


def exposition(here: "Context") -> tuple[bytes, str]:
    """All figures as text, and its media type."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

    make = here.registry_of
    registry = make(here.store, here.settings) if make else CollectorRegistry()
    registry.register(RequestFigures(here.counts))
    return generate_latest(registry), CONTENT_TYPE_LATEST
