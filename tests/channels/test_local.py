"""Local rooms: kept in the file, one event per transaction id, every member woken, nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from channels.local import LocalRooms, LocalTransport, RoomError
from channels.rooms import RoomEvent, Transport, TransportError, text_content
from supervisor.testkit.crashes import Crash, armed
from tests.channels.wires import AGENTS, ROOM, Wires, open_wires

pytestmark = pytest.mark.promise("P1")


@pytest.fixture
async def wires(tmp_path: Path):
    async with open_wires(tmp_path / "state.db") as opened:
        await opened.rooms.ensure_room(ROOM, "!abc:local", AGENTS)
        yield opened


@pytest.fixture
def rooms(wires: Wires) -> LocalRooms:
    return wires.rooms


@attrs.define
class Board:
    """Stands for the bus: keeps what is published."""

    published: list[tuple[str, Any]] = attrs.field(factory=list)

    def publish(self, topic: str, event: Any) -> int:
        self.published.append((topic, event))
        return 0


async def texts(rooms: LocalRooms) -> list[tuple[str, str]]:
    return [(event.sender, event.text) for event in await rooms.history(ROOM)]


async def listening(rooms: LocalRooms, agent: str) -> tuple[LocalTransport, str]:
    """A transport that has heard all there is, and its cursor."""
    transport = LocalTransport(rooms, agent)
    await transport.start()
    _, cursor = await transport.events(None)
    _, cursor = await transport.events(cursor)
    return transport, cursor


# Rooms and members


async def test_rooms_are_found_by_id_and_alias_and_kept_over_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    async with open_wires(path) as wires:
        await wires.rooms.ensure_room("#a", "!a:local", ["asistente"])
        event_id = await wires.rooms.post("!a:local", "ana", "hola")
    async with open_wires(path) as wires:
        (event,) = await wires.rooms.history("!a:local")
        assert (event.event_id, event.room, event.sender) == (event_id, "#a", "@ana")
        (room,) = await wires.rooms.rooms()
        assert (room.id, room.alias, room.members) == ("#a", "!a:local", ("@ana", "asistente"))
        assert await wires.rooms.room("!a:local") == await wires.rooms.room("#a") == room


async def test_ensuring_a_room_again_changes_only_what_is_new(rooms: LocalRooms) -> None:
    await rooms.post(ROOM, "ana", "hola")
    await rooms.ensure_room(ROOM, None, [*AGENTS, "tercero"])
    room = await rooms.room(ROOM)
    assert room.alias is None
    assert room.members == ("@ana", "asistente", "devops", "tercero")
    assert await texts(rooms) == [("@ana", "hola")]


@pytest.mark.parametrize(
    ("id", "alias"),
    [("!abc:local", None), ("#otra", "!abc:local"), ("#otra", ROOM), ("", None), ("#a\x00", None)],
)
async def test_a_name_that_is_taken_or_unusable_is_refused(
    rooms: LocalRooms, id: str, alias: str | None
) -> None:
    with pytest.raises(RoomError):
        await rooms.ensure_room(id, alias)
    assert len(await rooms.rooms()) == 1


async def test_an_alias_moves_to_the_room_it_is_now_meant_for(rooms: LocalRooms) -> None:
    await rooms.post(ROOM, "ana", "hola")
    await rooms.ensure_room("#otra", "!otra:local")
    names = {ROOM: "!otra:local", "#otra": None, "#nueva": "!abc:local"}
    await rooms.name_rooms(names)
    assert {room.id: room.alias for room in await rooms.rooms()} == names
    assert [event.text for event in await rooms.history("!otra:local")] == ["hola"]


async def test_names_are_taken_all_or_none(rooms: LocalRooms) -> None:
    before = await rooms.rooms()
    for names in ({"#a": "!abc:local", "#b": ROOM}, {"#a": None, "#b\x00": None}):
        with pytest.raises(RoomError):
            await rooms.name_rooms(names)
        assert await rooms.rooms() == before


async def test_an_alias_that_nobody_else_is_meant_to_have_stays(rooms: LocalRooms) -> None:
    await rooms.name_rooms({"#nueva": "!nueva:local"})
    assert (await rooms.room(ROOM)).alias == "!abc:local"


async def test_an_unknown_room_is_a_clear_error(rooms: LocalRooms) -> None:
    for attempt in (
        rooms.post("#nada", "ana", "hola"),
        rooms.history("#nada"),
        rooms.join("#nada", "@ana"),
        rooms.leave("#nada", "@ana"),
        rooms.room("#nada"),
    ):
        with pytest.raises(RoomError, match="there is no room '#nada'"):
            await attempt


# Posting


async def test_a_person_is_the_same_with_and_without_the_at(rooms: LocalRooms) -> None:
    await rooms.post(ROOM, "ana", "uno")
    await rooms.post(ROOM, "@ana", "dos")
    assert await texts(rooms) == [("@ana", "uno"), ("@ana", "dos")]
    assert (await rooms.room(ROOM)).members == ("@ana", "asistente", "devops")


@pytest.mark.parametrize("name", ["asistente", "@asistente", "Asistente", "@DEVOPS"])
async def test_a_person_cannot_bear_an_agents_name(rooms: LocalRooms, name: str) -> None:
    with pytest.raises(ValueError, match="is an agent; a person needs another name"):
        await rooms.post(ROOM, name, "hola")
    with pytest.raises(ValueError, match="is an agent"):
        await rooms.join(ROOM, "@asistente")


@pytest.mark.parametrize(
    "name", ["", "@", "@@ana", "ana maría", "ana\n", "x" * 65, ".ana", "\ud800"]
)
async def test_an_unusable_name_is_refused(rooms: LocalRooms, name: str) -> None:
    with pytest.raises(RoomError, match="cannot be a name"):
        await rooms.post(ROOM, name, "hola")


@pytest.mark.parametrize("name", ["josé", "ana.lópez", "x" * 64, "r2-d2", "李"])
async def test_names_of_people_everywhere_are_fine(rooms: LocalRooms, name: str) -> None:
    await rooms.post(ROOM, name, "hola")
    assert await texts(rooms) == [(f"@{name}", "hola")]


async def test_agents_can_be_named_anew(rooms: LocalRooms) -> None:
    rooms.set_agents(["nueva"])
    with pytest.raises(RoomError):
        await rooms.post(ROOM, "nueva", "hola")


@pytest.mark.parametrize("text", ["", "  \n\t "])
async def test_an_empty_message_is_refused(rooms: LocalRooms, text: str) -> None:
    with pytest.raises(RoomError, match="empty"):
        await rooms.post(ROOM, "ana", text)
    with pytest.raises(RoomError, match="empty"):
        await rooms.post(ROOM, "ana", {"msgtype": "m.image"})
    assert await texts(rooms) == []


async def test_control_characters_are_refused_and_line_ends_are_not(rooms: LocalRooms) -> None:
    for character in "\x00\x07\x1b\x7f\x9b":
        with pytest.raises(RoomError, match=rf"U\+00{ord(character):02X}"):
            await rooms.post(ROOM, "ana", f"a{character}b")
    await rooms.post(ROOM, "ana", "uno\r\ndos\rtres\tcuatro ⏰👩‍👩‍👧")
    assert await texts(rooms) == [("@ana", "uno\ndos\ntres\tcuatro ⏰👩‍👩‍👧")]


async def test_a_message_that_is_too_long_is_refused_and_one_that_just_fits_is_not(
    rooms: LocalRooms,
) -> None:
    frame = len('{"msgtype": "m.text", "body": ""}')
    await rooms.post(ROOM, "ana", "ñ" * ((65_536 - frame) // 2))
    with pytest.raises(RoomError, match=r"too long: 655\d\d bytes, at most 65536"):
        await rooms.post(ROOM, "eva", "x" * (65_537 - frame))
    assert "@eva" not in (await rooms.room(ROOM)).members


async def test_a_transaction_id_makes_one_event_and_tells_its_id_again(rooms: LocalRooms) -> None:
    first = await rooms.post(ROOM, "ana", "uno", txn_id="t")
    assert await rooms.post("!abc:local", "@ana", "dos", txn_id="t") == first
    assert await rooms.post(ROOM, "eva", "tres", txn_id="t") != first
    await rooms.ensure_room("#otra", None, AGENTS)
    assert await rooms.post("#otra", "ana", "cuatro", txn_id="t") != first
    assert await rooms.post(ROOM, "ana", "uno") != await rooms.post(ROOM, "ana", "uno")
    assert await texts(rooms) == [
        ("@ana", "uno"),
        ("@eva", "tres"),
        ("@ana", "uno"),
        ("@ana", "uno"),
    ]


async def test_a_foreign_bot_keeps_its_flag(rooms: LocalRooms) -> None:
    await rooms.post(ROOM, "ci", "build ok", as_bot=True)
    await rooms.post(ROOM, "ana", "gracias")
    assert [event.sender_is_bot for event in await rooms.history(ROOM)] == [True, False]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"body": "x"}, "message"),
        ({"body": "x", "msgtype": "m.notice"}, "notice"),
        ({"body": "* x", "m.relates_to": {"rel_type": "m.replace", "event_id": "e"}}, "edit"),
        ({"m.relates_to": {"rel_type": "m.annotation", "key": "✅"}}, "reaction"),
        ({"body": "x", "m.relates_to": {"m.in_reply_to": {"event_id": "e"}}}, "message"),
        ({"body": "x", "m.relates_to": "nonsense"}, "message"),
    ],
)
async def test_the_kind_follows_from_the_content(
    rooms: LocalRooms, content: dict[str, Any], kind: str
) -> None:
    await rooms.post(ROOM, "ana", content)
    events, _ = await rooms.since(0, "asistente")
    assert events[-1].kind == kind


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("@asistente ¿qué hora es?", {"asistente"}),
        ("Asistente: hola", {"asistente"}),
        ("hola asistente, ¿qué tal?", {"asistente"}),
        ("(devops: mira esto)", {"devops"}),
        ("gracias, @DevOps.", {"devops"}),
        ("@asistente @devops @ana", {"asistente", "devops", "@ana"}),
        ("@nadie hola", set()),
        ("el asistente funciona", set()),
        ("@asistente-bot", set()),
        ("correo@asistente", set()),
        ("superasistente, no", set()),
        ("ana, ven", set()),
    ],
)
async def test_whom_a_text_calls_is_mentioned(
    rooms: LocalRooms, text: str, called: set[str]
) -> None:
    await rooms.post(ROOM, "ana", text)
    (event,) = await rooms.history(ROOM)
    assert event.mentions == called


async def test_mentions_that_the_sender_set_are_kept(rooms: LocalRooms) -> None:
    await rooms.post(ROOM, "ana", {"body": "@asistente", "m.mentions": {"user_ids": ["devops"]}})
    (event,) = await rooms.history(ROOM)
    assert event.mentions == {"devops"}


@given(st.text(max_size=60), st.text(max_size=12))
def test_any_text_and_name_is_taken_whole_or_refused_in_a_sentence(text: str, name: str) -> None:
    async def main() -> None:
        async with open_wires(Path(":memory:")) as wires:
            await wires.rooms.ensure_room(ROOM, members=AGENTS)
            try:
                await wires.rooms.post(ROOM, name, text)
            except RoomError as refusal:
                assert str(refusal)
                assert await wires.rooms.history(ROOM) == ()
            else:
                (event,) = await wires.rooms.history(ROOM)
                assert event.text == text.replace("\r\n", "\n").replace("\r", "\n")

    trio.run(main)


# History and publishing


async def test_history_holds_the_last_messages_and_notices(rooms: LocalRooms) -> None:
    for number in range(4):
        await rooms.post(ROOM, "ana", str(number))
    await rooms.send_as("asistente", ROOM, text_content("aviso", notice=True), "n")
    await rooms.post(ROOM, "ana", {"m.relates_to": {"rel_type": "m.annotation"}})
    assert [event.text for event in await rooms.history(ROOM, 3)] == ["2", "3", "aviso"]


async def test_every_new_event_is_published_once(wires: Wires) -> None:
    board = Board()
    rooms = LocalRooms(wires.db, wires.clock, board, agents=AGENTS)
    event_id = await rooms.post(ROOM, "ana", "hola", txn_id="t")
    await rooms.post(ROOM, "ana", "hola", txn_id="t")
    await rooms.leave(ROOM, "@ana")
    await rooms.leave(ROOM, "@ana")
    assert [(topic, event.kind) for topic, event in board.published] == [
        (f"rooms/{ROOM}", "join"),
        (f"rooms/{ROOM}", "message"),
        (f"rooms/{ROOM}", "leave"),
    ]
    assert board.published[1][1].event_id == event_id


# Transports


async def test_a_local_transport_is_a_transport(rooms: LocalRooms) -> None:
    transport: Transport = LocalTransport(rooms, "asistente")
    assert (transport.agent, transport.user_id, transport.state) == (
        "asistente",
        "asistente",
        "running",
    )


async def test_a_first_connection_begins_where_the_agent_joined(rooms: LocalRooms) -> None:
    await rooms.post(ROOM, "ana", "antes")
    await rooms.ensure_room(ROOM, None, ["tercero"])
    await rooms.post(ROOM, "ana", "después")
    transport = LocalTransport(rooms, "tercero")
    events, cursor = await transport.events(None)
    assert events == ()
    events, _ = await transport.events(cursor)
    assert [(event.kind, event.member, event.text) for event in events] == [
        ("join", "tercero", ""),
        ("message", "@ana", "después"),
    ]


async def test_an_agent_in_no_room_begins_now(rooms: LocalRooms) -> None:
    last = await rooms.post(ROOM, "ana", "hola")
    _, cursor = await LocalTransport(rooms, "nadie").events(None)
    assert last == f"local-{cursor}"


async def test_a_cursor_of_another_transport_counts_as_none(rooms: LocalRooms) -> None:
    assert await LocalTransport(rooms, "asistente").events("s72594_4483") == ((), "0")


async def test_a_waiting_transport_wakes_for_its_rooms_and_only_for_them(
    rooms: LocalRooms,
) -> None:
    await rooms.ensure_room("#otra", None, ["devops"])
    transport, cursor = await listening(rooms, "asistente")
    heard: list[RoomEvent] = []

    async def listen() -> None:
        events, _ = await transport.events(cursor)
        heard.extend(events)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        await trio.testing.wait_all_tasks_blocked()
        version = rooms.signal("asistente").version
        await rooms.post("#otra", "ana", "no es para ti")
        assert rooms.signal("asistente").version == version
        await rooms.post(ROOM, "ana", "hola")
    assert [(event.kind, event.text) for event in heard] == [("join", ""), ("message", "hola")]


async def test_nothing_is_missed_between_looking_and_waiting(wires: Wires) -> None:
    rooms = wires.rooms
    transport, cursor = await listening(rooms, "asistente")
    looked = rooms.since

    async def looked_then_posted(*args: Any, **kwargs: Any) -> Any:
        found = await looked(*args, **kwargs)
        if not found[0]:
            await rooms.post(ROOM, "ana", "justo ahora")
        return found

    rooms.since = looked_then_posted  # type: ignore[method-assign]
    with trio.fail_after(5):
        events, _ = await transport.events(cursor)
    assert events[-1].text == "justo ahora"


async def test_a_cancelled_wait_loses_nothing(rooms: LocalRooms) -> None:
    transport, cursor = await listening(rooms, "asistente")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.events, cursor)
        await trio.testing.wait_all_tasks_blocked()
        await rooms.post(ROOM, "ana", "hola")
        nursery.cancel_scope.cancel()
    events, _ = await transport.events(cursor)
    assert events[-1].text == "hola"


async def test_long_absences_are_caught_up_in_batches_in_order(rooms: LocalRooms) -> None:
    _, cursor = await listening(rooms, "asistente")
    for number in range(7):
        await rooms.post(ROOM, "ana", str(number))
    heard: list[str] = []
    seq = int(cursor)
    while len(heard) < 8:
        events, seq = await rooms.since(seq, "asistente", 3)
        assert len(events) <= 3
        heard += [event.text for event in events]
    assert heard == ["", "0", "1", "2", "3", "4", "5", "6"]


async def test_who_leaves_hears_of_it_and_of_nothing_after_until_back(rooms: LocalRooms) -> None:
    transport, cursor = await listening(rooms, "asistente")
    await rooms.post(ROOM, "ana", "uno")
    await rooms.leave(ROOM, "asistente")
    await rooms.post(ROOM, "ana", "dos")
    assert await transport.joined_rooms() == ()
    await rooms.join(ROOM, "asistente")
    await rooms.join(ROOM, "asistente")
    await rooms.post(ROOM, "ana", "tres")
    events, cursor = await transport.events(cursor)
    assert [event.kind for event in events] == ["leave", "join", "message"]
    assert events[-1].text == "tres"
    assert await transport.joined_rooms() == (ROOM,)


async def test_sending_honours_transaction_ids_and_echoes_to_the_sender(rooms: LocalRooms) -> None:
    transport, cursor = await listening(rooms, "asistente")
    first = await transport.send(ROOM, text_content("hola"), "slot-1-0")
    assert await transport.send(ROOM, text_content("otro"), "slot-1-0") == first
    events, _ = await transport.events(cursor)
    assert [(event.event_id, event.sender, event.text) for event in events] == [
        (first, "asistente", "hola")
    ]


async def test_an_agents_control_characters_are_dropped_not_refused(rooms: LocalRooms) -> None:
    await LocalTransport(rooms, "asistente").send(ROOM, text_content("a\x00b\x1b[1m"), "t")
    assert await texts(rooms) == [("asistente", "ab[1m")]


@pytest.mark.parametrize(
    ("agent", "room", "text"),
    [
        ("asistente", "#nada", "hola"),
        ("ajena", ROOM, "hola"),
        ("asistente", ROOM, "\x00"),
        ("asistente", ROOM, "x" * 70_000),
    ],
)
async def test_what_can_never_be_sent_is_a_permanent_error(
    rooms: LocalRooms, agent: str, room: str, text: str
) -> None:
    with pytest.raises(TransportError) as caught:
        await LocalTransport(rooms, agent).send(room, text_content(text), "t")
    assert caught.value.permanent and str(caught.value)


async def test_members_are_told_and_unknown_rooms_refused(rooms: LocalRooms) -> None:
    transport = LocalTransport(rooms, "asistente")
    assert await transport.members(ROOM) == {"asistente", "devops"}
    with pytest.raises(TransportError):
        await transport.members("#nada")


async def test_closing_ends_the_wait_and_starting_opens_again(rooms: LocalRooms) -> None:
    transport, cursor = await listening(rooms, "asistente")

    async def wait() -> None:
        with pytest.raises(TransportError, match="closed"):
            await transport.events(cursor)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        await transport.aclose()
    await transport.aclose()
    await transport.start()
    await rooms.post(ROOM, "ana", "hola")
    events, _ = await transport.events(cursor)
    assert events[-1].text == "hola"


async def test_a_crash_after_the_append_finds_the_same_event_again(rooms: LocalRooms) -> None:
    transport = LocalTransport(rooms, "asistente")
    with armed("local.after_append"), pytest.raises(Crash):
        await transport.send(ROOM, text_content("hola"), "t")
    await transport.send(ROOM, text_content("hola"), "t")
    assert await texts(rooms) == [("asistente", "hola")]
