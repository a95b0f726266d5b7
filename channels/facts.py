"""What a decision about an open slot may rest on, read inside the deciding transaction."""

from __future__ import annotations

import json

import attrs
import sqlite_utils

from channels import hops, slots
from channels.admission import SUSPICION_SECONDS, Known, is_suspect
from channels.rooms import RoomEvent
from channels.slots import Slot, SlotFacts

__all__ = ["gather", "get_event", "reactions", "room_history"]

HOUR = 3600.0
# No longer than a suspicion lasts: when one lapses, the count starts afresh.
PAIR_WINDOW = SUSPICION_SECONDS
PAIR_MESSAGES = 200
_EVENT = "event_id, room, sender, ts, content, kind, sender_is_bot"


def get_event(db: sqlite_utils.Database, event_id: str) -> RoomEvent | None:
    """An admitted event by its id."""
    row = db.conn.execute(f"SELECT {_EVENT} FROM events WHERE event_id = ?", (event_id,)).fetchone()
    return _event(row) if row else None


def room_history(
    db: sqlite_utils.Database, room: str, before: str | None, limit: int, kinds: tuple[str, ...]
) -> tuple[RoomEvent, ...]:
    """The last `limit` events of a room before (not with) the event `before`, oldest first."""
    until = None
    if before is not None:
        until = db.conn.execute("SELECT seq FROM events WHERE event_id = ?", (before,)).fetchone()
    marks = ", ".join("?" * len(kinds))
    rows = db.conn.execute(
        f"SELECT {_EVENT} FROM events WHERE room = ? AND kind IN ({marks}) AND seq < ?"
        " ORDER BY seq DESC LIMIT ?",
        (room, *kinds, until[0] if until else 2**62, limit),
    ).fetchall()
    return tuple(_event(row) for row in reversed(rows))


def reactions(
    db: sqlite_utils.Database, after: int, limit: int
) -> tuple[tuple[int, RoomEvent], ...]:
    """Reactions after the position `after`, oldest first, each with its own position."""
    rows = db.conn.execute(
        f"SELECT {_EVENT}, seq FROM events WHERE kind = 'reaction' AND seq > ?"
        " ORDER BY seq LIMIT ?",
        (after, limit),
    ).fetchall()
    return tuple((row[-1], _event(row[:-1])) for row in rows)


def gather(db: sqlite_utils.Database, slot: Slot, known: Known, now: float) -> SlotFacts:
    """Collect the facts about one open slot."""
    event = get_event(db, slot.event_id)
    assert event is not None
    if is_suspect(db, event.room, event.sender, now):
        event = attrs.evolve(event, sender_is_bot=True)
    taken = hops.turns(db, slot.room, slot.chain) - (1 if slot.hop else 0)
    return SlotFacts(
        slot=slot,
        event=event,
        chain=slot.chain,
        chain_turns=taken,
        now=now,
        last_answer=_last_answers(db, slot.room, known),
        answers_last_hour=_answers_since(db, slot.room, now - HOUR),
        alternations=_alternations(db, event, known, now - PAIR_WINDOW),
        pending=_pending(db, slot.room),
        siblings=slots.select_slots(db, "event_id = ? AND id != ?", slot.event_id, slot.id),
        replies_to=_author(db, event.reply_to),
        members=_members(db, slot.room),
        sender_agent=known.agents.get(event.sender),
    )


def _last_answers(db: sqlite_utils.Database, room: str, known: Known) -> dict[str, float]:
    # One index look-up an agent: a GROUP BY would read every answer the room ever got.
    rows = db.conn.execute(
        "SELECT value, (SELECT max(closed_at) FROM slots"
        " WHERE room = ? AND state = 'answered' AND agent = value) FROM json_each(?)",
        (room, json.dumps(sorted(set(known.agents.values())))),
    )
    return {agent: last for agent, last in rows if last is not None}


def _answers_since(db: sqlite_utils.Database, room: str, since: float) -> dict[str, int]:
    return dict(
        db.conn.execute(
            "SELECT agent, count(*) FROM outbox"
            " WHERE room = ? AND created_at >= ? AND slot_id IS NOT NULL"
            " AND json_extract(content, '$.msgtype') IS NOT 'm.notice' GROUP BY agent",
            (room, since),
        )
    )


def _pending(db: sqlite_utils.Database, room: str) -> dict[str, int]:
    return dict(
        db.conn.execute(
            "SELECT agent, count(*) FROM slots"
            " WHERE room = ? AND state = 'dispatched' GROUP BY agent",
            (room,),
        )
    )


def _members(db: sqlite_utils.Database, room: str) -> frozenset[str]:
    rows = db.conn.execute("SELECT member FROM present WHERE room = ?", (room,))
    return frozenset(member for (member,) in rows)


def _author(db: sqlite_utils.Database, event_id: str | None) -> str | None:
    if event_id is None:
        return None
    row = db.conn.execute(
        "SELECT sender FROM events WHERE event_id = ?"
        " UNION ALL SELECT agent FROM outbox WHERE event_id = ? LIMIT 1",
        (event_id, event_id),
    ).fetchone()
    return row[0] if row else None


def _alternations(db: sqlite_utils.Database, event: RoomEvent, known: Known, since: float) -> int:
    """How often a human-looking sender spoke right after one of our agents, others left aside."""
    if event.sender_is_bot:
        return 0
    rows = db.conn.execute(
        "SELECT sender, received_at FROM events WHERE room = ? AND kind = 'message'"
        " AND seq <= (SELECT seq FROM events WHERE event_id = ?) ORDER BY seq DESC LIMIT ?",
        (event.room, event.event_id, PAIR_MESSAGES),
    )
    count, sender_spoke = 0, False
    for sender, received_at in rows:  # newest first
        if received_at <= since:
            break
        if sender == event.sender:
            sender_spoke = True
        elif sender in known.agents:
            count += sender_spoke
            sender_spoke = False
    return count


def _event(row: tuple[str, str, str, float, str, str, int]) -> RoomEvent:
    event_id, room, sender, ts, content, kind, is_bot = row
    return RoomEvent(event_id, room, sender, ts, json.loads(content), kind, bool(is_bot))
