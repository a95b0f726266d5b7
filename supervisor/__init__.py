"""Builds the tree and keeps it alive. Importing it loads nothing: names load on first use.

`python -m supervisor` must install its signal handlers before anything slow is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.cell import CellInfo
    from supervisor.crashes import CrashRecord
    from supervisor.errors import (
        ChildExists,
        IntensityExceeded,
        NotSupervising,
        RestartFailed,
        StartFailed,
        SupervisionError,
        UnknownChild,
    )
    from supervisor.policy import Backoff, Exhausted, Intensity, Restart, Strategy
    from supervisor.spec import Actor, ChildSpec
    from supervisor.supervisor import Supervisor

__all__ = [
    "Actor",
    "Backoff",
    "CellInfo",
    "ChildExists",
    "ChildSpec",
    "CrashRecord",
    "Exhausted",
    "Intensity",
    "IntensityExceeded",
    "NotSupervising",
    "Restart",
    "RestartFailed",
    "StartFailed",
    "Strategy",
    "SupervisionError",
    "Supervisor",
    "UnknownChild",
]

_HOMES = {
    "cell": ("CellInfo",),
    "crashes": ("CrashRecord",),
    "errors": (
        "ChildExists",
        "IntensityExceeded",
        "NotSupervising",
        "RestartFailed",
        "StartFailed",
        "SupervisionError",
        "UnknownChild",
    ),
    "policy": ("Backoff", "Exhausted", "Intensity", "Restart", "Strategy"),
    "spec": ("Actor", "ChildSpec"),
    "supervisor": ("Supervisor",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load an exported name from its module (PEP 562). Raises AttributeError for any other name."""
    if name not in _HOME:
        raise AttributeError(f"module 'supervisor' has no attribute {name!r}")
    return getattr(import_module(f"supervisor.{_HOME[name]}"), name)
