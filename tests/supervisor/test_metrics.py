"""The Prometheus text: what was counted, what is read at scrape time, and nothing without bound."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from supervisor.metrics import Metrics, Statistics

pytestmark = pytest.mark.promise("P7")


def scrape(metrics: Metrics, statistics: Statistics | None = None) -> dict[str, float]:
    text = metrics.render(statistics or Statistics()).decode()
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_counters_count() -> None:
    metrics = Metrics()
    metrics.turn("answered")
    metrics.turn("answered")
    metrics.reload("failed")
    metrics.reminder("fired")
    metrics.http_request("GET", "status", 200)
    found = scrape(metrics)
    assert found["vivero_turns_total[('end', 'answered')]"] == 2
    assert found["vivero_reloads_total[('result', 'failed')]"] == 1
    assert found["vivero_reminders_total[('outcome', 'fired')]"] == 1
    labels = [("method", "GET"), ("route", "status"), ("status", "200")]
    assert found[f"vivero_http_requests_total{labels}"] == 1


def test_gauges_are_read_at_scrape_time() -> None:
    metrics = Metrics()
    before = Statistics(started=5.0, mailboxes={"asistente": 2}, agents={"asistente": "running"})
    found = scrape(metrics, before)
    assert found["vivero_mailbox_depth[('address', 'asistente')]"] == 2
    assert found["vivero_agent_state[('agent', 'asistente'), ('state', 'running')]"] == 1
    assert found["vivero_agent_state[('agent', 'asistente'), ('state', 'stopped')]"] == 0
    assert found["vivero_start_time_seconds[]"] == 5
    after = Statistics(agents={"asistente": "quarantined"}, outbox={"asistente": 3})
    found = scrape(metrics, after)
    assert found["vivero_agent_state[('agent', 'asistente'), ('state', 'quarantined')]"] == 1
    assert found["vivero_outbox_pending[('agent', 'asistente')]"] == 3
    assert "vivero_mailbox_depth[('address', 'asistente')]" not in found


def test_what_others_count_is_added_to_what_is_counted_here() -> None:
    metrics = Metrics()
    metrics.dead_letter("turn_failed")
    statistics = Statistics(
        dead_letters={"turn_failed": 2, "unknown_address": 1},
        restarts={"root/api": 4},
        log_lines_lost=7,
    )
    for _ in range(2):
        found = scrape(metrics, statistics)
        assert found["vivero_dead_letters_total[('reason', 'turn_failed')]"] == 3
        assert found["vivero_dead_letters_total[('reason', 'unknown_address')]"] == 1
        assert found["vivero_restarts_total[('child', 'root/api')]"] == 4
        assert found["vivero_log_lines_lost_total[]"] == 7


def test_a_flood_of_names_ends_in_one_series() -> None:
    metrics = Metrics()
    for number in range(5_000):
        metrics.http_request("GET", f"r{number}", 200)
    metrics.http_request("X\n", "r", 200)
    found = [name for name in scrape(metrics) if name.startswith("vivero_http_requests_total")]
    assert len(found) <= 502
    assert any("'other'" in name for name in found)


def test_labels_with_odd_characters_survive() -> None:
    odd = 'a"b\\c\nd'
    found = scrape(Metrics(), Statistics(mailboxes={odd: 1}))
    assert any(value == 1 and "vivero_mailbox_depth" in name for name, value in found.items())


def test_the_process_itself_is_measured() -> None:
    assert scrape(Metrics())["process_resident_memory_bytes[]"] > 1e6


def test_nothing_is_imported_before_the_first_scrape() -> None:
    code = "import sys, supervisor.metrics; print('prometheus_client' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
