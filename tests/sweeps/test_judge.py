"""The judge sees each kind of fraud: a sweep that could not fail would prove nothing."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from config.workspace import Workspace
from tests.sweeps.judge import judge
from tests.sweeps.scenario import Life, leanly, live, prepare

STATE = {
    "a slot is left": "UPDATE slots SET state = 'open' WHERE id = 1",
    "a message was never admitted": "DELETE FROM events WHERE kind = 'message';",
    "two slots for one event": "INSERT INTO slots(event_id, room, state, chain, opened_at)"
    " SELECT event_id, room, 'declined', chain, opened_at FROM slots WHERE id = 1",
    "a person is not heard": "DELETE FROM room_events WHERE txn_id = 'hola'",
    "an answer appears twice": "INSERT INTO room_events(room, sender, txn_id, ts, kind, content,"
    " bot) SELECT room, sender, 'again', ts, kind, content, bot FROM room_events"
    " WHERE txn_id LIKE 'slot-%' LIMIT 1",
    "an answer never appears": "DELETE FROM room_events WHERE txn_id LIKE 'slot-%-1'",
    "a part of an answer is lost": "DELETE FROM outbox WHERE txn_id LIKE 'slot-%-1'",
    "an answer is never sent": "UPDATE outbox SET state = 'pending', event_id = NULL WHERE id = 1",
    "an answered slot has no answer": "UPDATE slots SET state = 'answered' WHERE id ="
    " (SELECT id FROM slots WHERE state = 'declined' LIMIT 1)",
    "a declined slot is answered": "UPDATE slots SET state = 'declined' WHERE id ="
    " (SELECT id FROM slots WHERE state = 'answered' LIMIT 1)",
    "a dead letter is silent": "DELETE FROM outbox WHERE txn_id LIKE 'dead-%'",
    "a turn has no end": "UPDATE turns SET ended_at = NULL",
    "a step of a turn is left": "INSERT INTO turn_calls SELECT key, 0, '', NULL, NULL FROM turns",
    "the delegated question is not answered": "DELETE FROM turns WHERE key LIKE 'task:slot:%'",
    "a turn is counted twice": "UPDATE chains SET turns = 3 WHERE turns = 2",
    "a chain runs away": "UPDATE chains SET turns = 7",
}

TIME = {
    "a reminder is created twice": "CREATE TEMP TABLE again AS SELECT * FROM reminders LIMIT 1;"
    " UPDATE again SET id = 'zzz', idempotency_key = 'other';"
    " INSERT INTO reminders SELECT * FROM again",
    "a reminder is lost": "DELETE FROM reminders WHERE agent = 'devops'",
    "a reminder is still to come": "UPDATE reminders SET state = 'active'",
    "an occurrence has no outcome": "UPDATE occurrences SET outcome = NULL",
    "an occurrence was never claimed": "DELETE FROM occurrences WHERE schedule_id LIKE '%nuevo'",
    "what failed was said": "UPDATE occurrences SET outcome = 'failed'",
    "an event id is not known": "UPDATE occurrences SET event_id = NULL",
    "an occurrence is passed over": "UPDATE schedules SET next_due = next_due + 60",
    "the reload was forgotten": "DELETE FROM schedules WHERE id = 'asistente/nuevo'",
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with leanly():
        workspace = prepare(tmp_path_factory.mktemp("honest") / "w")
        live(Life(workspace))
    assert judge(workspace) == []
    yield workspace.root


@pytest.mark.parametrize("fraud", [*STATE, *TIME])
def test_the_judge_sees(fraud: str, honest: Path, tmp_path: Path) -> None:
    shutil.copytree(honest, tmp_path / "w")
    workspace = Workspace(tmp_path / "w")
    file = workspace.state_db if fraud in STATE else workspace.data_dir / "reminders.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA foreign_keys=OFF")
        db.executescript("DROP TRIGGER IF EXISTS slots_end_once;" + (STATE | TIME)[fraud])
    assert judge(workspace) != []
