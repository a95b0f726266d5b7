"""The supervisors that the browser tests visit."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.process import Supervisor, make_workspace, supervisor_yaml

ROOMS = {"#taller": "[asistente, devops]", "#patio": "[asistente, devops]"}


def free_port() -> int:
    """A port that nobody has: these tests also kill a supervisor and start it on its port again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def furnish(
    folder: Path,
    files: Mapping[str, str] | None = None,
    *,
    rooms: Mapping[str, str] = ROOMS,
    **settings: object,
) -> Path:
    """Make a workspace with the page on a port of its own; `settings` are of supervisor.yaml."""
    web = {"host": "127.0.0.1", "port": free_port()}
    text = supervisor_yaml(rooms=rooms, web=web, **settings)
    return make_workspace(folder, {"supervisor.yaml": text, **(files or {})})


def address(house: Supervisor) -> str:
    """The URL that the supervisor printed for people."""
    line = house.wait_printed("#token=")
    return line[line.index("http") :].strip()


def origin(house: Supervisor) -> str:
    return address(house).split("/#")[0]
