"""Counters that a scraper can read, separate for each application."""

from prometheus_client.parser import text_string_to_metric_families

from app.telemetry.metrics import make_metrics


def values(text):
    return {(sample.name, *sample.labels.values()): sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def test_what_was_counted_is_rendered():
    metrics = make_metrics()
    metrics.turns_settled.labels("completed").inc()
    metrics.appends.labels("written").inc(3)
    metrics.append_seconds.observe(0.002)
    metrics.streams_open.set(2)
    found = values(metrics.render().decode())
    assert found["context_ledger_turns_settled_total", "completed"] == 1
    assert found["context_ledger_appends_total", "written"] == 3
    assert found["context_ledger_append_seconds_count",] == 1
    assert found["context_ledger_streams_open",] == 2
    assert any(name[0] == "process_resident_memory_bytes" for name in found)


def test_two_applications_do_not_share_counters():
    one, other = make_metrics(), make_metrics()
    one.claims_lost.inc()
    assert values(other.render().decode())["context_ledger_claims_lost_total",] == 0
