"""Who speaks: the agent, the orchestrator, the pure rules of who may, and the models behind."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.agent import AgentLoop
    from actors.checking import check, check_supervisor
    from actors.connection import Connection
    from actors.decision import (
        AgentCard,
        Company,
        decide,
        not_replied_recently,
        sender_is_bot,
        sender_is_human,
    )
    from actors.journal import Journal
    from actors.orchestrator import Orchestrator
    from actors.thinking import AgentServices, TurnFailed
    from actors.turns import next_step

__all__ = [
    "AgentCard",
    "AgentLoop",
    "AgentServices",
    "Company",
    "Connection",
    "Journal",
    "Orchestrator",
    "TurnFailed",
    "check",
    "check_supervisor",
    "decide",
    "next_step",
    "not_replied_recently",
    "sender_is_bot",
    "sender_is_human",
]

_HOMES = {
    "agent": ("AgentLoop",),
    "checking": ("check", "check_supervisor"),
    "connection": ("Connection",),
    "decision": (
        "AgentCard",
        "Company",
        "decide",
        "not_replied_recently",
        "sender_is_bot",
        "sender_is_human",
    ),
    "journal": ("Journal",),
    "orchestrator": ("Orchestrator",),
    "thinking": ("AgentServices", "TurnFailed"),
    "turns": ("next_step",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for from its module, on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
