"""The supervisors that the browser tests visit."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.e2e.process import Supervisor, make_workspace, supervisor_yaml

ROOMS = {
    "#patio": "[asistente, devops]",
    "#taller": "[asistente, devops]",
    "#teatro": "[actor, devops]",
}
SUPERVISION = {
    "max_restarts": 1,
    "window_seconds": 30,
    "backoff_initial_seconds": 0.05,
    "backoff_max_seconds": 0.1,
}
SCRIPT = r"""
- match: rompe
  rounds: [[{crash: "<img src=x onerror=alert(1)> se rompió"}]]
- match: colores
  rounds: [[{text: "rojo \x1b[31mno\x1b[0m y\x07 <b>fin</b>"}]]
- match: callad
  rounds: [[no_reply: true]]
- rounds: [[{text: "bien"}]]
"""
ACTOR = {
    "agents/actor/config.yaml": "llm: {provider: replay, script: script.yaml}\n",
    "agents/actor/prompt.md": "Actúas.\n",
    "agents/actor/script.yaml": SCRIPT,
}


def free_port() -> int:
    """A port that nobody has: these tests also kill a supervisor and start it on its port again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def furnish(folder: Path) -> Path:
    """Make a workspace with the page on a port of its own, and an actor who plays a script."""
    web = {"host": "127.0.0.1", "port": free_port()}
    text = supervisor_yaml(rooms=ROOMS, web=web, supervision=SUPERVISION)
    return make_workspace(folder, {"supervisor.yaml": text, **ACTOR})


def address(house: Supervisor) -> str:
    """The URL that the supervisor printed for people."""
    line = house.wait_printed("#token=")
    return line[line.index("http") :].strip()


def origin(house: Supervisor) -> str:
    return address(house).split("/#")[0]
