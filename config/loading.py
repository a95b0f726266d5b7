"""Files of a workspace into checked configs, with every fault of a file reported at once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import attrs

from config.document import parse
from config.files import UnreadableError, read_text
from config.problems import ConfigError, Problem, printable
from config.schema import AgentConfig, ModuleText, SupervisorConfig
from config.source import Source
from config.structuring import Structurer
from config.workspace import Workspace

__all__ = [
    "RESERVED_IDS",
    "Loaded",
    "ShapeError",
    "agent_ids",
    "load_agent",
    "load_supervisor",
]

T = TypeVar("T")
RESERVED_IDS = frozenset(
    ("agents", "api", "bus", "orchestrator", "registry", "root", "scheduler", "supervisor")
)


@attrs.frozen
class Loaded(Generic[T]):
    """A config and the file it came from, so that later checks can point into it."""

    value: T
    source: Source


class ShapeError(ConfigError):
    """A file whose shape is wrong; `partial` is what could be read of it, defaults for the rest.

    It is not for use: only for further checks, so that whoever mends the file hears of every fault
    at once. None: nothing could be made of it.
    """

    def __init__(self, problems: Iterable[Problem], partial: Loaded[Any] | None) -> None:
        super().__init__(problems)
        self.partial = partial


def load_supervisor(
    workspace: Workspace, environ: Mapping[str, str] | None = None
) -> Loaded[SupervisorConfig]:
    """Read `supervisor.yaml`. Raises ShapeError (a ConfigError) with all that is wrong in it."""
    maker = _open(workspace, workspace.supervisor_yaml, environ)
    return _finish(maker, maker.structure(SupervisorConfig))


def load_agent(
    workspace: Workspace, agent: str, environ: Mapping[str, str] | None = None
) -> Loaded[AgentConfig]:
    """Read an agent's `config.yaml` and the files it names. Raises ConfigError with all faults."""
    path = workspace.agent_yaml(agent)
    if fault := _id_fault(agent):
        raise ConfigError([Problem(workspace.shown(path), 1, 1, "id", fault)])
    maker = _open(workspace, path, environ)
    loaded = _finish(maker, maker.structure(AgentConfig, id=agent))
    config, source = loaded.value, loaded.source
    prompt = _text(path.parent / config.prompt, source, "prompt")
    modules = tuple(
        ModuleText(
            str(path.parent / name),
            workspace.shown(Path(os.path.normpath(path.parent / name))),
            _text(path.parent / name, source, "tools", "modules", index),
        )
        for index, name in enumerate(config.tools.modules)
    )
    return Loaded(attrs.evolve(config, prompt_text=prompt, tool_modules=modules), source)


def _text(path: Path, source: Source, *key: str | int) -> str:
    try:
        return read_text(path)
    except UnreadableError as error:
        raise ConfigError([source.problem(*key, message=error.message)]) from None


def agent_ids(workspace: Workspace) -> tuple[str, ...]:
    """Return the sorted names of the folders under `agents/`; hidden ones are not agents."""
    try:
        entries = sorted(os.scandir(workspace.agents_dir), key=lambda entry: entry.name)
    except OSError:
        return ()
    return tuple(e.name for e in entries if not e.name.startswith((".", "__")) and _is_folder(e))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # A link that leads nowhere is kept: loading it says what is wrong, skipping hides an agent.
    try:
        return entry.is_dir() or (entry.is_symlink() and not entry.is_file())
    except OSError:
        return True


def _id_fault(agent: str) -> str | None:
    if agent in RESERVED_IDS:
        return f"the name {agent!r} is taken by the runtime itself: give the folder another name"
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", agent):
        return None
    return (
        f"{printable(agent)!r} cannot be an agent's id: name the folder with a-z, 0-9, - and _, "
        "beginning with a letter or digit, at most 64"
    )


def _open(workspace: Workspace, path: Path, environ: Mapping[str, str] | None) -> Structurer:
    shown = workspace.shown(path)
    try:
        document = parse(read_text(path), shown)
    except UnreadableError as error:
        problem = Problem(shown, error.line, error.col, "", error.message)
        raise ConfigError([problem]) from None
    if document.root is None and not document.problems:
        text = "the file is empty: take the one that `python -m supervisor init` writes as a start"
        raise ConfigError([Problem(shown, 1, 1, "", text)])
    return Structurer(
        document, path.parent, workspace.root, os.environ if environ is None else environ
    )


def _finish(maker: Structurer, value: T | None) -> Loaded[T]:
    loaded = None if value is None else Loaded(value, maker.source)
    if loaded is None or maker.problems:
        problems = sorted(set(maker.problems), key=lambda p: (p.line, p.col, p.key))
        raise ShapeError(problems, loaded)
    return loaded
