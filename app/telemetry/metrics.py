"""What is counted, in one registry of our own. Labels come from closed sets (routes, statuses, names of upstreams), never from a client's text."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_FAST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SLOW_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The counters of one process. Times are in seconds."""

    registry: CollectorRegistry
    requests: Counter
    request_seconds: Histogram
    appends: Counter
    append_seconds: Histogram
    compile_seconds: Histogram
    turns_running: Gauge
    turns_settled: Counter
    turn_seconds: Histogram
    calls: Counter
    call_seconds: Histogram
    attempts_failed: Counter
    tokens: Counter
    streams_open: Gauge
    deltas_written: Counter
    flush_seconds: Histogram
    claims_lost: Counter
    turns_recovered: Counter

    def render(self) -> bytes:
        """The text that a scraper reads, of the type `CONTENT_TYPE`."""
        return generate_latest(self.registry)


def make_metrics() -> Metrics:
    """Fresh counters in a registry of their own, so that two applications in one process, as in tests, do not share them."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)

    def counter(name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"context_ledger_{name}", meaning, labels, registry=registry)

    def gauge(name: str, meaning: str) -> Gauge:
        return Gauge(f"context_ledger_{name}", meaning, registry=registry)

    def histogram(name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"context_ledger_{name}", meaning, labels, buckets=buckets, registry=registry)

    return Metrics(
        registry=registry,
        requests=counter("requests", "Answered requests.", "route", "method", "status"),
        request_seconds=histogram("request_seconds", "Until the first byte of the answer.", _FAST_SECONDS, "route", "method"),
        appends=counter("appends", "Appends to the ledger.", "outcome"),
        append_seconds=histogram("append_seconds", "One append, round trip included.", _FAST_SECONDS),
        compile_seconds=histogram("compile_seconds", "Sources to body.", _FAST_SECONDS),
        turns_running=gauge("turns_running", "Turns that run in this process."),
        turns_settled=counter("turns_settled", "Turns that ended here.", "status"),
        turn_seconds=histogram("turn_seconds", "From acceptance to the end of a turn.", _SLOW_SECONDS),
        calls=counter("calls", "Model calls that ended.", "upstream", "status"),
        call_seconds=histogram("call_seconds", "From dispatch to the end of a model call.", _SLOW_SECONDS, "upstream"),
        attempts_failed=counter("attempts_failed", "Attempts of model calls that failed.", "upstream", "code"),
        tokens=counter("tokens", "Tokens as the upstream counted them.", "upstream", "direction"),
        streams_open=gauge("streams_open", "Event streams that clients read from this process."),
        deltas_written=counter("deltas_written", "Rows written to the delta log."),
        flush_seconds=histogram("flush_seconds", "One write to the delta log.", _FAST_SECONDS),
        claims_lost=counter("claims_lost", "Claims that another writer took over."),
        turns_recovered=counter("turns_recovered", "Turns of other writers that were settled here."),
    )
