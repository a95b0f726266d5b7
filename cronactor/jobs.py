"""Pure: configured schedules, occurrences, and the names derived from them."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Literal

import attrs

from channels.chain import OCCURRENCE_PREFIX, Stamp
from config.schema import ActionConfig, ScheduleConfig
from cronactor.reminder import Reminder

__all__ = [
    "Job",
    "Occurrence",
    "Outcome",
    "Schedule",
    "iso",
    "occurrence_job",
    "occurrence_stamp",
    "occurrence_txn",
]

Outcome = Literal["fired", "skipped", "missed", "failed"]


@attrs.frozen
class Schedule:
    """A schedule of an agent: from its config, or added while running (`dynamic`).

    `next_due` is the instant it is due, None while disabled. Two schedules that differ in nothing
    else are the same schedule.
    """

    agent: str
    config: ScheduleConfig
    timezone: str
    dynamic: bool = False
    next_due: float | None = attrs.field(default=None, eq=False)

    @property
    def id(self) -> str:
        """`AGENT/NAME`."""
        return f"{self.agent}/{self.config.name}"

    def dumped(self) -> str:
        """Return everything but `next_due` as text; equal schedules give equal text."""
        values: dict[str, Any] = attrs.asdict(self)
        del values["next_due"]
        return json.dumps(values, sort_keys=True)

    @classmethod
    def loaded(cls, text: str, next_due: float | None) -> Schedule:
        """Read `dumped()` text. Raises ValueError, KeyError or TypeError when it is not one."""
        values = json.loads(text)
        config = dict(values.pop("config"))
        action = ActionConfig(**config.pop("action"))
        return cls(config=ScheduleConfig(action=action, **config), next_due=next_due, **values)


Job = Reminder | Schedule


@attrs.frozen
class Occurrence:
    """One row of the ledger: a claimed occurrence and its outcome, or a run of missed ones.

    `last_at` and `count` describe a run. `token` is the fencing token of the claim, `attempts` how
    often a model run was begun. Instants are seconds since the epoch.
    """

    schedule_id: str
    scheduled_at: float
    agent: str
    room: str
    txn_id: str
    token: int
    claimed_at: float
    attempts: int = 0
    started: float | None = None
    finished: float | None = None
    outcome: Outcome | None = None
    reason: str = ""
    event_id: str | None = None
    last_at: float | None = None
    count: int = 1


def iso(instant: float) -> str:
    """An instant as ISO text in UTC."""
    return datetime.fromtimestamp(instant, UTC).isoformat()


def occurrence_txn(schedule_id: str, scheduled_at: float) -> str:
    """The transaction id of an occurrence's message: the same for ever."""
    digest = hashlib.sha256(f"{schedule_id}|{iso(scheduled_at)}".encode()).hexdigest()
    return f"occ-{digest[:24]}"


def occurrence_stamp(agent: str, schedule_id: str, scheduled_at: float) -> Stamp:
    """The stamp of what an occurrence says: it begins a chain."""
    origin = f"{OCCURRENCE_PREFIX}{schedule_id}@{iso(scheduled_at)}"
    return Stamp(agent=agent, origin=origin, chain=origin, hop=0)


def occurrence_job(stamp: Stamp | None) -> str | None:
    """The id of the reminder or schedule whose own message bears this stamp, else None."""
    if stamp is None or not stamp.starts_occurrence:
        return None
    return stamp.origin.removeprefix(OCCURRENCE_PREFIX).rpartition("@")[0] or None
