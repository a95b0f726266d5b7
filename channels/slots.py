"""Answer slots: their type, the decisions about them, and the compare-and-set moves of their life.

A slot is `open`, then `dispatched` to an agent (attempt 1, 2, ...), and ends once, in `answered`,
`declined`, `expired` or `dead_letter`. Only a dispatched slot goes back to open; an ended one never
does. The functions here run inside a caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs
import sqlite_utils

from channels import hops
from channels.outbox import OutgoingMessage
from channels.rooms import RoomEvent

__all__ = [
    "Decided",
    "Decision",
    "Decline",
    "Dispatch",
    "Expire",
    "Hold",
    "Slot",
    "SlotFacts",
    "SlotState",
]

SlotState = Literal["open", "dispatched", "answered", "declined", "expired", "dead_letter"]


@attrs.frozen
class Slot:
    """The one place where an answer to an event can be put. Times in seconds since the epoch.

    `agent`: who holds it, or held it last. `attempt`: 0 before the first dispatch. `hop`: the turn
    it takes in its chain, 0 while it takes none. `failures`: attempts that raised.
    `interruptions`: attempts that a crash cut off. `rule`: what decided last. `reason`: why it
    waits, or how it ended.
    """

    id: int
    event_id: str
    room: str
    agent: str | None
    state: SlotState
    attempt: int
    hop: int
    chain: str
    failures: int
    interruptions: int
    rule: str | None
    reason: str | None
    opened_at: float
    decided_at: float | None
    closed_at: float | None

    @property
    def ended(self) -> bool:
        """True once it is answered, declined, expired or a dead letter."""
        return self.state not in ("open", "dispatched")


@attrs.frozen
class SlotFacts:
    """All that a pure rule may know when it decides about an open slot.

    `chain_turns`: turns our agents took in this room's chain, not counting one that this slot
    already holds (`slot.hop`): with N agents dispatched, `chain_turns + N` must not pass the limit.
    `last_answer`: agent -> when it last answered in this room (seconds since the epoch).
    `answers_last_hour`: agent -> messages it said in answers in this room in the last hour,
    notices left aside.
    `alternations`: how often, in the last ten minutes, the event's sender spoke right after one of
    our agents (for the pair guard). `pending`: agent -> slots of this room dispatched to it.
    `siblings`: the event's other slots. `replies_to`: who wrote the message that the event replies
    to. `members`: user ids known to be in the room. `sender_agent`: our agent that sent the event.
    """

    slot: Slot
    event: RoomEvent
    chain: str
    chain_turns: int
    now: float
    last_answer: Mapping[str, float] = attrs.field(factory=dict)
    answers_last_hour: Mapping[str, int] = attrs.field(factory=dict)
    alternations: int = 0
    pending: Mapping[str, int] = attrs.field(factory=dict)
    siblings: tuple[Slot, ...] = ()
    replies_to: str | None = None
    members: frozenset[str] = frozenset()
    sender_agent: str | None = None


@attrs.frozen
class Dispatch:
    """Give the slot to the first agent; each further one (policy `all`) gets a slot of its own."""

    agents: tuple[str, ...] = attrs.field(validator=attrs.validators.min_len(1))
    rule: str


@attrs.frozen
class Decline:
    """Nobody answers, by this rule.

    `suspect`: its sender counts as a bot in this room from now, until it is silent for a while.
    `notice`: what the room is told, once for its transaction id, whichever agent says it.
    """

    rule: str
    suspect: bool = False
    notice: OutgoingMessage | None = None


@attrs.frozen
class Hold:
    """Not now: the slot stays open."""

    reason: str


@attrs.frozen
class Expire:
    """Too late to answer."""

    reason: str


Decision = Dispatch | Decline | Hold | Expire


@attrs.frozen
class Decided:
    """What a decision came to.

    `slots`: for a dispatch, the dispatched slots (this one first); else this slot as it is now.
    `decision` is None when the slot was no longer open: nothing was decided.
    """

    slots: tuple[Slot, ...]
    decision: Decision | None


_COLUMNS = (
    "id, event_id, room, agent, state, attempt, hop, chain, failures, interruptions, rule, reason,"
    " opened_at, decided_at, closed_at"
)
_UNENDED = "state IN ('open', 'dispatched')"


def create_slots(db: sqlite_utils.Database) -> None:
    """Migration. Ids are never used twice: transaction ids derive from them."""
    db.executescript(
        """
        CREATE TABLE slots(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            event_id TEXT NOT NULL REFERENCES events(event_id),
            room TEXT NOT NULL,
            agent TEXT,
            state TEXT NOT NULL DEFAULT 'open' CHECK(state IN
                ('open', 'dispatched', 'answered', 'declined', 'expired', 'dead_letter')),
            attempt INTEGER NOT NULL DEFAULT 0,
            hop INTEGER NOT NULL DEFAULT 0,
            chain TEXT NOT NULL,
            failures INTEGER NOT NULL DEFAULT 0,
            interruptions INTEGER NOT NULL DEFAULT 0,
            rule TEXT,
            reason TEXT,
            opened_at REAL NOT NULL,
            decided_at REAL,
            closed_at REAL
        );
        CREATE INDEX slots_event ON slots(event_id);
        CREATE INDEX slots_unended ON slots(state, id) WHERE state IN ('open', 'dispatched');
        CREATE INDEX slots_room ON slots(room, state, agent, closed_at);
        CREATE INDEX slots_agent ON slots(agent, state) WHERE state IN ('open', 'dispatched');
        CREATE TRIGGER slots_end_once BEFORE UPDATE ON slots
        WHEN OLD.state NOT IN ('open', 'dispatched')
        BEGIN SELECT RAISE(ABORT, 'an ended slot cannot change'); END;
        """
    )


def select_slots(db: sqlite_utils.Database, where: str, *values: object) -> tuple[Slot, ...]:
    """Slots that satisfy an SQL condition, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM slots WHERE {where} ORDER BY id"
    return tuple(Slot(*row) for row in db.conn.execute(sql, values))


def unended_slots(
    db: sqlite_utils.Database, agent: str | None, room: str | None
) -> tuple[Slot, ...]:
    """Open and dispatched slots, of one agent or room only when given."""
    where, values = _UNENDED, []
    for column, value in (("agent", agent), ("room", room)):
        if value is not None:
            where += f" AND {column} = ?"
            values.append(value)
    return select_slots(db, where, *values)


def get_slot(db: sqlite_utils.Database, slot_id: int) -> Slot | None:
    """One slot by its id."""
    found = select_slots(db, "id = ?", slot_id)
    return found[0] if found else None


def open_slot(
    db: sqlite_utils.Database, *, event_id: str, room: str, chain: str, now: float
) -> int:
    """Open a slot for an event; return its id."""
    cursor = db.conn.execute(
        "INSERT INTO slots(event_id, room, chain, opened_at) VALUES (?, ?, ?, ?)",
        (event_id, room, chain, now),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def dispatch(db: sqlite_utils.Database, slot: Slot, agent: str, rule: str, now: float) -> Slot:
    """Give an open slot to an agent as its next attempt; the chain counts the slot's turn once."""
    hop = hops.reserve(db, slot.room, slot.chain, slot_key(slot.id), None)
    db.conn.execute(
        "UPDATE slots SET state = 'dispatched', agent = ?, attempt = attempt + 1, hop = ?,"
        " rule = ?, reason = NULL, decided_at = ? WHERE id = ? AND state = 'open'",
        (agent, hop, rule, now, slot.id),
    )
    dispatched = get_slot(db, slot.id)
    assert dispatched is not None
    return dispatched


def end(
    db: sqlite_utils.Database,
    slot_id: int,
    attempt: int | None,
    state: SlotState,
    *,
    now: float,
    rule: str | None = None,
    reason: str | None = None,
) -> bool:
    """Close a slot, if it is still held by this attempt (None: if it is still open)."""
    held, values = _held(slot_id, attempt)
    sql = (
        "UPDATE slots SET state = ?, rule = coalesce(?, rule), reason = coalesce(?, reason),"
        f" closed_at = ? WHERE {held}"
    )
    return db.conn.execute(sql, (state, rule, reason, now, *values)).rowcount == 1


def reopen(
    db: sqlite_utils.Database,
    slot_id: int,
    attempt: int,
    reason: str,
    *,
    failed: bool = False,
    crashed: bool = False,
) -> bool:
    """Take a slot back from this attempt; its turn in the chain stays reserved."""
    held, values = _held(slot_id, attempt)
    sql = (
        "UPDATE slots SET state = 'open', reason = ?, failures = failures + ?,"
        f" interruptions = interruptions + ? WHERE {held}"
    )
    return db.conn.execute(sql, (reason, failed, crashed, *values)).rowcount == 1


def hold(db: sqlite_utils.Database, slot_id: int, reason: str, now: float) -> None:
    """Note why an open slot waits."""
    db.conn.execute(
        "UPDATE slots SET reason = ?, decided_at = ? WHERE id = ? AND state = 'open'"
        " AND reason IS NOT ?",
        (reason, now, slot_id, reason),
    )


def give_back_if_silent(db: sqlite_utils.Database, slot: Slot) -> None:
    """A slot that ends without having said anything frees its turn."""
    spoke = db.conn.execute("SELECT 1 FROM outbox WHERE slot_id = ? LIMIT 1", (slot.id,)).fetchone()
    if not spoke:
        hops.give_back(db, slot.room, slot.chain, slot_key(slot.id))


def slot_key(slot_id: int) -> str:
    """The name under which a slot reserves its turn."""
    return f"slot-{slot_id}"


def _held(slot_id: int, attempt: int | None) -> tuple[str, tuple[int, ...]]:
    if attempt is None:
        return "id = ? AND state = 'open'", (slot_id,)
    return "id = ? AND attempt = ? AND state = 'dispatched'", (slot_id, attempt)
