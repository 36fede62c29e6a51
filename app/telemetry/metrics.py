"""What is counted, in one registry of our own. Labels come from closed sets (routes, statuses, names of upstreams), never from a client's text."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The counters of one process. Times are in seconds."""

    registry: CollectorRegistry
    requests: Counter
    request_seconds: Histogram

    def render(self) -> bytes:
        """The text that a scraper reads, of the type `CONTENT_TYPE`."""
        return generate_latest(self.registry)


def make_metrics() -> Metrics:
    """Fresh counters in a registry of their own, so that two applications in one process, as in tests, do not share them."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)

    return Metrics(
        registry=registry,
        requests=Counter("context_ledger_requests", "Answered requests.", ("route", "method", "status"), registry=registry),
        request_seconds=Histogram(
            "context_ledger_request_seconds", "Until the first byte of the answer.", ("route", "method"), buckets=_SECONDS, registry=registry
        ),
    )
