"""What the scheduler answers when asked: reminders and schedules made, listed and removed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from uuid import uuid4

import attrs

from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from config.schema import ScheduleConfig
from cronactor.agenda import Agenda
from cronactor.jobs import Job, Schedule
from cronactor.messages import (
    AddReminder,
    AddSchedule,
    DeleteReminder,
    ListReminders,
    ListRuns,
    ListSchedules,
    ReminderAdded,
    RemoveSchedule,
    SchedulerRefused,
    ScheduleSet,
    ScheduleView,
)
from cronactor.phrases import MAX_YEARS, At, Cron, Every, When, parse
from cronactor.reminder import Reminder, checked_message, short_id
from cronactor.schedule import fires, next_fire, parse_cron
from cronactor.spoken import describe, duration
from cronactor.store import ReminderStore, RoomFull
from cronactor.texts import Explained, say
from cronactor.zones import get_zone

__all__ = ["Requests"]

declare_crash_points("reminder.before_create", "reminder.after_create")

_COMPARED = 5


@attrs.define(eq=False)
class Requests:
    """Answers requests against the store and keeps the agenda in step with it.

    `min_interval` is the least time, in seconds, between two times of a recurring reminder.
    """

    store: ReminderStore
    agenda: Agenda[Job]
    clock: WallClock
    timezone: str
    locale: str
    epoch: str
    min_interval: float

    async def answer(self, body: object) -> object:
        """Return the reply to a request.

        Raises SchedulerRefused, TypeError for what is no request, and the DatabaseError family. A
        cancel leaves a request done or not done, never half done.
        """
        try:
            match body:
                case AddReminder():
                    return await self._add_reminder(body)
                case DeleteReminder():
                    return await self._delete_reminder(body)
                case ListReminders():
                    return await self.store.listed(body.room, all=body.all)
                case ScheduleSet():
                    return await self._set_schedules(body)
                case AddSchedule():
                    return await self._add_schedule(body)
                case RemoveSchedule():
                    return await self._remove_schedule(body)
                case ListSchedules():
                    return await self._list_schedules(body)
                case ListRuns():
                    return await self.store.ledger.runs(body.schedule, body.limit)
                case _:
                    raise TypeError(f"the scheduler does not know {type(body).__name__}")
        except Explained as error:
            locale = getattr(body, "locale", None) or self.locale
            raise SchedulerRefused(error.say(locale)) from None

    # -- reminders --------------------------------------------------------------------------------

    async def _add_reminder(self, request: AddReminder) -> ReminderAdded:
        key = request.idempotency_key or uuid4().hex
        known = await self.store.by_key(key) if request.idempotency_key else None
        if known is not None:
            return self._added(known)
        locale = request.locale or self.locale
        wanted, shift = self._wanted(request, key, locale)
        crash_point("reminder.before_create")
        try:
            kept, new = await self.store.create(wanted, max_per_room=request.max_per_room)
        except RoomFull as full:
            raise Explained("room_full", locale, n=full.active, limit=full.limit) from None
        crash_point("reminder.after_create")
        if new:
            self.agenda.put(kept.id, kept.next_due, kept)
        return self._added(kept, shift)

    def _wanted(self, request: AddReminder, key: str, locale: str) -> tuple[Reminder, str]:
        zone = request.timezone or self.timezone
        get_zone(zone)
        message = checked_message(request.message, locale)
        when = request.when
        if isinstance(when, str):
            when = parse(when, request.received_at, zone, locale)
        self._check_recurring(request, when, locale)
        due, shift = self._first_due(when, request.received_at, zone, locale)
        reminder = Reminder(
            id=short_id(key),
            agent=request.agent,
            room=request.room,
            user=request.user,
            message=message,
            timezone=zone,
            locale=locale,
            created_at=self.clock.now(),
            next_due=due,
            cron=when.expr if isinstance(when, Cron) else None,
            wall=when.wall if isinstance(when, At) else None,
            idempotency_key=key,
        )
        return reminder, shift

    def _check_recurring(self, request: AddReminder, when: When, locale: str) -> None:
        if request.recurring is True and isinstance(when, At):
            raise Explained("recurring_once", locale)
        if request.recurring is False and not isinstance(when, At):
            raise Explained("once_recurring", locale)

    def _first_due(
        self, when: When, received_at: float, zone: str, locale: str
    ) -> tuple[float, str]:
        match when:
            case At():
                if not when.instant > received_at:
                    raise Explained("due_past", locale)
                if when.instant > received_at + MAX_YEARS * 366 * 86400:
                    raise Explained("phrase_far", locale, years=MAX_YEARS)
                return when.instant, when.shift
            case Cron():
                parse_cron(when.expr)
                self._check_interval(when.expr, zone, locale)
                return next_fire(when.expr, zone, self.clock.now()), ""
            case Every():
                raise Explained("no_interval", locale)

    def _check_interval(self, expr: str, zone: str, locale: str) -> None:
        instants = islice(fires(expr, zone, self.clock.now()), _COMPARED)
        least = min(later - sooner for sooner, later in pairwise(instants))
        if least < self.min_interval:
            every, minimum = duration(least, locale), duration(self.min_interval, locale)
            raise Explained("too_often", locale, expr=expr, every=every, minimum=minimum)

    def _added(self, reminder: Reminder, shift: str = "") -> ReminderAdded:
        due = reminder.next_due or reminder.fired_at or reminder.created_at
        text = describe(due, reminder.timezone, reminder.locale, self.clock.now())
        note = say(f"shift_{shift}", reminder.locale, when=text) if shift else ""
        return ReminderAdded(reminder, due, not reminder.one_shot, text, note)

    async def _delete_reminder(self, request: DeleteReminder) -> Reminder:
        now = self.clock.now()
        deleted = await self.store.delete(request.id, at=now, room=request.room)
        if deleted is None:
            raise Explained("no_reminder", request.locale or self.locale, id=request.id[:64])
        self.agenda.remove(request.id)
        return deleted

    # -- schedules --------------------------------------------------------------------------------

    async def _set_schedules(self, request: ScheduleSet) -> tuple[str, ...]:
        wanted = [self._schedule(request.agent, config) for config in request.schedules]
        kept = await self.store.set_schedules(
            request.agent, wanted, epoch=self.epoch, now=self.clock.now()
        )
        self._forget_others(request.agent, kept)
        for schedule in kept:
            self._put(schedule)
        return tuple(schedule.id for schedule in kept)

    def _forget_others(self, agent: str, kept: Sequence[Schedule]) -> None:
        ids = {schedule.id for schedule in kept}
        for job in self.agenda.items():
            configured = isinstance(job, Schedule) and not job.dynamic and job.agent == agent
            if configured and job.id not in ids:
                self.agenda.remove(job.id)

    async def _add_schedule(self, request: AddSchedule) -> str:
        wanted = self._schedule(request.agent, request.schedule, dynamic=True)
        self._put(await self.store.add_schedule(wanted, epoch=self.epoch))
        return wanted.id

    def _schedule(self, agent: str, config: ScheduleConfig, *, dynamic: bool = False) -> Schedule:
        """A schedule that starts now: nothing earlier is owed."""
        zone = config.timezone or self.timezone
        due = next_fire(config.cron, zone, self.clock.now())
        return Schedule(
            agent=agent,
            config=config,
            timezone=zone,
            dynamic=dynamic,
            next_due=due if config.enabled else None,
        )

    def _put(self, schedule: Schedule) -> None:
        """Keep a schedule in the agenda; an equal one is left alone: it may be firing right now."""
        if self.agenda.get(schedule.id) != schedule:
            self.agenda.put(schedule.id, schedule.next_due, schedule)

    async def _remove_schedule(self, request: RemoveSchedule) -> str:
        if not await self.store.remove_schedule(request.id, self.clock.now()):
            raise Explained("no_schedule", self.locale, id=request.id[:128])
        self.agenda.remove(request.id)
        return request.id

    async def _list_schedules(self, request: ListSchedules) -> tuple[ScheduleView, ...]:
        found = [
            schedule
            for schedule in await self.store.schedules(epoch=self.epoch)
            if request.agent in (None, schedule.agent)
        ]
        last = await self.store.ledger.latest([schedule.id for schedule in found])
        return tuple(ScheduleView(s, s.next_due, last.get(s.id)) for s in found)
