"""What the desk asks about time: reminders, schedules and zones, answered by the scheduler."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs

from channels.local import LocalRooms
from cronactor.jobs import Occurrence
from cronactor.messages import (
    ListReminders,
    ListRuns,
    ListSchedules,
    RunSchedule,
    ScheduleView,
    SetZone,
    ZoneFound,
    ZoneOf,
)
from cronactor.reminder import Reminder
from supervisor.desk.office import CronInfo, CronRun, ReminderInfo, ZoneShown
from supervisor.desk.texts import reader_locale
from supervisor.timetable import cron_info, one_schedule, reminder_info, run_info

__all__ = ["TimeDesk"]

RUN_SECONDS = 600.0
_REMINDER = re.compile(r"r[0-9a-z]{5}")


@attrs.frozen
class TimeDesk:
    """Asks the scheduler with `ask(body)` or `ask(body, seconds)`, which raises OfficeError."""

    ask: Callable[..., Awaitable[Any]]
    rooms: LocalRooms
    timezone: str

    async def reminders(self, room: str | None, all: bool) -> Sequence[ReminderInfo]:
        """Return what is active or paused, of one room or of every room; `all` adds the past."""
        id = None if room is None else await self._room(room)
        found: tuple[Reminder, ...] = await self.ask(ListReminders(id, all, paused=True))
        return [reminder_info(reminder) for reminder in found]

    async def schedules(self) -> Sequence[CronInfo]:
        """Return every schedule."""
        views: tuple[ScheduleView, ...] = await self.ask(ListSchedules())
        return [cron_info(view) for view in views]

    async def runs(self, schedule: str | None) -> Sequence[CronRun]:
        """Return the ledger, newest first, of a schedule (`[AGENT/]NAME`), a reminder, or all."""
        zones = await self._zones()
        if schedule is not None:
            named = any(schedule in (id, id.partition("/")[2]) for id in zones)
            if named or not _REMINDER.fullmatch(schedule):
                schedule = one_schedule(schedule, sorted(zones))
        runs: tuple[Occurrence, ...] = await self.ask(ListRuns(schedule))
        return [run_info(run, zones.get(run.schedule_id, self.timezone)) for run in runs]

    async def run(self, schedule: str) -> CronRun:
        """Run a schedule now; return its record once the run has ended."""
        zones = await self._zones()
        id = one_schedule(schedule, sorted(zones))
        return run_info(await self.ask(RunSchedule(id), RUN_SECONDS), zones[id])

    async def zone(self, user: str | None, room: str | None) -> ZoneShown:
        """Return the zone that counts for a user, in a room or anywhere, or for a room."""
        id = None if room is None else await self._room(room)
        found: ZoneFound = await self.ask(ZoneOf(user, id))
        return ZoneShown(user, id, found.zone, found.source)

    async def set_zone(self, user: str | None, room: str | None, zone: str | None) -> ZoneShown:
        """Set the zone of a user or else of a room, or forget it (None)."""
        id = None if room is None else await self._room(room)
        found: ZoneFound = await self.ask(SetZone(zone, user, id, reader_locale.get()))
        return ZoneShown(user, id, found.zone, found.source)

    async def _zones(self) -> dict[str, str]:
        views: tuple[ScheduleView, ...] = await self.ask(ListSchedules())
        return {view.schedule.id: view.schedule.timezone for view in views}

    async def _room(self, room: str) -> str:
        known = {one.alias: one.id for one in await self.rooms.rooms() if one.alias}
        return known.get(room, room)
