"""What the process counts, in Prometheus' text format."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from entrepot import __version__

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """One registry per application; parts add their own counters to `registry`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        Info("entrepot", "The program.", registry=self.registry).info({"version": __version__})
        self._requests = Counter(
            "entrepot_http_requests",
            "Requests that were answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "entrepot_http_request_seconds",
            "Time from a request's head to the end of its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._under_way = Gauge(
            "entrepot_http_requests_under_way", "Requests being answered now.", registry=self.registry
        )

    def request_began(self) -> None:
        self._under_way.inc()

    def request_ended(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer; `route` is a template, never a path, so that labels stay few."""
        self._under_way.dec()
        counter, histogram = self._children_of(
            method if method in _METHODS else "OTHER", route or "none", status
        )
        counter.inc()
        histogram.observe(seconds)

    def _children_of(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        # Methods, templates and statuses are few, and finding a child by its labels takes longer than counting.
        key = (method, route, status)
        found = self._children.get(key)
        if found is None:
            found = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
            self._children[key] = found
        return found

    def text(self) -> bytes:
        """All of it, as `/metrics` answers."""
        return generate_latest(self.registry)
