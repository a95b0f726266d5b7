"""Counts kept as plain numbers, gauges read at scrape time; the Prometheus text is made on demand.

prometheus-client is imported by the first scrape, not at start-up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

__all__ = ["AGENT_STATES", "Metrics", "Statistics"]

AGENT_STATES = (
    "starting",
    "running",
    "draining",
    "reconnecting",
    "backoff",
    "stopped",
    "quarantined",
    "invalid",
    "failed",
)

_SERIES_LIMIT = 500  # label values come from names; a flood of them must not fill the memory

_COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "turns": ("Turns by how they ended.", ("end",)),
    "dead_letters": ("Messages that nobody could handle, by reason.", ("reason",)),
    "restarts": ("Restarts by child.", ("child",)),
    "reloads": ("Reloads of an agent by result.", ("result",)),
    "reminders": ("Occurrences by outcome.", ("outcome",)),
    "http_requests": ("Requests to the API.", ("method", "route", "status")),
    "log_lines_lost": ("Log lines that could not be written.", ()),
}
_GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "mailbox_depth": ("Messages that wait in a mailbox.", ("address",)),
    "agent_state": ("1 for the state an agent is in, 0 for the others.", ("agent", "state")),
    "outbox_pending": ("Messages that wait to be sent.", ("agent",)),
    "start_time_seconds": ("When the supervisor started, seconds since the epoch.", ()),
    "event_streams": ("Readers of /api/events.", ()),
}


@attrs.frozen
class Statistics:
    """What others count already, read at the moment of a scrape."""

    started: float = 0.0  # seconds since the epoch
    mailboxes: Mapping[str, int] = attrs.field(factory=dict)  # address -> depth
    agents: Mapping[str, str] = attrs.field(factory=dict)  # id -> state
    outbox: Mapping[str, int] = attrs.field(factory=dict)  # agent -> pending rows
    dead_letters: Mapping[str, int] = attrs.field(factory=dict)  # reason -> count so far
    restarts: Mapping[str, int] = attrs.field(factory=dict)  # child path -> count so far
    log_lines_lost: int = 0
    event_streams: int = 0


class Metrics:
    """The runtime's own counters. Every method is cheap, never blocks and never raises."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in _COUNTERS}
        self._registry: CollectorRegistry | None = None
        self._statistics = Statistics()

    def turn(self, end: str) -> None:
        """Count a turn by its end: answered, declined, raised, interrupted."""
        self._count("turns", end)

    def reload(self, result: str) -> None:
        """Count a reload of one agent: reloaded, failed, started, stopped."""
        self._count("reloads", result)

    def reminder(self, outcome: str, count: int = 1) -> None:
        """Count occurrences by their outcome: fired, skipped, missed, failed."""
        self._count("reminders", outcome, by=count)

    def dead_letter(self, reason: str) -> None:
        """Count a dead letter that no statistics know of (an answer slot given up)."""
        self._count("dead_letters", reason)

    def http_request(self, method: str, route: str, status: int) -> None:
        """Count a request; `route` is the endpoint's name, never the path that was asked for."""
        self._count("http_requests", method if method.isalpha() else "other", route, str(status))

    def _count(self, name: str, *labels: str, by: int = 1) -> None:
        counter = self._counts[name]
        if labels not in counter and len(counter) >= _SERIES_LIMIT:
            labels = ("other",) * len(labels)
        counter[labels] += by

    def render(self, statistics: Statistics) -> bytes:
        """Return the Prometheus text: counters, these statistics, the process's own figures."""
        from prometheus_client import generate_latest

        if self._registry is None:
            self._registry = self._make_registry()
        self._statistics = statistics
        return bytes(generate_latest(self._registry))

    def _make_registry(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, ProcessCollector

        registry = CollectorRegistry()
        registry.register(self)
        ProcessCollector(registry=registry)  # memory, descriptors, CPU: one read of /proc a scrape
        return registry

    def collect(self) -> Iterator[Metric]:
        """Yield every family (prometheus-client's collector protocol)."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, (text, labels) in _COUNTERS.items():
            yield _family(CounterMetricFamily, name, text, labels, self._totals(name))
        for name, (text, labels) in _GAUGES.items():
            yield _family(GaugeMetricFamily, name, text, labels, self._levels(name))

    def _totals(self, name: str) -> Mapping[tuple[str, ...], float]:
        totals: Counter[tuple[str, ...]] = Counter(self._counts[name])
        known = getattr(self._statistics, name, {})
        totals.update(
            {(): known} if isinstance(known, int) else {(k,): v for k, v in known.items()}
        )
        return totals

    def _levels(self, name: str) -> Mapping[tuple[str, ...], float]:
        now = self._statistics
        match name:
            case "mailbox_depth":
                return {(address,): depth for address, depth in now.mailboxes.items()}
            case "agent_state":
                return _states(now.agents)
            case "outbox_pending":
                return {(agent,): rows for agent, rows in now.outbox.items()}
            case "event_streams":
                return {(): now.event_streams}
            case _:
                return {(): now.started}


def _states(agents: Mapping[str, str]) -> dict[tuple[str, ...], float]:
    return {
        (agent, name): float(name == state)
        for agent, state in agents.items()
        for name in dict.fromkeys((*AGENT_STATES, state))
    }


def _family(
    kind: Any,
    name: str,
    text: str,
    labels: tuple[str, ...],
    values: Mapping[tuple[str, ...], float],
) -> Metric:
    family: Metric = kind(f"vivero_{name}", text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)  # type: ignore[attr-defined]
    return family
