"""The office over a whole workspace: the tree people look at, saying things once, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
import trio.testing

from config.workspace import Workspace
from supervisor.desk.office import Cause, NamedError, OfficeError, Supervised, Why
from supervisor.desk.texts import Texts
from supervisor.testkit.house import TestHouse, make_workspace, open_house

ROOM = "#taller"
FILES = {
    "supervisor.yaml": (
        "timezone: Europe/Madrid\n"
        f'rooms: [{{id: "{ROOM}", participants: [asistente], cooldown_applies_to: bots}}]\n'
    ),
    "agents/asistente/config.yaml": (
        "llm: {provider: replay, script: script.yaml}\n"
        "schedules:\n"
        "  - {name: saludo, cron: '0 9 1 1 *', output_room: '#taller',\n"
        "     action: {kind: send_message, message: 'Buenos días.'}}\n"
    ),
    "agents/asistente/script.yaml": (
        '- {match: rompe, rounds: [[crash: "no"]]}\n- rounds: [[text: "Recibido."]]\n'
    ),
    "agents/roto/config.yaml": "llm: {provider: nadie}\n",
}


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path / "w", FILES)


def nodes(tree: Supervised) -> dict[str, Supervised]:
    found = {tree.path: tree}
    for child in tree.children:
        found |= nodes(child)
    return found


async def why(house: TestHouse, count: int) -> Why:
    """Wait until the agent has said `count` things; return why it said the latest."""
    with trio.fail_after(300):
        await house.room().wait_for("asistente", count)
    await trio.testing.wait_all_tasks_blocked()  # its own connection has admitted it by then
    said = [event for event in await house.room().history() if event.sender == "asistente"]
    return await house.household.house.why(said[-1].event_id)


async def test_the_tree_shows_every_agent_also_those_without_a_cell(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        office = house.household.house
        await house.room().say("hola")
        await house.room().wait_for("asistente")  # it is up
        found = nodes(await office.supervision())
        assert found["root"].state == "running"
        assert found["root/agents/asistente/loop"].agent is None
        asistente, broken = found["root/agents/asistente"], found["root/agents/roto"]
        assert (asistente.agent, asistente.state, asistente.generation) == (
            "asistente",
            "running",
            1,
        )
        assert (broken.agent, broken.state, broken.children) == ("roto", "invalid", ())
        assert broken.last_error and "roto/config.yaml" in broken.last_error
        await office.stop("asistente")
        found = nodes(await office.supervision())
        assert found["root/agents/asistente"].state == "stopped"
        assert "root/agents/asistente/loop" not in found
        info = (await office.status()).agents[0]
        shown = found["root/agents/asistente"]
        assert (shown.generation, shown.restarts) == (info.generation, info.restarts)


async def test_about_tells_version_workspace_and_account(
    workspace: Workspace,
    autojump_clock: trio.testing.MockClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "USER", "berta")
    async with open_house(workspace) as house:
        about = await house.household.house.about()
    assert about.version.count(".") == 2
    assert about.workspace == str(workspace.root)
    assert (about.timezone, about.locale, about.person) == ("Europe/Madrid", "es", "berta")


async def test_a_post_tried_again_is_one_message_with_one_answer(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        office = house.household.house
        first = await office.say(ROOM, "hola", "@ana", False, "try-0001")
        begun = trio.current_time()
        again = await office.say(ROOM, "hola", "@ana", False, "try-0001")
        assert trio.current_time() - begun < 1
        other = await office.say(ROOM, "hola", "@berta", False, "try-0001")
        assert again == first
        assert other.event_id != first.event_id
        await house.room().wait_for("asistente", 2)
        assert await house.room().said_by("@ana") == ["hola"]


@pytest.mark.promise("P7")
async def test_why_tells_what_made_an_agent_speak(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        office = house.household.house
        said = await office.say(ROOM, "hola", "@ana", False)
        answer = await why(house, 1)
        assert answer.event.text == "Recibido."
        assert answer.cause == Cause("answer", said, rule="first")
        assert (await office.why(said.event_id)).cause is None

        await office.cron_run("saludo")
        assert (await why(house, 2)).cause == Cause("schedule", name="asistente/saludo")

        said = await office.say(ROOM, "rompe", "@ana", False)
        assert (await why(house, 3)).cause == Cause("notice", said, rule="raised_twice")


async def test_why_names_the_reminder_that_spoke(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "example")) as house:
        await house.room().say("recuérdame en 1 minuto que riegue")
        await house.room().wait_for("asistente", 1)
        (reminder,) = await house.household.house.reminders(None, False)
        spoken = await why(house, 2)
        assert spoken.event.text.startswith("⏰")
        assert spoken.cause == Cause("reminder", name=reminder.id)


async def test_what_cannot_be_done_is_said_in_the_language_of_whoever_asked(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        office = house.household.house
        for ask, spanish, english in (
            (office.why("local-99"), "ningún agente", "no agent has read a message local-99"),
            (office.history("#nada", 5), "ninguna sala #nada", "there is no room #nada"),
            (office.cron_run("nada"), "ninguna tarea nada", "there are asistente/saludo"),
        ):
            with pytest.raises(OfficeError) as caught:
                await ask
            assert isinstance(caught.value, NamedError) and caught.value.status == 404
            assert spanish in caught.value.said(Texts("es"))
            assert english in caught.value.text == caught.value.said(Texts("en"))


async def test_participants_come_in_the_order_in_which_the_rules_take_them(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    rooms = f'rooms: [{{id: "{ROOM}", participants: [devops, asistente]}}]\n'
    files = {"supervisor.yaml": "timezone: Europe/Madrid\n" + rooms}
    async with open_house(make_workspace(tmp_path / "w", files)) as house:
        (room,) = await house.household.house.rooms()
        assert room.participants == ("devops", "asistente")


async def test_a_persons_zone_is_everywhere_that_persons_zone(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "example")) as house:
        office, room = house.household.house, house.room()
        person = "@ana"
        before = await office.timezone(person, "#taller")
        assert (before.source, before.user) == ("workspace", person)
        shown = await office.set_timezone(person, None, "Asia/Tokyo")
        assert (shown.timezone, shown.source) == ("Asia/Tokyo", "user")
        assert (await office.timezone(person, "#taller")).timezone == "Asia/Tokyo"
        assert (await office.timezone(None, "#taller")).timezone == before.timezone
        await room.say("@asistente qué hora es", sender="ana")
        (answer,) = await room.wait_for("asistente", 1)
        assert "(Asia/Tokyo)" in answer
        await room.say("@asistente recuérdame mañana a las 9 que riegue", sender="ana")
        answer = (await room.wait_for("asistente", 2))[-1]
        assert "09:00 (Asia/Tokyo)" in answer
        (reminder,) = await office.reminders("#taller", False)
        assert reminder.timezone == "Asia/Tokyo"
        with pytest.raises(OfficeError, match="Europe/Madrid"):
            await office.set_timezone(person, None, "Europe/Madird")
        assert (await office.set_timezone(person, None, None)).timezone == before.timezone


async def test_a_reply_to_a_reminder_moves_it_and_what_repeats_is_shown_as_such(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "example")) as house:
        office, room = house.household.house, house.room()
        rooms = house.household.services.rooms

        async def reply(text: str, to: str) -> str:
            seen = len(await room.said_by("asistente"))
            relation = {"m.in_reply_to": {"event_id": to}}
            content = {"msgtype": "m.text", "body": text, "m.relates_to": relation}
            await rooms.post(room.name, "ana", content)
            return (await room.wait_for("asistente", seen + 1))[-1]

        await room.say("@asistente recuérdame en 1 minuto que riegue")
        await room.wait_for("asistente", 2)
        confirmed, spoken = [e for e in await room.history() if e.sender == "asistente"]
        assert "riegue" in await reply("@asistente en 10 minutos", spoken.event_id)
        (moved,) = await office.reminders(None, False)
        assert "riegue" in await reply("@asistente mañana a las 9:00", confirmed.event_id)
        (again,) = await office.reminders(None, False)
        assert (again.id, again.state) == (moved.id, "active")
        assert again.next is not None and (again.next.hour, again.next.minute) == (9, 0)
        await room.say("@asistente recuérdame cada 2 horas beber agua")
        await room.wait_for("asistente", 5)
        kinds = {one.message: (one.kind, one.cron) for one in await office.reminders(None, False)}
        assert kinds == {"riegue": ("once", None), "beber agua": ("every", None)}
        await room.say("@asistente pausa el de beber agua")
        await room.wait_for("asistente", 6)
        paused = (await office.reminders(None, False))[-1]
        assert (paused.message, paused.state, paused.next) == ("beber agua", "paused", None)
