"""A connection admits once, sends in order, outlives outages and settles what is in flight."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from actors.connection import Connection
from actors.llm.protocol import ModelRequest
from actors.sending import Backoff, settle
from channels.errors import RemoteError
from channels.messages import Deliver, Flush, JoinedRooms, Notice, Sent
from channels.outbox import OutgoingMessage
from channels.rooms import RoomEvent, Transport, TransportError, text_content
from config.schema import RoomConfig
from tests.actors.house import ROOM, TALK, Answer, House, a_house

OTHER = "#huerto"
Fault = Callable[[str], Any]


@attrs.define(eq=False)
class Shaky:
    """A transport around another whose sends and reads a test can spoil."""

    inner: Transport
    fault: Fault
    sent: list[str] = attrs.field(factory=list)
    opened: int = 0
    closed: bool = False
    state: Any = "running"

    @property
    def agent(self) -> str:
        return self.inner.agent

    @property
    def user_id(self) -> str:
        return self.inner.user_id

    async def start(self) -> None:
        await self.spoil("start")
        self.opened += 1
        await self.inner.start()

    async def events(self, cursor: str | None) -> tuple[Sequence[RoomEvent], str]:
        await self.spoil("events")
        return await self.inner.events(cursor)

    async def send(self, room: str, content: Mapping[str, Any], txn_id: str) -> str:
        await self.spoil(f"send {room}")
        event_id = await self.inner.send(room, content, txn_id)
        self.sent.append(f"{room} {content['body']}")
        return event_id

    async def joined_rooms(self) -> Sequence[str]:
        return await self.inner.joined_rooms()

    async def members(self, room: str) -> frozenset[str]:
        return await self.inner.members(room)

    async def aclose(self) -> None:
        self.closed = True
        await self.inner.aclose()

    async def spoil(self, what: str) -> None:
        outcome = self.fault(what)
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, float):
            await trio.sleep(outcome)


@attrs.define(eq=False)
class ShakyHouse(House):
    """A house whose agents' transports can fail."""

    fault: Fault = lambda what: None
    links: dict[str, Shaky] = attrs.field(factory=dict)

    def transport(self, agent: str) -> Shaky:
        inner = super().transport(agent)
        link = self.links[agent] = Shaky(inner, lambda what: self.fault(what))
        return link

    def link(self, agent: str = "ada") -> Connection:
        actor = self.running[f"{agent}/connection"].actor
        assert isinstance(actor, Connection)
        return actor

    async def put(self, *texts: str, room: str = ROOM) -> tuple[int, ...]:
        rows = await self.outbox.put(
            OutgoingMessage("ada", room, f"t-{text}", text_content(text)) for text in texts
        )
        self.bus.tell_nowait("ada/connection", Flush())
        return rows


@asynccontextmanager
async def shaky(path: Path, **more: Any) -> AsyncIterator[ShakyHouse]:
    async with a_house(path, kind=ShakyHouse, **more) as house:
        assert isinstance(house, ShakyHouse)
        yield house


BOTH = (TALK, RoomConfig(OTHER, participants=("ada", "bob")))


# -- sending -------------------------------------------------------------------------------------


async def test_what_waits_is_sent_in_order_and_published(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        with house.bus.subscribe("sent") as sent:
            rows = await house.put("uno", "dos", "tres")
            seen = [await sent.__anext__() for _ in rows]
        assert house.links["ada"].sent == [f"{ROOM} {t}" for t in ("uno", "dos", "tres")]
        row = await house.outbox.row(rows[0])
        assert row is not None and row.state == "sent"
        assert seen[0] == Sent("ada", ROOM, "t-uno", row.event_id or "")


async def test_rows_left_by_an_earlier_process_are_sent_at_the_start(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path, started=False) as house:
        await house.outbox.put([OutgoingMessage("ada", ROOM, "t", text_content("pendiente"))])
    async with shaky(tmp_path) as house:
        await house.settled()
        assert await house.texts() == ["pendiente"]


async def test_a_slow_room_does_not_hold_up_another(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path, rooms=BOTH) as house:
        house.fault = lambda what: 5.0 if what == f"send {ROOM}" else None
        await house.put("uno", "dos")
        await house.put("tres", room=OTHER)
        await trio.sleep(1)
        assert house.links["ada"].sent == [f"{OTHER} tres"]
        await trio.sleep(10)
        assert house.links["ada"].sent[1:] == [f"{ROOM} uno", f"{ROOM} dos"]


async def test_an_outage_is_a_state_and_answers_wait_in_order(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        house.fault = lambda what: TransportError("down") if "send" in what else None
        rows = await house.put("uno", "dos")
        await trio.sleep(20)
        assert house.link().state == "reconnecting" and house.link().status()["error"] == "down"
        row = await house.outbox.row(rows[0])
        assert row is not None and row.state == "pending" and row.tries > 2
        house.fault = lambda what: None
        await trio.sleep(60)
        assert await house.texts() == ["uno", "dos"]
        assert house.link().state == "running"


async def test_a_servers_wish_for_a_pause_is_heard(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        tries: list[float] = []

        def fault(what: str) -> Any:
            if "send" in what:
                tries.append(trio.current_time())
                return TransportError("slow down", retry_after=100.0) if len(tries) == 1 else None
            return None

        house.fault = fault
        await house.put("uno")
        await trio.sleep(200)
        assert len(tries) == 2 and tries[1] - tries[0] >= 100


async def test_a_send_without_an_answer_is_tried_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        house.fault = lambda what: 1e6 if "send" in what else None
        (row_id,) = await house.put("uno")
        await trio.sleep(31)
        row = await house.outbox.row(row_id)
        assert row is not None and row.tries == 1 and "within 30 s" in (row.last_error or "")
        house.fault = lambda what: None
        await trio.sleep(60)
        assert await house.texts() == ["uno"]


async def test_what_the_room_refuses_does_not_block_what_follows(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        rows = await house.put("")  # local rooms refuse an empty text for good
        await house.put("dos")
        await trio.sleep(5)
        row = await house.outbox.row(rows[0])
        assert row is not None and row.state == "failed"
        assert await house.texts() == ["dos"]


async def test_an_ask_to_deliver_gets_the_event_id_now_or_when_it_is_sent(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        house.fault = lambda what: 3.0 if "send" in what else None
        (row_id,) = await house.put("uno")
        event_id = await house.bus.ask("ada/connection", Deliver(row_id), timeout=10)
        assert event_id == await house.bus.ask("ada/connection", Deliver(row_id), timeout=1)
        with pytest.raises(RemoteError, match="no outbox row"):
            await house.bus.ask("ada/connection", Deliver(999), timeout=1)
        (bad,) = await house.put("")
        with pytest.raises(RemoteError):
            await house.bus.ask("ada/connection", Deliver(bad), timeout=10)


async def test_a_notice_is_said_once_per_key_in_every_room_of_the_agent(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path, rooms=BOTH) as house:
        for text in ("primero", "segundo"):
            house.bus.tell_nowait("ada/connection", Notice(text, key="k"))
        house.bus.tell_nowait("ada/connection", Notice("solo aquí", key="k2", room=ROOM))
        await trio.sleep(5)
        assert await house.texts() == ["primero", "solo aquí"]
        assert await house.texts(OTHER) == ["primero"]
    async with shaky(tmp_path, rooms=BOTH) as house:
        house.bus.tell_nowait("ada/connection", Notice("otra vez", key="k"))
        await trio.sleep(5)
        assert "otra vez" not in await house.texts()


async def test_a_notice_for_rooms_not_yet_known_is_said_when_they_are(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path, started=False) as house:
        house.fault = lambda what: TransportError("down")
        await house.open()
        house.bus.tell_nowait("ada/connection", Notice("cuarentena", key="q"))
        await trio.sleep(5)
        house.fault = lambda what: None
        await trio.sleep(60)
        assert await house.texts() == ["cuarentena"]


# -- stopping ------------------------------------------------------------------------------------


@pytest.mark.promise("P6")
@pytest.mark.parametrize(("seconds", "delivered"), [(3.0, True), (60.0, False)])
async def test_a_cancelled_connection_lets_the_send_in_flight_settle(
    tmp_path: Path, autojump_clock: MockClock, seconds: float, delivered: bool
) -> None:
    async with shaky(tmp_path) as house:
        house.fault = lambda what: seconds if "send" in what else None
        rows = await house.put("uno", "dos")
        await trio.sleep(1)
        began = trio.current_time()
        await house.running["ada/connection"].stop("shutdown")
        assert trio.current_time() - began <= 5.1
        states = [row.state for i in rows if (row := await house.outbox.row(i))]
        assert states == ["sent" if delivered else "pending", "pending"]
        assert house.links["ada"].closed


async def test_a_drained_connection_sends_what_it_can_and_leaves_the_rest(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path, rooms=BOTH) as house:
        house.fault = lambda what: TransportError("down") if what == f"send {OTHER}" else None
        await house.put("uno", room=OTHER)
        own = house.running["ada/connection"]
        own.inbox.drain()
        await house.put("dos")
        await own.ended.wait()
        assert await house.texts() == ["dos"] and await house.texts(OTHER) == []


async def test_settle_lets_work_end_after_a_cancel_and_the_cancel_goes_through() -> None:
    done = False

    async def work() -> None:
        nonlocal done
        await trio.lowlevel.checkpoint()
        done = True

    with trio.CancelScope() as scope:
        scope.cancel()
        await settle(work, patience=5)
    assert scope.cancelled_caught and done


async def test_settle_raises_what_the_work_raises_alone() -> None:
    async def work() -> None:
        raise TransportError("no")

    with pytest.raises(TransportError, match="no"):
        await settle(work, patience=5)


# -- hearing -------------------------------------------------------------------------------------


async def test_two_connections_admit_an_event_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        event_id = await house.say("hola")
        await trio.sleep(1)
        assert len(await house.inbox.slots_of(event_id)) == 1


async def test_what_was_said_during_an_outage_is_heard_after_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        house.fault = lambda what: TransportError("down") if what in ("events", "start") else None
        await house.say("una")  # the read that waits is not spoiled, the next one is
        await trio.sleep(1)
        await house.say("@bob dos")
        await trio.sleep(20)
        assert house.link().state == "reconnecting"
        assert await house.texts() == ["ada: una"]
        house.fault = lambda what: None
        await trio.sleep(60)
        assert await house.texts() == ["ada: una", "bob: @bob dos"]
        assert house.link().state == "running"


async def test_a_homeserver_that_is_down_at_the_start_does_not_keep_the_agent_from_starting(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path, started=False) as house:
        house.fault = lambda what: TransportError("down")
        with trio.fail_after(5):
            await house.open()
        assert house.link().state == "reconnecting"
        assert await house.bus.ask("ada/connection", JoinedRooms(), timeout=1) is None
        house.fault = lambda what: None
        await house.say("hola")
        await trio.sleep(60)
        assert await house.texts() == ["ada: hola"]
        assert await house.bus.ask("ada/connection", JoinedRooms(), timeout=1) == (ROOM,)


async def test_messages_said_while_down_are_answered_on_return_up_to_a_maximum_age(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        await trio.sleep(1)
    async with shaky(tmp_path, started=False) as house:
        await house.say("vieja")
        house.clock.step(2 * 86_400)
        await house.say("reciente")
        await house.open()
        await house.settled()
        assert [slot.state for slot in await house.slots()][:2] == ["expired", "answered"]
        assert await house.texts() == ["ada: reciente"]


async def test_a_live_message_is_never_too_old_whatever_its_clock_says(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with shaky(tmp_path) as house:
        await trio.sleep(10)
        house.clock.step(-5 * 86_400)
        await house.say("desde el pasado")
        house.clock.step(5 * 86_400)
        await house.settled()
        assert await house.texts() == ["ada: desde el pasado"]


async def test_a_stop_said_by_a_bot_is_only_text(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def slow(request: ModelRequest) -> Answer:
        await trio.sleep(10)
        return "ya"

    async with shaky(tmp_path, scripts={"ada": slow}) as house:
        await house.say("hola")
        await trio.sleep(1)
        await house.say("!stop", "robot", as_bot=True)
        await house.settled()
        assert await house.texts() == ["ya"]
        assert [slot.state for slot in await house.slots()] == ["answered", "declined"]


def test_backoff_grows_to_its_maximum_with_jitter_and_heeds_the_server() -> None:
    backoff, rng = Backoff(initial=1, factor=2, maximum=8, jitter=0.2), Random(1)
    for tries, middle in enumerate((1, 2, 4, 8, 8)):
        assert 0.8 * middle <= backoff.delay(tries, None, rng) <= 1.2 * middle
    assert backoff.delay(10**9, 50.0, rng) == 50.0
