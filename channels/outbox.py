"""What is to be said, frozen before it is first sent, and what was said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs
import sqlite_utils

from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.database import Database, Migration

__all__ = ["MIGRATIONS", "Outbox", "OutboxRow", "OutboxStatistics", "OutgoingMessage"]

declare_crash_points("outbox.before_mark", "outbox.after_mark")

OutboxState = Literal["pending", "sent", "failed"]


@attrs.frozen
class OutgoingMessage:
    """A message of `agent` to `room`. `txn_id` names it for ever: the first body under it wins."""

    agent: str
    room: str
    txn_id: str
    content: Mapping[str, Any]


@attrs.frozen
class OutboxRow:
    """A frozen message and how far it got. Times in seconds since the epoch."""

    id: int
    agent: str
    room: str
    txn_id: str
    content: Mapping[str, Any]
    slot_id: int | None
    state: OutboxState
    event_id: str | None
    device: str | None
    created_at: float
    sent_at: float | None
    tries: int
    last_error: str | None


@attrs.frozen
class OutboxStatistics:
    """How much waits, per agent too; `oldest_pending_at` in seconds since the epoch."""

    pending: int
    sent: int
    failed: int
    pending_by_agent: Mapping[str, int]
    oldest_pending_at: float | None


def _create(db: sqlite_utils.Database) -> None:
    db.executescript(
        """
        CREATE TABLE outbox(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            agent TEXT NOT NULL,
            room TEXT NOT NULL,
            txn_id TEXT NOT NULL,
            content TEXT NOT NULL,
            slot_id INTEGER,
            state TEXT NOT NULL DEFAULT 'pending' CHECK(state IN ('pending', 'sent', 'failed')),
            event_id TEXT,
            device TEXT,
            created_at REAL NOT NULL,
            sent_at REAL,
            tries INTEGER NOT NULL DEFAULT 0,
            last_error TEXT,
            UNIQUE(agent, room, txn_id)
        );
        CREATE INDEX outbox_pending ON outbox(agent, id) WHERE state = 'pending';
        CREATE INDEX outbox_failed ON outbox(id) WHERE state = 'failed';
        CREATE INDEX outbox_event ON outbox(event_id) WHERE event_id IS NOT NULL;
        CREATE INDEX outbox_slot ON outbox(slot_id) WHERE slot_id IS NOT NULL;
        CREATE INDEX outbox_room ON outbox(room, created_at);
        """
    )


MIGRATIONS = (Migration("outbox.001", _create),)

_COLUMNS = (
    "id, agent, room, txn_id, content, slot_id, state, event_id, device, created_at, sent_at,"
    " tries, last_error"
)


class Outbox:
    """The durable queue between whoever speaks and the connections that send."""

    def __init__(self, db: Database, clock: WallClock) -> None:
        self._db = db
        self._clock = clock

    async def put(
        self, messages: Iterable[OutgoingMessage], slot_id: int | None = None
    ) -> tuple[int, ...]:
        """Freeze messages; return their row ids in order.

        A (agent, room, txn_id) seen before keeps its first body and its id. All or none.
        """
        given = tuple(messages)
        now = self._clock.now()
        return await self._db.write(lambda db: self.put_in(db, given, now=now, slot_id=slot_id))

    @staticmethod
    def put_in(
        db: sqlite_utils.Database,
        messages: Iterable[OutgoingMessage],
        *,
        now: float,
        slot_id: int | None = None,
    ) -> tuple[int, ...]:
        """The same inside a transaction of the caller's (`now`: seconds since the epoch)."""
        return tuple(_put_one(db, message, now, slot_id) for message in messages)

    async def pending(self, agent: str, limit: int = 1000) -> tuple[OutboxRow, ...]:
        """What `agent` has still to send, in the order it was put."""
        return await self._select(
            "WHERE agent = ? AND state = 'pending' ORDER BY id LIMIT ?", agent, limit
        )

    async def mark_sent(self, row_id: int, event_id: str, device: str | None = None) -> bool:
        """Record that a row reached its room; False, and no change, if that was known."""
        crash_point("outbox.before_mark")
        now = self._clock.now()
        marked = await self._change(
            "UPDATE outbox SET state = 'sent', event_id = ?, device = ?, sent_at = ?,"
            " tries = tries + 1, last_error = NULL WHERE id = ? AND state != 'sent'",
            (event_id, device, now, row_id),
        )
        crash_point("outbox.after_mark")
        return marked

    async def mark_tried(self, row_id: int, error: str, device: str | None = None) -> bool:
        """Record a try that failed or whose outcome is unknown; the row stays pending."""
        return await self._change(
            "UPDATE outbox SET tries = tries + 1, last_error = ?, device = coalesce(?, device)"
            " WHERE id = ? AND state = 'pending'",
            (error, device, row_id),
        )

    async def mark_failed(self, row_id: int, error: str) -> bool:
        """Give a row up for good (the room refused it); True when it was still pending."""
        return await self._change(
            "UPDATE outbox SET state = 'failed', tries = tries + 1, last_error = ?"
            " WHERE id = ? AND state = 'pending'",
            (error, row_id),
        )

    async def row(self, row_id: int) -> OutboxRow | None:
        """One row by its id."""
        rows = await self._select("WHERE id = ?", row_id)
        return rows[0] if rows else None

    async def find(self, agent: str, room: str, txn_id: str) -> OutboxRow | None:
        """One row by the name its sender gave it."""
        rows = await self._select(
            "WHERE agent = ? AND room = ? AND txn_id = ?", agent, room, txn_id
        )
        return rows[0] if rows else None

    async def row_said(self, event_id: str) -> OutboxRow | None:
        """The row that became this event; None when none of our agents said it."""
        rows = await self._select("WHERE event_id = ? ORDER BY id LIMIT 1", event_id)
        return rows[0] if rows else None

    async def rows_of(self, slot_id: int) -> tuple[OutboxRow, ...]:
        """All rows of an answer slot, in order."""
        return await self._select("WHERE slot_id = ? ORDER BY id", slot_id)

    async def statistics(self) -> OutboxStatistics:
        """Count rows by state."""
        return await self._db.read(_statistics)

    async def _select(self, where: str, *values: object) -> tuple[OutboxRow, ...]:
        def select(db: sqlite_utils.Database) -> tuple[OutboxRow, ...]:
            rows = db.conn.execute(f"SELECT {_COLUMNS} FROM outbox {where}", values).fetchall()
            return tuple(_row(row) for row in rows)

        return await self._db.read(select)

    async def _change(self, sql: str, values: Sequence[object]) -> bool:
        return await self._db.write(lambda db: db.conn.execute(sql, values).rowcount == 1)


def dump_content(content: Mapping[str, Any]) -> str:
    """Content as the text that is stored; lone surrogates, which no transport takes, become `?`."""
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")


def _row(row: tuple[Any, ...]) -> OutboxRow:
    values = list(row)
    values[4] = json.loads(values[4])
    return OutboxRow(*values)


def _put_one(
    db: sqlite_utils.Database, message: OutgoingMessage, now: float, slot_id: int | None
) -> int:
    key = (message.agent, message.room, message.txn_id)
    found = db.conn.execute(
        "SELECT id FROM outbox WHERE agent = ? AND room = ? AND txn_id = ?", key
    ).fetchone()
    if found:
        return int(found[0])
    cursor = db.conn.execute(
        "INSERT INTO outbox(agent, room, txn_id, content, slot_id, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (*key, dump_content(message.content), slot_id, now),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _statistics(db: sqlite_utils.Database) -> OutboxStatistics:
    failed, everything = db.conn.execute(
        "SELECT (SELECT count(*) FROM outbox WHERE state = 'failed'), (SELECT count(*) FROM outbox)"
    ).fetchone()
    waiting = db.conn.execute(
        "SELECT agent, count(*), min(created_at) FROM outbox WHERE state = 'pending' GROUP BY agent"
    ).fetchall()
    pending = sum(count for _, count, _ in waiting)
    return OutboxStatistics(
        pending=pending,
        sent=everything - pending - failed,
        failed=failed,
        pending_by_agent={agent: count for agent, count, _ in waiting},
        oldest_pending_at=min((oldest for _, _, oldest in waiting), default=None),
    )
