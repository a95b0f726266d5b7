"""Pure: reminders, schedules and occurrences as the desk shows them to people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cronactor.jobs import Occurrence
from cronactor.messages import ScheduleView
from cronactor.reminder import PAUSED, Reminder
from supervisor.desk.office import CronInfo, CronRun, LastRun, NamedError, ReminderInfo
from supervisor.zoned import local_time

__all__ = ["cron_info", "one_schedule", "reminder_info", "run_info"]


def reminder_info(reminder: Reminder) -> ReminderInfo:
    """Return a reminder as people see it, in its own zone."""
    due = reminder.next_due if reminder.state != PAUSED else None
    return ReminderInfo(
        id=reminder.id,
        room=reminder.room,
        user=reminder.user,
        message=reminder.message,
        kind=reminder.kind,
        cron=reminder.cron,
        next=local_time(due, reminder.timezone) if due is not None else None,
        timezone=reminder.timezone,
        state=reminder.state,
    )


def cron_info(view: ScheduleView) -> CronInfo:
    """Return a schedule as people see it, in its own zone."""
    schedule, last = view.schedule, view.last
    zone = schedule.timezone
    return CronInfo(
        id=schedule.id,
        cron=schedule.config.when,
        timezone=zone,
        next=local_time(view.next_due, zone) if view.next_due is not None else None,
        last=LastRun(local_time(last.scheduled_at, zone), last.outcome) if last else None,
    )


def run_info(run: Occurrence, zone: str) -> CronRun:
    """Return an occurrence as people see it, in `zone`."""

    def when(instant: float | None) -> datetime | None:
        return local_time(instant, zone) if instant is not None else None

    return CronRun(
        schedule=run.schedule_id,
        scheduled=local_time(run.scheduled_at, zone),
        started=when(run.started),
        finished=when(run.finished),
        outcome=run.outcome,
        reason=_reason(run, zone) or None,
        event_id=run.event_id,
    )


def _reason(run: Occurrence, zone: str) -> str:
    """Why it ended so; of a run of missed ones also how many, until when."""
    if run.last_at is None or run.count < 2:
        return run.reason
    return (
        f"{run.reason}; {run.count} times, the last {local_time(run.last_at, zone):%Y-%m-%d %H:%M}"
    )


def one_schedule(name: str, known: Sequence[str]) -> str:
    """Return the id that `[AGENT/]NAME` means. Raises OfficeError: none, or several."""
    found = [id for id in known if id == name or id.partition("/")[2] == name]
    if len(found) > 1:
        raise NamedError("some_schedules", 400, name=name, found=" / ".join(found))
    if not found:
        raise NamedError("no_schedule", 404, name=name, known=", ".join(known) or "-")
    return found[0]
