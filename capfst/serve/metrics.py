"""Counts and times of a service, as Prometheus reads them at `/metrics`."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The measures of one service."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "capfst_requests", "Requests, by route and status.", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "capfst_request_seconds", "Time to answer a request.", ["route"], buckets=_SECONDS, registry=registry
        )
        self.batch = Histogram(
            "capfst_batch_texts", "Texts that were recased by one call.", buckets=_TEXTS, registry=registry
        )
        self.closed = Counter(
            "capfst_connections_closed", "Connections that were closed, by reason.", ["reason"], registry=registry
        )

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Add a measure that is read when it is asked for."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests.labels(route, status).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all measures in Prometheus' text format."""
        return generate_latest(self.registry)
