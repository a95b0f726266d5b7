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
    "FollowReminder",
    "ListReminders",
    "ListRuns",
    "ListSchedules",
    "PauseReminder",
    "ReminderAdded",
    "ReminderChanged",
    "RemoveSchedule",
    "ResumeReminder",
    "RunSchedule",
    "ScheduleSet",
    "ScheduleView",
    "SchedulerRefused",
    "SetZone",
    "SnoozeReminder",
    "UnfollowReminder",
    "UpdateReminder",
    "Which",
    "ZoneFound",
    "ZoneOf",
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
    `idempotency_key` seen before creates nothing and gets the first reply again. `timezone`
    defaults to the user's (see ZoneOf), `locale` to the workspace's. `origin`: the chain of
    messages in which it is asked for.
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
    origin: str = ""


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
    """The reply is `tuple[Reminder, ...]`, soonest first: active ones, or `all` that are kept.

    `paused` adds those that are paused.
    """

    room: str | None = None
    all: bool = False
    paused: bool = False


@attrs.frozen
class Which:
    """Which reminder of `room` is meant: the one with that `id`, else the one said in `reply_to`.

    `reply_to` is the event of its own message or of its confirmation. `user` is who asks. Without
    either it is, where that makes sense, the user's own that has just fired.
    """

    room: str
    user: str
    id: str = ""
    reply_to: str | None = None


@attrs.frozen
class UpdateReminder:
    """Give a reminder another message, another time, or both; the reply is a ReminderChanged.

    `when` as in AddReminder; a paused reminder goes on by it. For this and all changes below: an
    `idempotency_key` seen before changes nothing and gets the reminder as it is now.
    """

    which: Which
    received_at: float
    message: str | None = None
    when: str | When | None = None
    locale: str | None = None
    idempotency_key: str = ""


@attrs.frozen
class SnoozeReminder:
    """Have a reminder speak (again) at `when`; the reply is a ReminderChanged.

    A one-off one is moved, be it over or still to come. A recurring one keeps its times and is said
    once more: the reply is then a new reminder. `which` may be empty: the one that has just fired.
    """

    which: Which
    when: str | When
    received_at: float
    locale: str | None = None
    idempotency_key: str = ""
    max_per_room: int = 50


@attrs.frozen
class PauseReminder:
    """Keep a reminder silent until it is resumed; the reply is a ReminderChanged."""

    which: Which
    locale: str | None = None
    idempotency_key: str = ""


@attrs.frozen
class ResumeReminder:
    """Let a paused reminder go on with its next time; the reply is a ReminderChanged."""

    which: Which
    locale: str | None = None
    idempotency_key: str = ""


@attrs.frozen
class FollowReminder:
    """Tell `which.user` too when the reminder speaks; the reply is a ReminderChanged."""

    which: Which
    locale: str | None = None


@attrs.frozen
class UnfollowReminder:
    """Tell `which.user` no longer: by that reminder, or by any of the room if `which` is empty.

    The reply is `tuple[Reminder, ...]`, those that the user followed.
    """

    which: Which
    locale: str | None = None


@attrs.frozen
class ReminderChanged:
    """The reminder as it is now, and its next instant said in local time ("" if it has none).

    `note` as in ReminderAdded. `of` is the id of the recurring reminder that is said once more.
    `before` is the reminder as it was, if it repeated and no longer does.
    """

    reminder: Reminder
    text: str = ""
    note: str = ""
    of: str = ""
    before: Reminder | None = None


@attrs.frozen
class ZoneOf:
    """Which time zone counts for a user in a room; the reply is a ZoneFound."""

    user: str | None = None
    room: str | None = None


@attrs.frozen
class SetZone:
    """Set the zone of `user`, or else of `room` (None: forget it); the reply is a ZoneFound."""

    zone: str | None
    user: str | None = None
    room: str | None = None
    locale: str | None = None


@attrs.frozen
class ZoneFound:
    """An IANA zone, and whose it is: `user`, `room`, `config` (the room's) or `workspace`."""

    zone: str
    source: str


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
