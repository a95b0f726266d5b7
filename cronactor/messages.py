"""What the scheduler is asked: frozen bodies for the address `scheduler`, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cronactor.phrases import When
from cronactor.reminder import Reminder

if TYPE_CHECKING:
    from config.schema import ScheduleConfig
    from cronactor.jobs import Occurrence, Schedule

__all__ = [
    "SCHEDULER",
    "AddReminder",
    "AddSchedule",
    "DeleteReminder",
    "ListReminders",
    "ListRuns",
    "ListSchedules",
    "ReminderAdded",
    "RemoveSchedule",
    "RunSchedule",
    "ScheduleSet",
    "ScheduleView",
    "SchedulerRefused",
]

SCHEDULER = "scheduler"
"""The scheduler's address."""


class SchedulerRefused(Exception):
    """A request that was understood and refused; the text says what to send instead."""


@attrs.frozen
class AddReminder:
    """Create a reminder; the reply is a ReminderAdded.

    `when`: a phrase (`mañana a las 9`), a cron expression, or either one already read. A phrase
    counts from `received_at` (seconds since the epoch), when the person's message came in.
    `recurring`: True or False refuses the other kind, None takes what `when` says. An
    `idempotency_key` seen before creates nothing and gets the first reply again. `timezone` and
    `locale` default to the workspace's.
    """

    agent: str
    room: str
    user: str
    message: str
    when: str | When
    received_at: float
    recurring: bool | None = None
    timezone: str | None = None
    locale: str | None = None
    idempotency_key: str = ""
    max_per_room: int = 50


@attrs.frozen
class ReminderAdded:
    """The reminder kept, the instant it first speaks, and that instant said in local time.

    `note` is one sentence when the clocks change at that time, else "".
    """

    reminder: Reminder
    due: float
    recurring: bool
    text: str
    note: str = ""


@attrs.frozen
class DeleteReminder:
    """Delete an active reminder of `room` (None: of any room); the reply is the Reminder."""

    id: str
    room: str | None
    locale: str | None = None


@attrs.frozen
class ListReminders:
    """The reply is `tuple[Reminder, ...]`, soonest first: active ones, or `all` that are kept."""

    room: str | None = None
    all: bool = False


@attrs.frozen
class ScheduleSet:
    """The configured schedules of an agent, on its load and each reload (empty: it has none).

    Unchanged ones keep what they are owed; new and changed ones start now; others are removed. The
    reply is `tuple[str, ...]`, their ids.
    """

    agent: str
    schedules: tuple[ScheduleConfig, ...]


@attrs.frozen
class AddSchedule:
    """Add one schedule while running, kept over restarts; the reply is its id (`AGENT/NAME`)."""

    agent: str
    schedule: ScheduleConfig


@attrs.frozen
class RemoveSchedule:
    """Remove a schedule by its id; the reply is its id. A run in progress goes on."""

    id: str


@attrs.frozen
class RunSchedule:
    """Run a schedule now, beside its calendar; the reply is its Occurrence when it has ended."""

    id: str


@attrs.frozen
class ListSchedules:
    """The reply is `tuple[ScheduleView, ...]`, by id."""

    agent: str | None = None


@attrs.frozen
class ScheduleView:
    """A schedule, when it is due next (None while disabled), and its latest occurrence."""

    schedule: Schedule
    next_due: float | None
    last: Occurrence | None


@attrs.frozen
class ListRuns:
    """The reply is `tuple[Occurrence, ...]`, newest first, of one schedule or reminder, or all."""

    schedule: str | None = None
    limit: int = 50
