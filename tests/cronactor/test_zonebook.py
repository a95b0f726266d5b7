"""Whose clock counts: a person's before a room's before what is configured; kept over restarts."""

from __future__ import annotations

from typing import Any

import pytest
from trio.testing import MockClock

from cronactor.messages import SchedulerRefused, SetZone, ZoneFound, ZoneOf
from tests.cronactor.world import ROOM, World, at


def configured(room: str) -> str | None:
    return "Atlantic/Canary" if room == ROOM else None


async def test_the_nearest_zone_counts_and_is_kept_over_a_restart(
    world: World, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running(room_zone=configured):
            asked = ZoneOf("@ana", ROOM)
            assert await world.ask(ZoneOf("@ana", "#otra")) == ZoneFound(
                "Europe/Madrid", "workspace"
            )
            assert await world.ask(asked) == ZoneFound("Atlantic/Canary", "config")
            assert await world.ask(SetZone("America/Lima", room=ROOM)) == ZoneFound(
                "America/Lima", "room"
            )
            assert await world.ask(SetZone("Asia/Tokyo", user="@ana")) == ZoneFound(
                "Asia/Tokyo", "user"
            )
        async with world.running(room_zone=configured):
            assert await world.ask(asked) == ZoneFound("Asia/Tokyo", "user")
            assert await world.ask(ZoneOf("@luis", ROOM)) == ZoneFound("America/Lima", "room")
            assert (await world.ask(SetZone(None, user="@ana"))).source == "workspace"
            assert await world.ask(asked) == ZoneFound("America/Lima", "room")
            await world.ask(SetZone(None, room=ROOM))
            assert await world.ask(asked) == ZoneFound("Atlantic/Canary", "config")


async def test_a_reminder_keeps_the_zone_it_was_set_in(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        before = await world.add("0 9 * * *")
        await world.ask(SetZone("Asia/Tokyo", user="@ana"))
        after = await world.add("mañana a las 9")
        other = await world.add("mañana a las 9", user="@luis")
        assert before.reminder.timezone == other.reminder.timezone == "Europe/Madrid"
        assert after.due == at("2026-04-10T09:00", "Asia/Tokyo")
        assert other.due == at("2026-04-10T09:00")
        assert (await world.store.get(before.reminder.id)) == before.reminder


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (SetZone("Europe/Madird", user="@ana"), "Europe/Madrid"),
        (SetZone("", user="@ana"), "IANA"),
        (SetZone("../etc/passwd", user="@ana"), "IANA"),
        (SetZone("localtime", user="@ana"), "IANA"),
        (SetZone("Europe/Madrid\0", user="@ana"), "IANA"),
        (SetZone("x" * 100_000, user="@ana"), "IANA"),
        (SetZone("Europe/Madrid"), "una persona o una sala"),
        (SetZone("Europe/Madird", user="@ana", locale="en"), "unknown time zone"),
    ],
)
async def test_what_is_no_zone_is_refused_with_a_hint(
    world: World, request_: SetZone, says: str, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        with pytest.raises(SchedulerRefused) as caught:
            await world.ask(request_)
        assert says in str(caught.value) and len(str(caught.value)) < 400
        assert (await world.ask(ZoneOf("@ana", ROOM))).source == "workspace"


async def test_reading_a_zone_writes_nothing(world: World, autojump_clock: MockClock) -> None:
    async with world, world.running():

        def rows(db: Any) -> list[Any]:
            return db.conn.execute("SELECT * FROM zones").fetchall()  # type: ignore[no-any-return]

        await world.ask(ZoneOf("@ana", ROOM))
        assert await world.store._db.read(rows) == []
