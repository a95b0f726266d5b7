"""The durable record of a turn: what the model said, which tools ran; a re-run repeats neither."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import sqlite_utils

from actors.llm.protocol import Finished, ModelOutput, ToolCall
from channels.clock import WallClock
from channels.database import Database, Migration
from tools.tool import ToolResult

__all__ = ["MIGRATIONS", "CallRecord", "Journal", "TurnRecord", "idempotency_key"]

RETENTION_DAYS: Final = 30


def idempotency_key(turn_key: str, call: int) -> str:
    """Return the key of the turn's call number `call`: the same however often the turn is run."""
    return f"{turn_key}:{call}"


@attrs.frozen
class CallRecord:
    """One tool call of the turn. `result` is None while its outcome is not recorded."""

    number: int
    call: ToolCall
    result: ToolResult | None = None


@attrs.define
class TurnRecord:
    """All that is known of one turn: the model's outputs in order, the calls by number, the end.

    `answer` is the text a finished turn ended with; None while it is open.
    """

    key: str
    outputs: list[ModelOutput] = attrs.field(factory=list)
    calls: dict[int, CallRecord] = attrs.field(factory=dict)
    answer: str | None = None


def _tables(db: sqlite_utils.Database) -> None:
    db.execute(
        """CREATE TABLE turns (
            key TEXT PRIMARY KEY, started_at REAL NOT NULL, ended_at REAL, answer TEXT
        ) WITHOUT ROWID"""
    )
    db.execute(
        """CREATE TABLE turn_outputs (
            key TEXT NOT NULL REFERENCES turns(key) ON DELETE CASCADE,
            round INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key, round)
        ) WITHOUT ROWID"""
    )
    db.execute(
        """CREATE TABLE turn_calls (
            key TEXT NOT NULL REFERENCES turns(key) ON DELETE CASCADE,
            number INTEGER NOT NULL, body TEXT NOT NULL, ok INTEGER, result TEXT,
            PRIMARY KEY (key, number)
        ) WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX turns_ended ON turns(ended_at)")


MIGRATIONS: Final[Sequence[Migration]] = (Migration("journal.001", _tables),)


class Journal:
    """The records of all turns, in the same file as the inbox and the outbox.

    Every method is one transaction; a cancel before it starts leaves nothing, a later one comes
    after it is done.
    """

    def __init__(self, db: Database, clock: WallClock) -> None:
        self._db = db
        self._clock = clock

    async def open(self, key: str) -> TurnRecord:
        """Begin the record of the turn `key`, or read the one that an earlier run has left."""
        now = self._clock.now()
        return await self._db.write(lambda db: _open(db, key, now))

    async def answered(self, record: TurnRecord, output: ModelOutput) -> None:
        """Record the output of the model's next round."""
        row = (record.key, len(record.outputs), _dump_output(output))
        await self._db.write(lambda db: _insert(db, "turn_outputs", "key, round, body", row))
        record.outputs.append(output)

    async def calling(self, record: TurnRecord, number: int, call: ToolCall) -> None:
        """Record that call `number` is about to be made. Recording it again changes nothing."""
        row = (record.key, number, json.dumps(attrs.asdict(call)))
        await self._db.write(lambda db: _insert(db, "turn_calls", "key, number, body", row))
        record.calls.setdefault(number, CallRecord(number, call))

    async def called(self, record: TurnRecord, number: int, result: ToolResult) -> None:
        """Record the result of call `number`; the model sees it only after this."""
        row = (int(result.ok), result.text, record.key, number)
        sql = "UPDATE turn_calls SET ok = ?, result = ? WHERE key = ? AND number = ?"
        await self._db.write(lambda db: _execute(db, sql, row))
        record.calls[number] = attrs.evolve(record.calls[number], result=result)

    def ending(self, key: str, answer: str) -> Callable[[sqlite_utils.Database], None]:
        """Return what ends the record inside somebody else's transaction (the inbox's `also`).

        The steps are dropped with the end; the answer stays until `purge`.
        """
        now = self._clock.now()

        def end(db: sqlite_utils.Database) -> None:
            _execute(
                db,
                """INSERT INTO turns (key, started_at, ended_at, answer) VALUES (?, ?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET ended_at = excluded.ended_at,
                answer = excluded.answer""",
                (key, now, now, answer),
            )
            _execute(db, "DELETE FROM turn_outputs WHERE key = ?", (key,))
            _execute(db, "DELETE FROM turn_calls WHERE key = ?", (key,))

        return end

    async def end(self, key: str, answer: str) -> None:
        """End a record that no slot belongs to (a task)."""
        await self._db.write(self.ending(key, answer))

    async def purge(self, older_than: float) -> int:
        """Forget turns that ended, or began and were left, before that instant; return how many."""
        sql = "DELETE FROM turns WHERE coalesce(ended_at, started_at) < ?"
        return await self._db.write(lambda db: int(db.execute(sql, (older_than,)).rowcount))


def _open(db: sqlite_utils.Database, key: str, now: float) -> TurnRecord:
    _insert(db, "turns", "key, started_at", (key, now))
    row = db.execute("SELECT ended_at, answer FROM turns WHERE key = ?", (key,)).fetchone()
    outputs = db.execute("SELECT body FROM turn_outputs WHERE key = ? ORDER BY round", (key,))
    calls = db.execute(
        "SELECT number, body, ok, result FROM turn_calls WHERE key = ? ORDER BY number", (key,)
    )
    return TurnRecord(
        key,
        [_load_output(body) for (body,) in outputs.fetchall()],
        {number: _load_call(number, *rest) for number, *rest in calls.fetchall()},
        None if row[0] is None else row[1],
    )


def _insert(db: sqlite_utils.Database, table: str, columns: str, row: tuple[Any, ...]) -> None:
    marks = ", ".join("?" * len(row))
    _execute(db, f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", row)


def _execute(db: sqlite_utils.Database, sql: str, row: tuple[Any, ...]) -> None:
    db.execute(sql, row)


def _dump_output(output: ModelOutput) -> str:
    body = {
        "text": output.text,
        "calls": [attrs.asdict(call) for call in output.calls],
        "reason": output.finish.reason,
    }
    return json.dumps(body, ensure_ascii=False)


def _load_output(text: str) -> ModelOutput:
    body = json.loads(text)
    calls = tuple(ToolCall(**call) for call in body["calls"])
    return ModelOutput(body["text"], calls, Finished(body["reason"]))


def _load_call(number: int, body: str, ok: int | None, result: str | None) -> CallRecord:
    call = ToolCall(**json.loads(body))
    return CallRecord(number, call, None if ok is None else ToolResult(bool(ok), result or ""))
