"""The desk: one HTTP API over the running tree, and `agentctl`, its client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from supervisor.desk.actor import Api, Places
    from supervisor.desk.client import Client
    from supervisor.desk.office import Office, OfficeError

__all__ = ["Api", "Client", "Office", "OfficeError", "Places"]

_LAZY = {
    "Api": "supervisor.desk.actor",
    "Client": "supervisor.desk.client",
    "Office": "supervisor.desk.office",
    "OfficeError": "supervisor.desk.office",
    "Places": "supervisor.desk.actor",
}


def __getattr__(name: str) -> Any:
    """Import what is first asked for (PEP 562): agentctl must start fast."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
