"""Where things are, and who may enter."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from config.problems import ConfigError
from config.schema import RemindersConfig, SupervisorConfig
from config.workspace import MAX_SOCKET_PATH, Workspace, default_workspace


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace whose own socket path is too long; its runtime folder is in tmp_path."""
    (tmp_path / "x").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "x"))
    workspace = Workspace(tmp_path / ("d" * 120))
    workspace.root.mkdir()
    workspace.ensure_private_dirs()
    return workspace


def test_the_root_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Workspace(Path("w/../v")).root == tmp_path / "v"


def test_the_workspace_is_the_named_one_else_the_environments_else_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIVERO_WORKSPACE", raising=False)
    assert default_workspace().root == tmp_path / "workspace"
    monkeypatch.setenv("VIVERO_WORKSPACE", "/srv/v")
    assert default_workspace().root == Path("/srv/v")
    assert default_workspace("other").root == tmp_path / "other"


def test_the_reminder_store_is_relative_to_the_workspace() -> None:
    workspace = Workspace(Path("/w"))
    config = SupervisorConfig(timezone="UTC")
    assert workspace.reminders_db(config) == Path("/w/data/reminders.db")
    config = SupervisorConfig(timezone="UTC", reminders=RemindersConfig(db_path="/srv/r.db"))
    assert workspace.reminders_db(config) == Path("/srv/r.db")


def test_paths_are_shown_relative_to_where_people_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(tmp_path / "w")
    monkeypatch.chdir(tmp_path)
    assert workspace.shown(workspace.supervisor_yaml) == "w/supervisor.yaml"
    monkeypatch.chdir("/")
    assert workspace.shown(workspace.supervisor_yaml) == f"{tmp_path}/w/supervisor.yaml"


def test_run_and_data_are_made_private_and_stay_so(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.ensure_private_dirs()
    workspace.run_dir.chmod(0o755)
    workspace.ensure_private_dirs()
    for folder in (workspace.run_dir, workspace.data_dir):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_had_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(ConfigError, match="cannot be made private") as caught:
        Workspace(tmp_path).ensure_private_dirs()
    assert len(caught.value.problems) == 1
    assert (tmp_path / "data").is_dir()


def test_a_short_socket_path_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(dir="/tmp") as folder:
        workspace = Workspace(Path(folder))
        workspace.ensure_private_dirs()
        workspace.control_path.write_text("/stale\n")
        assert workspace.socket_path() == workspace.control_sock
        assert not workspace.control_path.exists()
        assert workspace.find_socket() == workspace.control_sock


def test_a_long_socket_path_moves_to_a_private_folder_that_clients_find(long: Workspace) -> None:
    path = long.socket_path()
    assert len(os.fsencode(path)) <= MAX_SOCKET_PATH
    assert path.parent.stat().st_mode & 0o777 == 0o700
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    assert long.find_socket() == path
    assert long.socket_path() == path
    assert long.control_path.stat().st_mode & 0o777 == 0o600


def test_two_workspaces_never_share_a_socket(long: Workspace) -> None:
    other = Workspace(long.root.parent / ("e" * 120))
    other.root.mkdir()
    other.ensure_private_dirs()
    assert other.socket_path() != long.socket_path()


def test_a_runtime_folder_that_others_can_enter_is_not_used(
    long: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = long.socket_path()
    first.parent.chmod(0o755)
    assert long.find_socket() == long.control_sock
    second = long.socket_path()
    assert second.parent != first.parent
    assert long.find_socket() == second
    second.parent.rmdir()


def test_without_a_runtime_folder_one_in_tmp_is_used_unless_somebody_took_it(
    long: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    first = long.socket_path()
    assert first.parent.name.startswith(f"vivero-{os.getuid()}-")
    first.parent.rmdir()
    first.parent.symlink_to("/")
    second = long.socket_path()
    first.parent.unlink()
    assert second.parent != first.parent
    assert long.find_socket() == second
    second.parent.rmdir()


def test_a_broken_pointer_falls_back_to_the_own_socket(long: Workspace) -> None:
    for text in ("", "\n", "/nonexistent/control.sock", "a\0b"):
        long.control_path.write_text(text)
        assert long.find_socket() == long.control_sock
