"""A 👍 makes one more person be told: once said so, never lost, and nothing else counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from channels.database import Database
from channels.inbox import MIGRATIONS as INBOX
from channels.inbox import EventInbox
from channels.messages import REACTIONS
from channels.outbox import MIGRATIONS as OUTBOX
from channels.rooms import RoomEvent
from cronactor.messages import ListReminders, UnfollowReminder, Which
from cronactor.reactions import thumb_target
from supervisor.testkit import make_workspace, open_house
from tests.cronactor.test_changing import confirm, event_of, publish_sent
from tests.cronactor.world import ROOM, World


def thumb(
    target: Any = "$yes", *, sender: str = "@luis", key: Any = "👍", **given: Any
) -> RoomEvent:
    relation = {"rel_type": "m.annotation", "event_id": target, "key": key}
    values: dict[str, Any] = {
        "event_id": f"$thumb-{sender}-{target}",
        "room": ROOM,
        "sender": sender,
        "ts": 1.0,
        "content": {"m.relates_to": relation},
        "kind": "reaction",
    }
    return RoomEvent(**{**values, **given})


@asynccontextmanager
async def an_inbox(world: World) -> AsyncIterator[EventInbox]:
    async with Database.open(world.folder / "inbox.db", (*INBOX, *OUTBOX), threaded=False) as db:
        yield EventInbox(db, world.clock, agents=("asistente",))


async def react(world: World, inbox: EventInbox, *events: RoomEvent) -> None:
    """Play the connection: admit, then say that there is something."""
    cursor = f"after {events[-1].event_id}"
    await inbox.admit(events, cursor_key="asistente/connection", cursor=cursor, own="asistente")
    world.bus.publish(REACTIONS, len(events))
    await wait_all_tasks_blocked()


async def notices(world: World) -> list[str]:
    rows = await world.rows()
    return [str(row.content["body"]) for row in rows if row.content["msgtype"] == "m.notice"]


async def test_a_thumb_on_the_confirmation_makes_one_more_be_told(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, an_inbox(world) as inbox, world.running(inbox=inbox):
        await wait_all_tasks_blocked()
        id = (await world.add("en 5 minutos", origin="$ask")).reminder.id
        await confirm(world)
        await react(world, inbox, thumb())
        await react(world, inbox, thumb(event_id="$again", key="👍🏽"))
        assert await notices(world) == [
            "De acuerdo, @luis: también te avisaré de «riegue las plantas» hoy 2026-04-09 "
            f"16:05 (Europe/Madrid). [{id}] «Deja de avisarme» lo quita."
        ]
        await trio.sleep(301)
        spoken = (await world.rows())[-1]
        assert spoken.content["body"] == "⏰ @ana @luis Recordatorio: riegue las plantas"
        assert spoken.content["m.mentions"] == {"user_ids": ["@ana", "@luis"]}


async def test_a_thumb_on_what_a_reminder_said_counts_for_the_next_time(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, an_inbox(world) as inbox, world.running(inbox=inbox):
        added = await world.add("0 * * * *")
        once = await world.add("en 5 minutos", "pan")
        await trio.sleep(3600)
        await publish_sent(world)
        events = [await event_of(world, one.reminder.id) for one in (added, once)]
        await react(world, inbox, *map(thumb, events))
        told = {one.id: one.told for one in await world.ask(ListReminders(all=True))}
        assert told == {added.reminder.id: ("@ana", "@luis"), once.reminder.id: ("@ana", "@luis")}
        assert "si «pan» vuelve a sonar" in (await notices(world))[1]


@pytest.mark.parametrize(
    "event",
    [
        thumb(sender="@ana"),
        thumb("$other"),
        thumb(key="👎"),
        thumb(key="👍👎"),
        thumb(key=None),
        thumb(7),
        thumb(""),
        thumb(room="#otra"),
        thumb(sender="asistente"),
        thumb(sender_is_bot=True),
        thumb(content={"m.relates_to": "👍"}),
        thumb(content={}),
        thumb(sender="@dos palabras"),
    ],
)
async def test_nothing_else_counts(
    world: World, event: RoomEvent, autojump_clock: MockClock
) -> None:
    async with world, an_inbox(world) as inbox, world.running(inbox=inbox):
        await wait_all_tasks_blocked()
        added = await world.add("en 5 minutos", origin="$ask")
        await confirm(world)
        await react(world, inbox, event)
        assert await world.ask(ListReminders(ROOM)) == (added.reminder,)
        assert await notices(world) == []
        await react(world, inbox, thumb(event_id="$next", sender="@eva"))
        assert len(await notices(world)) == 1


@pytest.mark.promise("P2")
async def test_a_thumb_given_while_nothing_ran_is_taken_up_once(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, an_inbox(world) as inbox:
        async with world.running(inbox=inbox):
            await world.add("en 5 minutos", origin="$ask")
            await confirm(world)
        await react(world, inbox, thumb())
        for _ in range(2):
            async with world.running(inbox=inbox):
                await wait_all_tasks_blocked()
                (kept,) = await world.ask(ListReminders(ROOM))
                assert kept.told == ("@ana", "@luis")
                assert len(await notices(world)) == 1
        async with world.running(inbox=inbox):
            await world.ask(UnfollowReminder(Which(ROOM, "@luis")))
        async with world.running(inbox=inbox):  # the old thumb is not taken up again
            await wait_all_tasks_blocked()
            (kept,) = await world.ask(ListReminders(ROOM))
            assert kept.told == ("@ana",)


async def test_thumbs_from_before_the_store_was_there_are_left_alone(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, an_inbox(world) as inbox:
        await react(world, inbox, *(thumb(f"$old-{number}") for number in range(250)))
        async with world.running(inbox=inbox):
            await wait_all_tasks_blocked()
            assert await world.store.heard() == 250
            await react(world, inbox, thumb("$new"))
            assert await world.store.heard() == 251


async def test_an_inbox_that_was_begun_anew_is_heard_from_its_start(
    world: World, autojump_clock: MockClock
) -> None:
    async with world, an_inbox(world) as inbox:
        await world.store.set_heard(10_000)
        async with world.running(inbox=inbox):
            await wait_all_tasks_blocked()
            await world.add("en 5 minutos", origin="$ask")
            await confirm(world)
            await react(world, inbox, thumb())
            assert len(await notices(world)) == 1


def test_only_a_persons_thumb_has_a_target() -> None:
    assert thumb_target(thumb("$x")) == "$x"
    assert thumb_target(thumb("$x", kind="message")) is None


def test_in_a_house_no_turn_is_opened_and_both_are_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def main() -> None:
        async with open_house(make_workspace(tmp_path / "example")) as house:
            room, rooms = house.room(), house.household.services.rooms
            await room.say("@asistente recuérdame en 1 minuto que riegue")
            await room.wait_for("asistente", 1)
            confirmed = [line for line in await room.history() if line.sender == "asistente"][-1]
            relation = {"rel_type": "m.annotation", "event_id": confirmed.event_id, "key": "👍"}
            await rooms.post(room.name, "luis", {"m.relates_to": relation})
            said = await room.wait_for("asistente", 3)
            assert said[1].startswith("De acuerdo, @luis: también te avisaré de «riegue»")
            assert said[2] == "⏰ @ana @luis Recordatorio: riegue"
            await trio.sleep(60)
            assert await room.said_by("asistente") == said

    trio.run(main, clock=autojump_clock)
