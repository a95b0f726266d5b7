"""The bundled example, written out as somebody's new workspace."""

from __future__ import annotations

import json
import re
from pathlib import Path

from config.problems import ConfigError, Problem
from config.workspace import Workspace
from config.zone import host_zone

__all__ = ["EXAMPLE", "init_workspace"]

EXAMPLE = Path(__file__).parent / "example"


def init_workspace(folder: str | Path, timezone: str | None = None) -> Workspace:
    """Write the example workspace into `folder`, with `timezone` (default: the host's) in it.

    Files that exist already are kept as they are; `supervisor.yaml` is written last, so that an
    interrupted run is simply repeated. Raises ConfigError when there is a `supervisor.yaml`
    already, or when the folder cannot be written.
    """
    workspace = Workspace(Path(folder))
    if workspace.supervisor_yaml.exists():
        raise _refusal(workspace, "there is a workspace here already: nothing was written")
    try:
        _copy_all(workspace, timezone or host_zone())
    except OSError as error:
        raise _refusal(workspace, f"the workspace cannot be written: {error.strerror}") from None
    return workspace


def _copy_all(workspace: Workspace, timezone: str) -> None:
    sources = [path for path in EXAMPLE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    for source in sorted(sources, key=lambda path: path.name == "supervisor.yaml"):
        target = workspace.root / source.relative_to(EXAMPLE)
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")
        if target == workspace.supervisor_yaml:
            text = _with_zone(text, timezone)
        target.write_text(text, encoding="utf-8")


def _with_zone(text: str, timezone: str) -> str:
    plain = timezone == "UTC" or re.fullmatch(r"[A-Za-z]\w*/[\w+/-]+", timezone, re.ASCII)
    written = timezone if plain else json.dumps(timezone)
    return re.sub(r"^timezone: \S+", lambda _: f"timezone: {written}", text, count=1, flags=re.M)


def _refusal(workspace: Workspace, message: str) -> ConfigError:
    return ConfigError([Problem(workspace.shown(workspace.supervisor_yaml), 1, 1, "", message)])
