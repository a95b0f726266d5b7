"""Pure: configured schedules, occurrences, and the names derived from them."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Literal

import attrs

from channels.chain import OCCURRENCE_PREFIX, Stamp
from config.schema import ActionConfig, ScheduleConfig
from cronactor.catchup import REMINDERS, CatchUp
from cronactor.recurrence import Times, cron_times, every_times, parse_every, put_off
from cronactor.reminder import Reminder

__all__ = [
    "Job",
    "Occurrence",
    "Outcome",
    "Schedule",
    "catch_up_of",
    "iso",
    "occurrence_job",
    "occurrence_stamp",
    "occurrence_txn",
    "times_of",
    "wake_at",
]

Outcome = Literal["fired", "skipped", "missed", "failed"]


@attrs.frozen
class Schedule:
    """A schedule of an agent: from its config, or added while running (`dynamic`).

    `next_due` is the instant it is due, None while disabled; `anchor` the instant its interval
    counts from. Two schedules that differ in nothing else are the same schedule.
    """

    agent: str
    config: ScheduleConfig
    timezone: str
    dynamic: bool = False
    next_due: float | None = attrs.field(default=None, eq=False)
    anchor: float | None = attrs.field(default=None, eq=False)

    @property
    def id(self) -> str:
        """`AGENT/NAME`."""
        return f"{self.agent}/{self.config.name}"

    def dumped(self) -> str:
        """Return everything but what is due as text; equal schedules give equal text."""
        values: dict[str, Any] = attrs.asdict(self)
        del values["next_due"], values["anchor"]
        return json.dumps(values, sort_keys=True)

    @classmethod
    def loaded(cls, text: str, next_due: float | None, anchor: float | None = None) -> Schedule:
        """Read `dumped()` text. Raises ValueError, KeyError or TypeError when it is not one."""
        values = json.loads(text)
        config = dict(values.pop("config"))
        action = ActionConfig(**config.pop("action"))
        made = ScheduleConfig(action=action, **config)
        return cls(config=made, next_due=next_due, anchor=anchor, **values)


Job = Reminder | Schedule


def times_of(job: Job) -> Times | None:
    """The instants at which a job recurs; None for a one-shot.

    Raises ValueError (Explained too) for one that should never have been kept.
    """
    if isinstance(job, Reminder) and job.one_shot:
        return None
    cron, every = _recurs(job)
    if cron is not None:
        return cron_times(cron, job.timezone)
    if every is None or job.anchor is None:
        raise ValueError(f"{job.id} has neither a cron expression nor an interval with an anchor")
    return every_times(job.anchor, every)


def _recurs(job: Job) -> tuple[str | None, float | None]:
    if isinstance(job, Reminder):
        return job.cron, job.every
    text = job.config.every
    return job.config.cron, None if text is None else parse_every(text)


def wake_at(job: Job, at: float) -> float:
    """When the occurrence `at` is to be run: a schedule's jitter may put it off."""
    jitter = 0.0 if isinstance(job, Reminder) else job.config.jitter_seconds
    times = times_of(job) if jitter else None
    return at if times is None else put_off(job.id, at, jitter, times)


def catch_up_of(job: Job) -> CatchUp:
    """How a recurring job makes up for times that passed while nothing ran."""
    if isinstance(job, Reminder):
        return REMINDERS
    config = job.config
    return CatchUp(config.catch_up, config.catch_up_window_seconds, config.catch_up_limit)


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
