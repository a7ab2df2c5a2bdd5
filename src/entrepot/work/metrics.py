"""What is counted about work."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0)


class WorkMetrics:
    """Counters of all kinds, in the registry that `/metrics` shows."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        registry = registry or CollectorRegistry()
        kind = ["kind"]
        self.claims = Counter("entrepot_work_claims", "Work that was taken.", kind, registry=registry)
        self.misses = Counter(
            "entrepot_work_misses",
            "Places in the index whose work another had taken.",
            kind,
            registry=registry,
        )
        self.outcomes = Counter(
            "entrepot_work_outcomes",
            "How attempts ended: done, again, held, failed, error (an exception), lost (the lease passed).",
            ["kind", "outcome"],
            registry=registry,
        )
        self.seconds = Histogram(
            "entrepot_work_seconds", "Time of an attempt.", kind, buckets=_SECONDS, registry=registry
        )
        self.wait_seconds = Histogram(
            "entrepot_work_wait_seconds",
            "Time from when work was due to its start.",
            kind,
            buckets=_SECONDS,
            registry=registry,
        )
        self.running = Gauge("entrepot_work_running", "Attempts under way.", kind, registry=registry)
        self.due = Gauge("entrepot_work_due", "Work that is due and not taken.", kind, registry=registry)
        self.age_seconds = Gauge(
            "entrepot_work_age_seconds", "How long the oldest due work has waited.", kind, registry=registry
        )


class KindMetrics:
    """The counters of one kind, found once."""

    __slots__ = ("_metrics", "_outcomes", "claims", "misses", "name", "running", "seconds", "wait_seconds")

    def __init__(self, metrics: WorkMetrics, kind: str) -> None:
        self._metrics = metrics
        self._outcomes: dict[str, Counter] = {}
        self.name = kind
        self.claims = metrics.claims.labels(kind)
        self.misses = metrics.misses.labels(kind)
        self.running = metrics.running.labels(kind)
        self.seconds = metrics.seconds.labels(kind)
        self.wait_seconds = metrics.wait_seconds.labels(kind)

    def ended(self, outcome: str) -> None:
        """Count how an attempt ended."""
        counter = self._outcomes.get(outcome)
        if counter is None:
            counter = self._outcomes[outcome] = self._metrics.outcomes.labels(self.name, outcome)
        counter.inc()

    def waiting(self, due: int, age_seconds: float) -> None:
        """Note how much is due, and for how long."""
        self._metrics.due.labels(self.name).set(due)
        self._metrics.age_seconds.labels(self.name).set(age_seconds)
