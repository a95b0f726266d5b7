"""A kept reminder is moved, reworded, paused, followed: once for a key, in its own room alone."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from channels.chain import Stamp, stamped
from channels.messages import Sent
from channels.outbox import OutgoingMessage
from cronactor.messages import (
    DeleteReminder,
    FollowReminder,
    ListReminders,
    PauseReminder,
    ReminderChanged,
    ResumeReminder,
    SchedulerRefused,
    SnoozeReminder,
    UnfollowReminder,
    UpdateReminder,
    Which,
)
from cronactor.phrases import Every
from tests.cronactor.world import ROOM, World, at

CONFIRMATION = Stamp("asistente", "$ask", "$ask", 1)


def which(id: str = "", *, reply_to: str | None = None, **rest: str) -> Which:
    return Which(**{"room": ROOM, "user": "@ana", **rest}, id=id, reply_to=reply_to)


async def snooze(world: World, meant: Which, when: Any, **rest: Any) -> ReminderChanged:
    changed = await world.ask(SnoozeReminder(meant, when, world.clock.now(), **rest))
    assert isinstance(changed, ReminderChanged)
    return changed


async def update(world: World, meant: Which, **rest: Any) -> ReminderChanged:
    changed = await world.ask(UpdateReminder(meant, world.clock.now(), **rest))
    assert isinstance(changed, ReminderChanged)
    return changed


async def refused(world: World, request: object) -> str:
    with pytest.raises(SchedulerRefused) as caught:
        await world.ask(request)
    return str(caught.value)


async def publish_sent(world: World) -> None:
    """Play the connection: what is in the outbox gets an event id."""
    for row in await world.rows():
        event = f"$said-{row.txn_id}"
        await world.outbox.mark_sent(row.id, event)
        world.bus.publish("sent", Sent(row.agent, row.room, row.txn_id, event))
    await trio.testing.wait_all_tasks_blocked()


async def event_of(world: World, id: str) -> str:
    (run, *_) = await world.store.ledger.runs(id)
    return f"$said-{run.txn_id}"


# -- intervals ------------------------------------------------------------------------------------


async def test_an_interval_counts_from_the_message_and_never_drifts(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        asked_at = world.clock.now()
        added = await world.add(Every(90.0))
        assert (added.recurring, added.reminder.kind) == (True, "every")
        assert added.due == asked_at + 90
        await trio.sleep(90 * 100 + 1)
        runs = await world.store.ledger.runs(added.reminder.id, 1000)
        assert [run.scheduled_at - asked_at for run in runs] == [
            90.0 * number for number in range(100, 0, -1)
        ]
        assert {run.outcome for run in runs} == {"fired"}
        (kept,) = await world.ask(ListReminders(ROOM))
        assert kept.next_due == asked_at + 90 * 101


# -- moved ----------------------------------------------------------------------------------------


async def test_a_moved_reminder_speaks_at_its_new_time_only(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add("en 5 minutos")
        changed = await update(world, which(added.reminder.id), when="en 10 minutos", message="ya")
        assert changed.text == "hoy 2026-04-09 16:10:00 (Europe/Madrid)".replace(":00 (", " (")
        await trio.sleep(9 * 60)
        assert await world.said() == []
        await trio.sleep(2 * 60)
        assert await world.said() == ["⏰ @ana Recordatorio: ya"]


async def test_any_kind_of_reminder_may_become_any_other(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        id = (await world.add("en 5 minutos")).reminder.id
        kinds = [
            (await update(world, which(id), when=when)).reminder.kind
            for when in ("0 10 * * 1", Every(3600.0), "mañana a las 9", "0 10 * * 1")
        ]
        assert kinds == ["cron", "every", "once", "cron"]
        (kept,) = await world.ask(ListReminders(ROOM))
        assert (kept.every, kept.anchor, kept.wall) == (None, None, None)
        assert kept.next_due == at("2026-04-13T10:00")


async def test_a_new_message_alone_keeps_the_time(world: World, autojump_clock: MockClock) -> None:
    async with world, world.running():
        added = await world.add("mañana a las 9")
        changed = await update(world, which(added.reminder.id), message="otra cosa")
        assert changed.reminder == attrs.evolve(added.reminder, message="otra cosa")
        assert changed.text == added.text


async def test_what_has_just_fired_is_said_again(world: World, autojump_clock: MockClock) -> None:
    async with world, world.running():
        added = await world.add("en 5 segundos")
        await trio.sleep(10)
        changed = await snooze(world, which(), "en 10 minutos")
        assert changed.reminder.id == added.reminder.id
        assert changed.reminder.state == "active"
        await trio.sleep(601)
        assert await world.said() == ["⏰ @ana Recordatorio: riegue las plantas"] * 2
        outcomes = [run.outcome for run in await world.store.ledger.runs(added.reminder.id)]
        assert outcomes == ["fired", "fired"]
        assert await world.ask(ListReminders(ROOM)) == ()


async def test_a_recurring_one_keeps_its_times_and_is_said_once_more(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add(Every(3600.0))
        await world.ask(FollowReminder(which(added.reminder.id, user="@luis")))
        await trio.sleep(3601)
        changed = await snooze(world, which(), "en 10 minutos", idempotency_key="k")
        again = await snooze(world, which(), "en 10 minutos", idempotency_key="k")
        assert changed.of == added.reminder.id != changed.reminder.id
        assert again.reminder == changed.reminder
        await trio.sleep(601)
        assert len(await world.said()) == 2
        assert (await world.said())[1].startswith("⏰ @ana @luis ")
        (kept,) = await world.ask(ListReminders(ROOM))
        assert kept.next_due == added.due + 3600


async def test_the_latest_of_the_person_in_this_room_is_meant(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        mine = await world.add("en 5 segundos", "mío")
        await world.add("en 6 segundos", "de luis", user="@luis")
        await world.add("en 7 segundos", "en otra", room="#otra")
        await trio.sleep(10)
        assert (await snooze(world, which(), "en 1 hora")).reminder.id == mine.reminder.id
        says = await refused(
            world, SnoozeReminder(which(user="@eva"), "en 1 hora", world.clock.now())
        )
        assert "ningún recordatorio suyo" in says


@pytest.mark.parametrize("when", ["0 10 * * 1", Every(3600.0)])
async def test_snoozing_takes_a_single_time(
    world: World, when: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add("en 5 minutos")
        request = SnoozeReminder(which(added.reminder.id), when, world.clock.now())
        assert "un solo momento" in await refused(world, request)
        assert await world.ask(ListReminders(ROOM)) == (added.reminder,)


async def test_a_full_room_takes_nothing_back(world: World, autojump_clock: MockClock) -> None:
    async with world, world.running():
        await world.add("en 5 segundos")
        await trio.sleep(10)
        await world.add("en 1 hora")
        request = SnoozeReminder(which(), "en 1 hora", world.clock.now(), max_per_room=1)
        assert "el máximo es 1" in await refused(world, request)


# -- by a reply -----------------------------------------------------------------------------------


async def test_a_reply_to_what_it_said_means_that_reminder(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        first = (await world.add("en 5 segundos", "uno")).reminder
        second = (await world.add("en 6 segundos", "dos")).reminder
        await trio.sleep(10)
        await publish_sent(world)
        meant = which(reply_to=await event_of(world, first.id))
        assert (await snooze(world, meant, "en 1 hora")).reminder.id == first.id
        elsewhere = attrs.evolve(meant, room="#otra")
        request = SnoozeReminder(elsewhere, "en 1 hora", world.clock.now())
        assert "no es de ningún recordatorio" in await refused(world, request)
        assert (await world.store.get(second.id)).state == "fired"  # type: ignore[union-attr]


async def test_the_event_of_what_it_said_is_known_after_a_restart(
    world: World, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running():
            first = (await world.add("en 5 segundos")).reminder
            await trio.sleep(10)
        for row in await world.rows():  # sent while no scheduler listened
            await world.outbox.mark_sent(row.id, f"$said-{row.txn_id}")
        async with world.running():
            await trio.testing.wait_all_tasks_blocked()
            meant = which(reply_to=await event_of(world, first.id))
            assert (await snooze(world, meant, "en 1 hora")).reminder.id == first.id


async def confirm(world: World, event: str = "$yes") -> None:
    content = stamped({"msgtype": "m.text", "body": "Listo"}, CONFIRMATION)
    (row,) = await world.outbox.put([OutgoingMessage("asistente", ROOM, event, content)])
    await world.outbox.mark_sent(row, event)


async def test_a_reply_to_the_confirmation_means_that_reminder(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add("en 5 minutos", origin="$ask")
        await confirm(world)
        changed = await update(world, which(reply_to="$yes"), when="mañana a las 9")
        assert changed.reminder.id == added.reminder.id
        await world.add("en 5 minutos", origin="$ask")
        says = await refused(world, PauseReminder(which(reply_to="$yes")))
        assert "varios recordatorios" in says and added.reminder.id in says


@pytest.mark.parametrize("event", ["$nobody", "", "$" + "x" * 10_000])
async def test_a_reply_to_anything_else_is_refused(
    world: World, event: str, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await world.add("en 5 segundos")
        await trio.sleep(10)
        request = SnoozeReminder(which(reply_to=event), "en 1 hora", world.clock.now())
        assert "no es de ningún recordatorio" in await refused(world, request)


# -- paused ---------------------------------------------------------------------------------------


async def test_a_paused_reminder_is_silent_until_it_is_resumed(
    world: World, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running():
            added = await world.add(Every(3600.0))
            paused = await world.ask(PauseReminder(which(added.reminder.id)))
            assert paused.reminder.state == "paused"
            await trio.sleep(5 * 3600)
        async with world.running():
            await trio.sleep(5 * 3600)
            assert await world.said() == []
            assert await world.ask(ListReminders(ROOM)) == ()
            assert await world.ask(ListReminders(ROOM, paused=True)) == (paused.reminder,)
            resumed = await world.ask(ResumeReminder(which(added.reminder.id)))
            assert resumed.reminder.next_due == added.due + 10 * 3600
            await trio.sleep(3601)
            assert len(await world.said()) == 1
            assert (await world.store.ledger.runs())[0].count == 1


async def test_a_one_off_goes_on_only_before_its_time(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        id = (await world.add("en 1 hora")).reminder.id
        for _ in range(2):  # and again: it is that already
            await world.ask(PauseReminder(which(id)))
        assert (await world.ask(ResumeReminder(which(id)))).reminder.state == "active"
        await world.ask(PauseReminder(which(id)))
        await trio.sleep(3601)
        assert "ya pasó" in await refused(world, ResumeReminder(which(id)))
        changed = await update(world, which(id), when="en 5 segundos")
        assert changed.reminder.state == "active"
        await trio.sleep(6)
        assert len(await world.said()) == 1


async def test_paused_ones_count_for_the_limit_and_can_be_deleted(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        added = await world.add("en 1 hora")
        await world.ask(PauseReminder(which(added.reminder.id)))
        with pytest.raises(SchedulerRefused, match="el máximo es 1"):
            await world.add("en 1 hora", max_per_room=1)
        gone = await world.ask(DeleteReminder(added.reminder.id, ROOM))
        assert gone.state == "deleted"
        await world.add("en 1 hora", max_per_room=1)


# -- followed -------------------------------------------------------------------------------------


async def test_whoever_follows_is_told_and_mentioned(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, world.running(prefix="🔔"):
        id = (await world.add("en 5 segundos")).reminder.id
        for user in ("@luis", "@luis", "@ana", "@eva"):
            await world.ask(FollowReminder(which(id, user=user)))
        (gone,) = await world.ask(UnfollowReminder(which(id, user="@eva")))
        assert gone.told == ("@ana", "@luis")
        await trio.sleep(6)
        (row,) = await world.rows()
        assert row.content["body"] == "🔔 @ana @luis Recordatorio: riegue las plantas"
        assert row.content["m.mentions"] == {"user_ids": ["@ana", "@luis"]}


async def test_one_who_follows_nothing_is_told_so(world: World, autojump_clock: MockClock) -> None:
    async with world, world.running():
        one = (await world.add("en 1 hora")).reminder.id
        other = (await world.add("0 10 * * 1")).reminder.id
        for id in (one, other):
            await world.ask(FollowReminder(which(id, user="@luis")))
        left = await world.ask(UnfollowReminder(which(user="@luis")))
        assert {reminder.id for reminder in left} == {one, other}
        says = await refused(world, UnfollowReminder(which(user="@luis")))
        assert "ningún recordatorio de otra persona" in says


async def test_followers_are_bounded(world: World, autojump_clock: MockClock) -> None:
    async with world, world.running():
        id = (await world.add("en 1 hora")).reminder.id
        for number in range(50):
            await world.ask(FollowReminder(which(id, user=f"@p{number}")))
        assert "50" in await refused(world, FollowReminder(which(id, user="@otro")))


# -- once, and only here --------------------------------------------------------------------------


@pytest.mark.promise("P9")
async def test_a_key_seen_before_changes_nothing(world: World, autojump_clock: MockClock) -> None:
    async with world, world.running():
        id = (await world.add("en 1 hora")).reminder.id
        for when in ("en 2 horas", "en 3 horas"):
            changed = await update(world, which(id), when=when, idempotency_key="k")
            assert changed.reminder.next_due == pytest.approx(world.clock.now() + 7200)
        await world.ask(PauseReminder(which(id), idempotency_key="p"))
        await world.ask(ResumeReminder(which(id), idempotency_key="r"))
        again = await world.ask(PauseReminder(which(id), idempotency_key="p"))
        assert again.reminder.state == "active"


@pytest.mark.promise("P2")
async def test_no_request_touches_another_room_or_a_schedule(
    world: World, schedule: Any, autojump_clock: MockClock
) -> None:
    from cronactor.messages import AddSchedule

    async with world, world.running():
        added = await world.add("en 1 hora")
        await world.ask(AddSchedule("asistente", schedule()))
        now = world.clock.now()
        for id, room in ((added.reminder.id, "#otra"), ("asistente/diario", ROOM), ("", "#otra")):
            meant = which(id, room=room)
            for request in (
                UpdateReminder(meant, now, message="x"),
                SnoozeReminder(meant, "en 1 hora", now),
                PauseReminder(meant),
                ResumeReminder(meant),
                FollowReminder(meant),
                UnfollowReminder(meant),
                *([DeleteReminder(id, room)] if id else []),
            ):
                assert await refused(world, request)
        assert await world.ask(ListReminders(all=True)) == (added.reminder,)
        (kept,) = await world.store.schedules()
        assert kept.id == "asistente/diario"
