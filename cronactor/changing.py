"""Kept reminders changed on request: moved, reworded, paused, resumed, followed; each only once."""

from __future__ import annotations

from functools import partial
from uuid import uuid4

import attrs

from channels.chain import read_stamp
from channels.clock import WallClock
from channels.outbox import Outbox
from cronactor.agenda import Agenda
from cronactor.finding import Ambiguous, Find, RoomFull
from cronactor.jobs import Job
from cronactor.messages import (
    FollowReminder,
    PauseReminder,
    ReminderChanged,
    ResumeReminder,
    SnoozeReminder,
    UnfollowReminder,
    UpdateReminder,
    Which,
)
from cronactor.phrases import At, When
from cronactor.reminder import ACTIVE, PAUSED, Reminder, checked_message, short_id
from cronactor.spoken import describe
from cronactor.store import Change, ReminderStore
from cronactor.texts import Explained, say
from cronactor.timing import Timing, following, read, timed
from cronactor.zonebook import ZoneBook

__all__ = ["Changing"]

JUST_FIRED = 24 * 3600.0
"""Seconds in which a reminder counts as the one that has just fired."""
MAX_FOLLOWERS = 50


@attrs.define(eq=False)
class Changing:
    """Answers the requests that change a reminder, and keeps the agenda in step."""

    store: ReminderStore
    agenda: Agenda[Job]
    outbox: Outbox
    clock: WallClock
    zones: ZoneBook
    locale: str
    min_interval: float

    async def update(self, request: UpdateReminder) -> ReminderChanged:
        """Give a reminder another message or time. Raises Explained."""
        locale = request.locale or self.locale
        if request.message is None and request.when is None:
            raise Explained("change_nothing", locale)
        message = None if request.message is None else checked_message(request.message, locale)
        shifts: list[str] = []
        before: list[Reminder] = []

        def change(known: Reminder) -> Reminder:
            if not known.kept or known.next_due is None:
                raise Explained("no_reminder", locale, id=known.id)
            before.append(known)
            if message is not None:
                known = attrs.evolve(known, message=message)
            if request.when is None:
                return known
            timing, zone = self._timing(request.when, request.received_at, request.which, locale)
            shifts.append(timing.shift)
            return attrs.evolve(timing.of(known, zone), state=ACTIVE)

        find = await self._find(request.which, locale, latest=False)
        kept = await self._change(find, change, request.idempotency_key, locale)
        ended = [known for known in before if kept.one_shot and not known.one_shot]
        return attrs.evolve(self._changed(kept, shifts), before=ended[0] if ended else None)

    async def snooze(self, request: SnoozeReminder) -> ReminderChanged:
        """Have a reminder speak (again) at another time. Raises Explained."""
        locale = request.locale or self.locale
        shifts, of = [], []
        key = request.idempotency_key

        def change(known: Reminder) -> Reminder:
            timing, zone = self._timing(
                request.when, request.received_at, request.which, locale, once=True
            )
            shifts.append(timing.shift)
            if known.one_shot:
                return attrs.evolve(timing.of(known, zone), state=ACTIVE, ended_at=None)
            of.append(known.id)
            return timing.of(_once_more(known, key or uuid4().hex, self.clock.now()), zone)

        find = await self._find(request.which, locale, latest=True)
        kept = await self._change(find, change, key, locale, request.max_per_room)
        return attrs.evolve(self._changed(kept, shifts), of=of[0] if of else "")

    async def pause(self, request: PauseReminder) -> ReminderChanged:
        """Keep a reminder silent. Raises Explained."""
        locale = request.locale or self.locale

        def change(known: Reminder) -> Reminder:
            if not known.kept or known.next_due is None:
                raise Explained("no_reminder", locale, id=known.id)
            return attrs.evolve(known, state=PAUSED)

        find = await self._find(request.which, locale, latest=False)
        return self._changed(await self._change(find, change, request.idempotency_key, locale))

    async def resume(self, request: ResumeReminder) -> ReminderChanged:
        """Let a paused reminder go on; one that is not paused just goes on. Raises Explained."""
        locale = request.locale or self.locale

        def change(known: Reminder) -> Reminder:
            if not known.kept:
                raise Explained("no_reminder", locale, id=known.id)
            if known.state != PAUSED:
                return known
            due = following(known, self.clock.now())
            if due is None:
                raise Explained("resume_past", locale, id=known.id)
            return attrs.evolve(known, state=ACTIVE, next_due=due)

        find = await self._find(request.which, locale, latest=False)
        return self._changed(await self._change(find, change, request.idempotency_key, locale))

    async def follow(self, request: FollowReminder) -> ReminderChanged:
        """Tell one more user when it speaks. Raises Explained."""
        locale, user = request.locale or self.locale, request.which.user

        def change(known: Reminder) -> Reminder:
            if user in known.told:
                return known
            if len(known.told) > MAX_FOLLOWERS or len(user.split()) != 1:
                raise Explained("followers_full", locale, limit=MAX_FOLLOWERS)
            return attrs.evolve(known, followers=f"{known.followers} {user}".strip())

        find = await self._find(request.which, locale, latest=False)
        return self._changed(await self._change(find, change, "", locale))

    async def unfollow(self, request: UnfollowReminder) -> tuple[Reminder, ...]:
        """Tell a user no longer. Raises Explained when the user follows none of what is meant."""
        which, locale = request.which, request.locale or self.locale
        if which.id or which.reply_to is not None:
            find = await self._find(which, locale, latest=False)
            kept = await self._change(find, partial(_without, user=which.user), "", locale)
            return (kept,)
        followed = await self.store.followed(which.user, which.room)
        if not followed:
            raise Explained("follows_none", locale)
        finds = [Find(which.room, id=reminder.id) for reminder in followed]
        change = partial(_without, user=which.user)
        return tuple([await self._change(find, change, "", locale) for find in finds])

    async def meant(self, which: Which) -> tuple[Reminder, ...]:
        """Return the reminders that a message is about; nothing if it is about none."""
        try:
            return await self.store.matching(await self._find(which, self.locale, latest=False))
        except Explained:
            return ()

    # -- which and when ---------------------------------------------------------------------------

    async def _find(self, which: Which, locale: str, *, latest: bool) -> Find:
        """Return what is known of the reminder that is meant. Raises Explained."""
        if which.id:
            return Find(which.room, id=which.id)
        if which.reply_to is not None:
            occurrence = await self.store.ledger.said(which.reply_to)
            if occurrence is not None:
                return Find(which.room, event=which.reply_to)
            row = await self.outbox.row_said(which.reply_to)
            stamp = None if row is None else read_stamp(row.content)
            if row is None or stamp is None or not stamp.chain:
                raise Explained("not_a_reminder", locale)
            return Find(which.room, agent=row.agent, origin=stamp.chain)
        if not latest:
            raise Explained("which", locale)
        return Find(which.room, user=which.user, since=self.clock.now() - JUST_FIRED)

    def _timing(
        self,
        when: str | When,
        received_at: float,
        which: Which,
        locale: str,
        *,
        once: bool = False,
    ) -> tuple[Timing, str]:
        zone = self.zones.find(which.user, which.room).zone
        what = read(when, received_at, zone, locale)
        if once and not isinstance(what, At):
            raise Explained("snooze_recurring", locale)
        timing = timed(
            what,
            received_at=received_at,
            now=self.clock.now(),
            zone=zone,
            locale=locale,
            min_interval=self.min_interval,
        )
        return timing, zone

    async def _change(
        self,
        find: Find,
        change: Change,
        key: str,
        locale: str,
        max_per_room: int | None = None,
    ) -> Reminder:
        try:
            found = await self.store.change(
                find, change, key=key, now=self.clock.now(), max_per_room=max_per_room
            )
        except RoomFull as full:
            raise Explained("room_full", locale, n=full.active, limit=full.limit) from None
        except Ambiguous as several:
            raise Explained("which_of", locale, ids=", ".join(several.ids)) from None
        if found is None:
            raise self._not_found(find, locale)
        kept, changed = found
        if changed:
            self._keep(kept)
        return kept

    def _not_found(self, find: Find, locale: str) -> Explained:
        if find.id:
            return Explained("no_reminder", locale, id=find.id[:64])
        return Explained("not_a_reminder" if find.event or find.origin else "none_fired", locale)

    def _keep(self, reminder: Reminder) -> None:
        if reminder.state != ACTIVE:
            self.agenda.remove(reminder.id)
        elif reminder.next_due is not None:  # else it is being said right now
            self.agenda.put(reminder.id, reminder.next_due, reminder)

    def _changed(self, kept: Reminder, shifts: list[str] | None = None) -> ReminderChanged:
        if kept.next_due is None:
            return ReminderChanged(kept)
        text = describe(kept.next_due, kept.timezone, kept.locale, self.clock.now())
        shift = shifts[0] if shifts else ""
        note = say(f"shift_{shift}", kept.locale, when=text) if shift else ""
        return ReminderChanged(kept, text, note)


def _once_more(known: Reminder, key: str, now: float) -> Reminder:
    """A new reminder with the words of a recurring one; who follows that follows this."""
    return attrs.evolve(
        known,
        id=short_id(f"snooze:{key}"),
        idempotency_key=f"snooze:{key}",
        created_at=now,
        state=ACTIVE,
        fired_at=None,
        ended_at=None,
        origin="",
    )


def _without(known: Reminder, user: str) -> Reminder:
    rest = [follower for follower in known.followers.split() if follower != user]
    return attrs.evolve(known, followers=" ".join(rest))
