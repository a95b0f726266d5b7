"""`import-reminders` goes through a file while nothing runs, and says what became of each row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from supervisor.imports import import_reminders
from supervisor.lock import Lock
from supervisor.testkit import make_workspace
from tests.cronactor.test_importing import HOME, MRB, database, mrb

SOON = (datetime.now(UTC) + timedelta(days=2)).isoformat()


def test_rows_go_to_their_room_or_to_the_one_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = make_workspace(tmp_path / "example")
    file = database(tmp_path / "mrb.db", MRB, mrb("pan", SOON), mrb("viejo", "2020-01-01T09:00:00"))
    assert import_reminders(workspace, file, None, None) == 0
    told = capsys.readouterr().out.splitlines()
    assert HOME in told[0] and "--room" in told[0]
    assert told[-1] == "matrix-reminder-bot: 0 tomados, 0 ya estaban, 2 no tomados"
    assert import_reminders(workspace, file, "#taller", None) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("tomado [r") and "#taller @ana «pan» — " in told[0]
    assert told[1].startswith("no tomado: «viejo»: ese momento ya pasó")
    assert import_reminders(workspace, file, "#taller", None) == 0
    assert "0 tomados, 1 ya estaban, 1 no tomados" in capsys.readouterr().out


def test_what_cannot_be_done_ends_with_its_own_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = make_workspace(tmp_path / "example")
    file = database(tmp_path / "mrb.db", MRB, mrb("pan", SOON))
    other = database(tmp_path / "other.db", "CREATE TABLE x(y); ")
    assert import_reminders(workspace, other, "#taller", None) == 1
    assert import_reminders(workspace, file, "#nada", None) == 2
    assert import_reminders(workspace, file, "#taller", "nadie") == 2
    rooms = workspace.supervisor_yaml.read_text()
    workspace.supervisor_yaml.write_text(rooms.replace("[asistente, devops]", "[asistente]"))
    assert import_reminders(workspace, file, "#taller", "devops") == 0
    assert "'devops' no está en la sala '#taller'" in capsys.readouterr().out
    workspace.ensure_private_dirs()
    with Lock(workspace.lock_file):
        assert import_reminders(workspace, file, "#taller", None) == 3
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1
