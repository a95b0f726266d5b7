"""A copy of the repository as a reader has it: links to the sources, and the environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ROOT", "environment", "make_checkout", "write_file"]

ROOT = Path(__file__).parent.parent.parent
LINKED = (
    *("dev", "pyproject.toml", "constraints.txt", "README.md"),
    *("config", "channels", "cronactor", "tools", "actors", "supervisor"),
)
ENVIRONMENT = ("bin", "lib", "include", "pyvenv.cfg")


def make_checkout(folder: Path) -> Path:
    """Make a folder in which `./dev run` works at once; nothing but the sources lies in it.

    `./dev` takes its `.venv` for fresh: making one is what `./dev setup` is tested for elsewhere.
    """
    venv = folder / ".venv"
    venv.mkdir(parents=True)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    for name in ENVIRONMENT:
        (venv / name).symlink_to(_real_venv() / name)
    mark = subprocess.run(
        ["bash", "-c", "cat pyproject.toml constraints.txt dev | cksum | tr ' ' '-'"],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    (venv / ".vivero-dev").write_bytes(mark.stdout)
    return folder


def _real_venv() -> Path:
    import sys

    return Path(sys.prefix)


def environment(home: Path) -> Mapping[str, str]:
    """What a reader's shell has, and nothing of ours: `agentctl` is found only when activated."""
    path = [part for part in os.environ["PATH"].split(":") if not part.startswith(sys_prefix())]
    return {
        "HOME": str(home),
        "USER": "ana",
        "PATH": ":".join(path),
        "LANG": "C.UTF-8",
        "TZ": "Europe/Madrid",
        # `.venv` is the real one: should ./dev ever want to mend it from here, it fails instead.
        "PIP_NO_INDEX": "1",
        "PIP_REQUIRE_VIRTUALENV": "1",
        "PIP_PREFIX": "/nonexistent",
        "UV_OFFLINE": "1",
    }


def sys_prefix() -> str:
    return str(_real_venv())


def write_file(checkout: Path, name: str, text: str) -> None:
    """Write a file of a page; never through a link, into the real sources."""
    path = checkout / name
    inside = path.resolve().is_relative_to(checkout.resolve())
    if not inside or ".." in path.parts:
        raise ValueError(f"{name} does not lie in the reader's own folders")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
