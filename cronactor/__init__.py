"""Time: cron expressions, phrases, reminders, and the scheduler actor."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cronactor.checking import check, check_supervisor
    from cronactor.jobs import Occurrence, Schedule
    from cronactor.messages import (
        AddReminder,
        AddSchedule,
        DeleteReminder,
        ListReminders,
        ListRuns,
        ListSchedules,
        ReminderAdded,
        RemoveSchedule,
        RunSchedule,
        SchedulerRefused,
        ScheduleSet,
        ScheduleView,
    )
    from cronactor.phrases import At, Cron, Every, describe, parse
    from cronactor.reminder import Reminder
    from cronactor.schedule import fires, next_fire, parse_cron
    from cronactor.scheduler import Scheduler
    from cronactor.store import ReminderStore
    from cronactor.texts import CronError, PhraseError, ZoneError

__all__ = [
    "AddReminder",
    "AddSchedule",
    "At",
    "Cron",
    "CronError",
    "DeleteReminder",
    "Every",
    "ListReminders",
    "ListRuns",
    "ListSchedules",
    "Occurrence",
    "PhraseError",
    "Reminder",
    "ReminderAdded",
    "ReminderStore",
    "RemoveSchedule",
    "RunSchedule",
    "Schedule",
    "ScheduleSet",
    "ScheduleView",
    "Scheduler",
    "SchedulerRefused",
    "ZoneError",
    "check",
    "check_supervisor",
    "describe",
    "fires",
    "next_fire",
    "parse",
    "parse_cron",
]

_HOMES = {
    "checking": ("check", "check_supervisor"),
    "jobs": ("Occurrence", "Schedule"),
    "messages": (
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
    ),
    "phrases": ("At", "Cron", "Every", "describe", "parse"),
    "reminder": ("Reminder",),
    "schedule": ("fires", "next_fire", "parse_cron"),
    "scheduler": ("Scheduler",),
    "store": ("ReminderStore",),
    "texts": ("CronError", "PhraseError", "ZoneError"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for from its module, on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
