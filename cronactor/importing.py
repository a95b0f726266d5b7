"""Reminders of other bots taken into the store: each once, and of each that is not, why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from cronactor.foreign import Foreign, ForeignRow
from cronactor.interval import next_interval
from cronactor.phrases import Every
from cronactor.reminder import Reminder, checked_message, short_id
from cronactor.store import ReminderStore, RoomFull
from cronactor.texts import Explained
from cronactor.timing import Timing, timed
from cronactor.zonebook import ZoneBook

__all__ = ["Imported", "Importing", "Place"]


@attrs.frozen
class Place:
    """Where a reminder goes: who says it, and how many may be kept there."""

    agent: str
    room: str
    max_per_room: int


@attrs.frozen
class Imported:
    """What became of one row: `taken` now, `known` already, or `left` out, by `why`."""

    row: ForeignRow
    outcome: str
    reminder: Reminder | None = None
    why: Explained | None = None


@attrs.frozen
class Importing:
    """Takes rows in; nobody else may use the store meanwhile.

    `place(room)` says where the reminders of a foreign room go, None: nowhere; it may raise
    Explained. `person` turns a foreign user id into one of these rooms.
    """

    store: ReminderStore
    zones: ZoneBook
    place: Callable[[str], Place | None]
    person: Callable[[str], str]
    now: float
    locale: str = "es"
    min_interval: float = 60.0

    async def take(self, foreign: Foreign) -> Sequence[Imported]:
        """Take every row that can be taken. Again, it changes nothing."""
        await self.zones.load()
        results = [await self._take(row) for row in foreign.rows]
        for user, zone in foreign.zones.items():
            await self._take_zone(self.person(user), zone)
        return results

    async def _take_zone(self, user: str, zone: str) -> None:
        """Keep a person's zone unless there is one already, or it names none."""
        if self.zones.find(user, None).source != "user":
            try:
                await self.zones.set("user", user, zone, self.now)
            except Explained:
                return

    async def _take(self, row: ForeignRow) -> Imported:
        known = await self.store.by_key(row.key)
        if known is not None:
            return Imported(row, "known", known)
        try:
            reminder, place = self._reminder(row)
            kept, _ = await self.store.create(reminder, max_per_room=place.max_per_room)
        except Explained as why:
            return Imported(row, "left", why=why)
        except RoomFull as full:
            reason = Explained("room_full", self.locale, n=full.active, limit=full.limit)
            return Imported(row, "left", why=reason)
        return Imported(row, "taken", kept)

    def _reminder(self, row: ForeignRow) -> tuple[Reminder, Place]:
        if row.why is not None:
            raise row.why
        place = self.place(row.room)
        if place is None:
            raise Explained("import_room", self.locale, room=row.room[:80])
        if not row.users:
            raise Explained("import_nobody", self.locale)
        user, *others = dict.fromkeys(map(self.person, row.users))
        reminder = Reminder(
            id=short_id(row.key),
            agent=place.agent,
            room=place.room,
            user=user,
            message=checked_message(row.message, self.locale),
            timezone=row.zone,
            locale=self.locale,
            created_at=self.now,
            next_due=None,
            idempotency_key=row.key,
            followers=" ".join(others),
        )
        return self._timing(row).of(reminder, row.zone), place

    def _timing(self, row: ForeignRow) -> Timing:
        assert row.when is not None
        timing = timed(
            row.when,
            received_at=self.now,
            now=self.now,
            zone=row.zone,
            locale=self.locale,
            min_interval=self.min_interval,
        )
        if not isinstance(row.when, Every) or row.anchor is None:
            return timing
        due = next_interval(row.anchor, row.when.seconds, self.now)
        return attrs.evolve(timing, anchor=row.anchor, next_due=due)
