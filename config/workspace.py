"""The paths of a workspace, and the few folders in it that only its owner may enter."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from config.problems import ConfigError, Problem, printable

if TYPE_CHECKING:
    from config.schema import SupervisorConfig

__all__ = ["MAX_SOCKET_PATH", "Workspace", "default_workspace"]

MAX_SOCKET_PATH = 107  # bytes; sun_path holds 108 with its final zero


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - without following links


@attrs.frozen
class Workspace:
    """A folder that holds one supervisor's configuration and state; `root` is kept absolute."""

    root: Path = attrs.field(converter=_absolute)

    @property
    def supervisor_yaml(self) -> Path:
        return self.root / "supervisor.yaml"

    @property
    def agents_dir(self) -> Path:
        return self.root / "agents"

    def agent_dir(self, agent: str) -> Path:
        return self.agents_dir / agent

    def agent_yaml(self, agent: str) -> Path:
        return self.agent_dir(agent) / "config.yaml"

    @property
    def crons_dir(self) -> Path:
        return self.root / "crons"

    @property
    def registry_toml(self) -> Path:
        return self.root / "REMINDERS.toml"

    @property
    def registry_log(self) -> Path:
        return self.root / "REMINDERS.md"

    @property
    def lease_dir(self) -> Path:
        return self.root / ".reminders-owner.lock"

    @property
    def run_dir(self) -> Path:
        return self.root / "run"

    @property
    def pid_file(self) -> Path:
        return self.run_dir / "supervisor.pid"

    @property
    def lock_file(self) -> Path:
        return self.run_dir / "supervisor.lock"

    @property
    def control_sock(self) -> Path:
        return self.run_dir / "control.sock"

    @property
    def control_path(self) -> Path:
        return self.run_dir / "control.path"

    @property
    def reload_txt(self) -> Path:
        return self.run_dir / "reload.txt"

    @property
    def web_url(self) -> Path:
        return self.run_dir / "web.url"

    @property
    def web_token(self) -> Path:
        return self.run_dir / "web.token"

    @property
    def data_dir(self) -> Path:
        return self.root / "data"

    @property
    def state_db(self) -> Path:
        return self.data_dir / "state.db"

    @property
    def matrix_dir(self) -> Path:
        return self.data_dir / "matrix"

    def reminders_db(self, config: SupervisorConfig) -> Path:
        """Return where the reminder store is; a relative `db_path` is relative to the workspace."""
        return self.root / Path(config.reminders.db_path).expanduser()

    def shown(self, path: Path) -> str:
        """Return a path for people: relative to where they stand when it lies below."""
        here = Path.cwd()
        close = here != here.parent and path.is_relative_to(here)
        return printable(str(path.relative_to(here) if close else path), 4096)

    def ensure_private_dirs(self) -> None:
        """Make `run/` and `data/`, mode 0700. Raises ConfigError when that cannot be had."""
        problems = []
        for folder in (self.run_dir, self.data_dir):
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if folder.stat().st_mode & 0o777 != 0o700:
                    folder.chmod(0o700)
            except OSError as error:
                text = f"this folder cannot be made private (0700) here: {error.strerror}"
                problems.append(Problem(self.shown(folder), 1, 1, "", text))
        if problems:
            raise ConfigError(problems)

    def socket_path(self) -> Path:
        """Return where to bind the control socket; for the one process that owns the workspace.

        That is `run/control.sock`, or, when its path is too long for a socket, a path in a private
        runtime folder, which `run/control.path` then names. Needs `run/`; raises OSError.
        """
        if _fits(self.control_sock):
            self.control_path.unlink(missing_ok=True)
            return self.control_sock
        path = self._runtime_dir() / "control.sock"
        fresh = self.control_path.with_suffix(".new")
        fresh.write_text(f"{path}\n", encoding="utf-8", errors="surrogateescape")
        fresh.chmod(0o600)
        fresh.replace(self.control_path)
        return path

    def find_socket(self) -> Path:
        """Return where a client connects. Nothing says that anyone listens there; makes nothing."""
        try:
            text = self.control_path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return self.control_sock
        path = Path(text.rstrip("\n"))
        return path if _is_private(path.parent) else self.control_sock

    def _runtime_dir(self) -> Path:
        """Return a folder that only this user can enter, the same one each time where possible."""
        for folder in self._runtime_candidates():
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700, exist_ok=True)
            if _fits(folder / "control.sock") and _is_private(folder):
                return folder
        from tempfile import mkdtemp  # rare, and slow to import

        return Path(mkdtemp(prefix=f"vivero-{os.getuid()}-", dir="/tmp"))

    def _runtime_candidates(self) -> Iterator[Path]:
        from hashlib import sha256  # only for long paths, and slow to import

        mark = sha256(os.fsencode(self.root)).hexdigest()[:16]
        runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
        if _is_private(runtime):
            yield runtime / f"vivero-{mark}"
        yield Path(f"/tmp/vivero-{os.getuid()}-{mark}")


def default_workspace(explicit: str | Path | None = None) -> Workspace:
    """Return the workspace that `--workspace`, else $VIVERO_WORKSPACE, else `./workspace` names."""
    return Workspace(Path(explicit or os.environ.get("VIVERO_WORKSPACE") or "workspace"))


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= MAX_SOCKET_PATH


def _is_private(folder: Path) -> bool:
    """Say whether this is a real folder of ours that nobody else can enter."""
    try:
        found = folder.lstat()
    except (OSError, ValueError):
        return False
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return ours and not found.st_mode & 0o077
