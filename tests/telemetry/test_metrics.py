"""Counters that a scraper can read, separate for each application, and none that nothing feeds."""

import re
from dataclasses import fields
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from app.telemetry.metrics import Metrics, make_metrics

APP = Path(__file__).parents[2] / "app"


def values(text):
    return {(sample.name, *sample.labels.values()): sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def test_what_was_counted_is_rendered():
    metrics = make_metrics()
    metrics.requests.labels("/readyz", "GET", "200").inc(3)
    metrics.request_seconds.labels("/readyz", "GET").observe(0.002)
    found = values(metrics.render().decode())
    assert found["context_ledger_requests_total", "GET", "/readyz", "200"] == 3
    assert found["context_ledger_request_seconds_count", "GET", "/readyz"] == 1
    assert any(name[0] == "process_resident_memory_bytes" for name in found)


def test_two_applications_do_not_share_counters():
    one, other = make_metrics(), make_metrics()
    one.requests.labels("/readyz", "GET", "200").inc()
    counted = "context_ledger_requests_total", "GET", "/readyz", "200"
    assert values(one.render().decode())[counted] == 1
    assert counted not in values(other.render().decode())


def test_a_counter_that_nothing_feeds_is_not_shown():
    fed = set(re.findall(r"\bmetrics\.(\w+)(?:\.labels\(.*\))?\.(?:inc|observe|set)\(", "".join(path.read_text() for path in APP.rglob("*.py"))))
    assert fed == {field.name for field in fields(Metrics)} - {"registry"}
