"""What the scheduler answers when asked: reminders and schedules made, listed and removed."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import attrs

from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.outbox import Outbox
from config.schema import ScheduleConfig
from cronactor.agenda import Agenda
from cronactor.changing import Changing
from cronactor.finding import RoomFull
from cronactor.jobs import Job, Schedule, times_of
from cronactor.messages import (
    AddReminder,
    AddSchedule,
    DeleteReminder,
    FollowReminder,
    ListReminders,
    ListRuns,
    ListSchedules,
    PauseReminder,
    ReminderAdded,
    RemoveSchedule,
    ResumeReminder,
    SchedulerRefused,
    ScheduleSet,
    ScheduleView,
    SetZone,
    SnoozeReminder,
    UnfollowReminder,
    UpdateReminder,
    ZoneFound,
    ZoneOf,
)
from cronactor.phrases import At, When
from cronactor.reminder import Reminder, checked_message, short_id
from cronactor.spoken import describe
from cronactor.store import ReminderStore
from cronactor.texts import Explained, say
from cronactor.timing import read, timed
from cronactor.zonebook import ZoneBook
from cronactor.zones import get_zone

__all__ = ["Requests"]

declare_crash_points("reminder.before_create", "reminder.after_create")


@attrs.define(eq=False)
class Requests:
    """Answers requests against the store and keeps the agenda in step with it.

    `min_interval` is the least time, in seconds, between two times of a recurring reminder.
    """

    store: ReminderStore
    agenda: Agenda[Job]
    outbox: Outbox
    clock: WallClock
    zones: ZoneBook
    timezone: str
    locale: str
    epoch: str
    min_interval: float
    changing: Changing = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.changing = Changing(
            self.store,
            self.agenda,
            self.outbox,
            self.clock,
            self.zones,
            self.locale,
            self.min_interval,
        )

    async def answer(self, body: object) -> object:
        """Return the reply to a request.

        Raises SchedulerRefused, TypeError for what is no request, and the DatabaseError family. A
        cancel leaves a request done or not done, never half done.
        """
        try:
            return await self._answer(body)
        except Explained as error:
            locale = getattr(body, "locale", None) or self.locale
            raise SchedulerRefused(error.say(locale)) from None

    async def _answer(self, body: object) -> object:
        match body:
            case AddReminder():
                return await self._add_reminder(body)
            case DeleteReminder():
                return await self._delete_reminder(body)
            case ListReminders():
                return await self.store.listed(body.room, all=body.all, paused=body.paused)
            case SetZone():
                return await self._set_zone(body)
            case ZoneOf():
                return self.zones.find(body.user, body.room)
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
                return await self._change(body)

    async def _change(self, body: object) -> object:
        match body:
            case UpdateReminder():
                return await self.changing.update(body)
            case SnoozeReminder():
                return await self.changing.snooze(body)
            case PauseReminder():
                return await self.changing.pause(body)
            case ResumeReminder():
                return await self.changing.resume(body)
            case FollowReminder():
                return await self.changing.follow(body)
            case UnfollowReminder():
                return await self.changing.unfollow(body)
            case _:
                raise TypeError(f"the scheduler does not know {type(body).__name__}")

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
        zone = request.timezone or self.zones.find(request.user, request.room).zone
        get_zone(zone)
        message = checked_message(request.message, locale)
        when = read(request.when, request.received_at, zone, locale)
        _check_recurring(request.recurring, when, locale)
        now = self.clock.now()
        timing = timed(
            when,
            received_at=request.received_at,
            now=now,
            zone=zone,
            locale=locale,
            min_interval=self.min_interval,
        )
        reminder = Reminder(
            id=short_id(key),
            agent=request.agent,
            room=request.room,
            user=request.user,
            message=message,
            timezone=zone,
            locale=locale,
            created_at=now,
            next_due=None,
            idempotency_key=key,
            origin=request.origin,
        )
        return timing.of(reminder, zone), timing.shift

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

    async def _set_zone(self, request: SetZone) -> ZoneFound:
        name, now = request.user or request.room, self.clock.now()
        if not name:
            raise Explained("zone_of_whom", request.locale or self.locale)
        await self.zones.set("user" if request.user else "room", name, request.zone, now)
        return self.zones.find(request.user, None if request.user else request.room)

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
        zone = config.timezone or self.zones.find(None, config.output_room).zone
        now = self.clock.now()
        made = Schedule(agent=agent, config=config, timezone=zone, dynamic=dynamic, anchor=now)
        times = times_of(made)
        assert times is not None
        due = next(times(now))
        return attrs.evolve(made, next_due=due if config.enabled else None)

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


def _check_recurring(recurring: bool | None, when: When, locale: str) -> None:
    if recurring is True and isinstance(when, At):
        raise Explained("recurring_once", locale)
    if recurring is False and not isinstance(when, At):
        raise Explained("once_recurring", locale)
