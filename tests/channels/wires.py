"""A small story told over the durable wires alone; it may be cut anywhere and told again."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import attrs

from channels import inbox, local, outbox
from channels.chain import Stamp, stamped
from channels.database import Database
from channels.inbox import Decision, Decline, Dispatch, EventInbox, Slot, SlotFacts
from channels.local import LocalRooms, LocalTransport
from channels.outbox import Outbox, OutgoingMessage
from channels.rooms import text_content

MIGRATIONS = inbox.MIGRATIONS + outbox.MIGRATIONS + local.MIGRATIONS
ROOM = "#taller"
AGENTS = ("asistente", "devops")
LIMIT = 2


@attrs.define
class SetClock:
    """Wall time that moves when told."""

    time: float = 1_700_000_000.0

    def now(self) -> float:
        return self.time


@attrs.frozen
class Wires:
    """All of the durable wires over one open file."""

    db: Database
    clock: SetClock
    inbox: EventInbox
    outbox: Outbox
    rooms: LocalRooms


@asynccontextmanager
async def open_wires(
    path: Path, *, agents: Sequence[str] = AGENTS, threaded: bool = False
) -> AsyncIterator[Wires]:
    clock = SetClock()
    async with Database.open(path, MIGRATIONS, threaded=threaded) as db:
        yield Wires(
            db,
            clock,
            EventInbox(db, clock, agents=agents),
            Outbox(db, clock),
            LocalRooms(db, clock, agents=agents),
        )


def answer_parts(slot: Slot, parts: int = 2) -> list[OutgoingMessage]:
    assert slot.agent is not None
    stamp = Stamp(slot.agent, slot.chain, slot.chain, slot.hop)
    return [
        OutgoingMessage(
            slot.agent,
            slot.room,
            f"slot-{slot.id}-{part}",
            stamped(text_content(f"{slot.agent} {slot.attempt}.{part}"), stamp),
        )
        for part in range(parts)
    ]


def rule(facts: SlotFacts) -> Decision:
    """Both agents answer a text with "todos", else the first other than the sender."""
    if facts.chain_turns >= LIMIT:
        return Decline("max_bot_turns")
    if "todos" in facts.event.text:
        return Dispatch(AGENTS, "all")
    others = [agent for agent in AGENTS if agent != facts.event.sender]
    return Dispatch((others[0],), "first")


@attrs.frozen
class Story:
    """Ana says two things; the agents answer her and each other until the hop limit."""

    path: Path

    async def tell(self) -> None:
        """Do whatever of the story is not yet done."""
        async with open_wires(self.path) as wires:
            await recover(wires)
            await wires.rooms.post(ROOM, "ana", "hola", txn_id="first")
            await wires.rooms.post(ROOM, "ana", "hola a todos", txn_id="second")
            await settle(wires)

    async def check(self) -> None:
        """What must hold when the story has been told, however often it was cut."""
        async with open_wires(self.path) as wires:
            await check_said_once(wires)
            assert await wires.inbox.open_slots() == ()
            said = await wires.rooms.history(ROOM, 1000)
            people = [event for event in said if event.sender == "@ana"]
            assert [event.text for event in people] == ["hola", "hola a todos"]
            for event in people:
                assert await wires.inbox.chain_turns(ROOM, event.event_id) == LIMIT
            speakers = Counter(event.sender for event in said)
            assert speakers == {"@ana": 2, "asistente": 4, "devops": 4}


async def recover(wires: Wires) -> None:
    """Begin after an end of any kind: nothing runs, so every dispatched slot was cut off."""
    await wires.rooms.ensure_room(ROOM, members=AGENTS)
    for slot in await wires.inbox.open_slots():
        if slot.state == "dispatched":
            await wires.inbox.release(slot.id, slot.attempt, "crash", crashed=True)


async def settle(wires: Wires) -> None:
    """Listen and answer until nothing new is said."""
    while await listen(wires) or await work(wires):
        pass


async def listen(wires: Wires) -> bool:
    heard = False
    for agent in AGENTS:
        cursor = await wires.inbox.cursor(agent)
        seq = await wires.rooms.beginning(agent) if cursor is None else int(cursor)
        events, end = await wires.rooms.since(seq, agent)
        if events:
            await wires.inbox.admit(events, cursor_key=agent, cursor=str(end), own=agent)
            heard = True
    return heard


async def work(wires: Wires) -> bool:
    slots = await wires.inbox.open_slots()
    for slot in slots:
        decided = await wires.inbox.decide(slot.id, rule)
        for taken in decided.slots:
            if taken.state == "dispatched":
                await wires.inbox.answer(taken.id, taken.attempt, answer_parts(taken))
    return await send_pending(wires) or bool(slots)


async def live(path: Path, note: Callable[[int], object]) -> None:
    """Ana says one thing after another, for ever; `note(n)` is called before the n-th."""
    async with open_wires(path, threaded=True) as wires:
        await recover(wires)
        said = await wires.rooms.history(ROOM, 100_000)
        for number in count(sum(event.sender == "@ana" for event in said)):
            note(number)
            text = "hola a todos" if number % 2 else "hola"
            await wires.rooms.post(ROOM, "ana", text, txn_id=f"n{number}")
            await settle(wires)


async def send_pending(wires: Wires) -> bool:
    sent = False
    for agent in AGENTS:
        transport = LocalTransport(wires.rooms, agent)
        for row in await wires.outbox.pending(agent):
            event_id = await transport.send(row.room, row.content, row.txn_id)
            sent = await wires.outbox.mark_sent(row.id, event_id)
    return sent


async def check_said_once(wires: Wires) -> None:
    """Each slot's rows are whole, each sent row is in the room once, nothing else is."""
    said = await wires.rooms.history(ROOM, 100_000)
    by_id = {event.event_id: event for event in said}
    sent_ids = []
    for slot in await every_slot(wires):
        rows = await wires.outbox.rows_of(slot.id)
        assert len(rows) == (2 if slot.state == "answered" else 0)
        for row in rows:
            if row.state == "sent":
                assert row.event_id is not None
                sent_ids.append(row.event_id)
                assert by_id[row.event_id].content["body"] == row.content["body"]
    assert len(sent_ids) == len(set(sent_ids))
    statistics = await wires.outbox.statistics()
    assert sum(event.sender in AGENTS for event in said) in range(
        len(sent_ids), len(sent_ids) + statistics.pending + 1
    )


async def every_slot(wires: Wires) -> list[Slot]:
    ids = await wires.db.read(
        lambda db: [row[0] for row in db.conn.execute("SELECT id FROM slots ORDER BY id")]
    )
    found = [await wires.inbox.slot(id) for id in ids]
    return [slot for slot in found if slot is not None]
