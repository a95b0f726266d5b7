"""Requests are granted with the resolved time, or refused with what to send instead."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from cronactor.messages import DeleteReminder, ListReminders, SchedulerRefused
from cronactor.phrases import At, Cron, Every
from tests.cronactor.world import at


async def test_the_confirmation_carries_the_resolved_local_time(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add("mañana a las 9")
        assert added.text == "mañana 2026-04-10 09:00 (Europe/Madrid)"
        assert (added.due, added.recurring, added.note) == (at("2026-04-10T09:00"), False, "")
        reminder = added.reminder
        assert (reminder.wall, reminder.timezone) == ("2026-04-10T09:00:00", "Europe/Madrid")
        assert (reminder.id[0], len(reminder.id), reminder.state) == ("r", 6, "active")


async def test_a_zone_of_the_request_decides_and_is_stored(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add("tomorrow at 9", timezone="America/New_York", locale="en")
        assert added.due == at("2026-04-10T09:00", "America/New_York")
        assert added.text == "tomorrow 2026-04-10 09:00 (America/New_York)"
        with pytest.raises(SchedulerRefused, match=r"no conozco .*Europe/Madrid"):
            await world.add("15:00", timezone="Europe/Madird")


async def test_a_time_moved_by_a_clock_change_is_said(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        gap = await world.add("2027-03-28 02:30")
        assert "no existe ese día" in gap.note
        assert "2027-03-28 03:30" in gap.note
        fold = await world.add("2026-10-25 02:30", locale="en")
        assert "happens twice" in fold.note


async def test_a_key_seen_before_creates_nothing_even_after_it_fired(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        first = await world.add("en 5 segundos", idempotency_key="turn-1")
        again = await world.add("en 5 segundos", idempotency_key="turn-1", max_per_room=1)
        assert again == first
        await trio.sleep(10)
        late = await world.add("en 5 segundos", idempotency_key="turn-1")
        assert late.reminder.id == first.reminder.id
        assert late.reminder.state == "fired"
        assert len(await world.said()) == 1


async def test_what_was_already_read_is_taken_as_it_is(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add(At(world.clock.now() + 60))
        assert added.due == added.reminder.next_due
        added = await world.add(Cron("0 9 * * 1"))
        assert added.due == at("2026-04-13T09:00")


@pytest.mark.parametrize(
    ("when", "given", "says"),
    [
        ("cuando sea", {}, "`15:00`"),
        ("2026-04-09 15:00", {}, "ya pasó"),
        (At(0.0), {}, "ya pasó"),
        (At(1e18), {}, "50 años"),
        ("0 0 31 2 *", {}, "no ocurre nunca"),
        (Cron("0 22-3 * * *"), {}, "`22-23,0-3`"),
        (Every(59.0), {}, "el mínimo es 1 minuto"),
        (Every(float("nan")), {}, "el mínimo es 1 minuto"),
        (Every(1e18), {}, "50 años"),
        ("15:00", {"recurring": True}, "`0 9 * * 1`"),
        ("0 9 * * 1", {"recurring": False}, "una sola vez"),
        ("15:00", {"message": "  "}, "falta el mensaje"),
        ("15:00", {"message": "x" * 1_000_000}, "1000000 caracteres"),
        ("15:00", {"message": "a\x00b"}, "no se puede guardar"),
        ("15:00", {"message": "a\ud800b"}, "no se puede guardar"),
        ("15:00", {"max_per_room": 0}, "el máximo es 0"),
        ("whenever", {"locale": "en"}, "cannot read"),
    ],
)
async def test_a_refusal_says_what_to_send_and_keeps_nothing(
    world: Any, when: Any, given: dict[str, Any], says: str, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        with pytest.raises(SchedulerRefused) as caught:
            await world.add(when, **given)
        assert says in str(caught.value)
        assert await world.ask(ListReminders(all=True)) == ()


async def test_the_fifty_first_reminder_of_a_room_is_refused(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        for _ in range(50):
            await world.add("en 1 hora")
        with pytest.raises(SchedulerRefused, match="50"):
            await world.add("en 1 hora")
        await world.add("en 1 hora", room="#otra")


async def test_a_recurring_reminder_may_not_come_too_often(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running(min_interval=300.0):
        await world.add("*/5 * * * *")
        with pytest.raises(SchedulerRefused, match="cada 1 minuto"):
            await world.add("* * * * *")


async def test_a_reminder_is_deleted_only_from_its_room(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add("en 5 segundos")
        with pytest.raises(SchedulerRefused, match=added.reminder.id):
            await world.ask(DeleteReminder(added.reminder.id, "#otra"))
        deleted = await world.ask(DeleteReminder(added.reminder.id, "#taller"))
        assert deleted.state == "deleted"
        assert await world.ask(DeleteReminder(added.reminder.id, "#taller")) == deleted
        await trio.sleep(10)
        assert await world.said() == []


async def test_a_list_is_of_one_room_and_soonest_first(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await world.add("en 2 horas", "dos")
        await world.add("en 1 hora", "una")
        await world.add("en 1 hora", "otra", room="#otra")
        listed = await world.ask(ListReminders("#taller"))
        assert [kept.message for kept in listed] == ["una", "dos"]
        assert len(await world.ask(ListReminders())) == 3
