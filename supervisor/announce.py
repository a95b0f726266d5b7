"""What a person at the terminal reads once the supervisor is up: that it runs, and what to try."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TextIO

from config.schema import SupervisorConfig
from config.workspace import Workspace

__all__ = ["say", "started_text", "url_text"]

_STARTED = {
    "es": """\
vivero está en marcha. Abre la página de arriba en un navegador, o prueba en otra terminal:

    {agentctl} say '{room}' "recuérdame en 5 segundos que riegue las plantas" --as ana --wait 15
    {agentctl} status
    {agentctl} reload {agent}

Ctrl-C lo para.""",
    "en": """\
vivero is running. Open the page above in a browser, or try in another terminal:

    {agentctl} say '{room}' "remind me in 5 seconds to water the plants" --as ana --wait 15
    {agentctl} status
    {agentctl} reload {agent}

Ctrl-C stops it.""",
}
_URL = {"es": "Página: {url}", "en": "Page: {url}"}


def started_text(workspace: Workspace, config: SupervisorConfig) -> str:
    """Return what to try, with commands that work as they stand."""
    room = config.rooms[0] if config.rooms else None
    shown = workspace.shown(workspace.root)
    agentctl = _command()
    if shown != "workspace":
        agentctl += f" --workspace {shlex.quote(shown)}"
    return _STARTED[config.locale].format(
        agentctl=agentctl,
        room=(room.alias or room.id) if room else "#room",
        agent=room.participants[0] if room and room.participants else "'*'",
    )


def _command() -> str:
    """Return how to call the `agentctl` of this very environment from the current folder."""
    ours = Path(sys.executable).parent / "agentctl"
    found = shutil.which("agentctl")
    if not ours.exists() or (found and Path(found).resolve() == ours.resolve()):
        return "agentctl"
    near = ours.is_relative_to(Path.cwd())
    return shlex.quote(str(ours.relative_to(Path.cwd()) if near else ours))


def url_text(url: str, locale: str) -> str:
    """Return the line that gives the address, its token in the fragment."""
    return _URL[locale].format(url=url)


def say(text: str, stream: TextIO | None = None) -> None:
    """Print to `stream` (default: standard output) for whoever still looks; never raises.

    A terminal that went away and a pipe that nobody reads any more must not end the supervisor, nor
    spoil its exit code: what comes later goes nowhere.
    """
    stream = sys.stdout if stream is None else stream
    try:
        print(text, file=stream, flush=True)
    except (OSError, ValueError):
        _silence(stream)


def _silence(stream: TextIO) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return
