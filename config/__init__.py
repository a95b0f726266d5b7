"""Floor 1: what a workspace says, checked, with positions; imports none of the other floors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from config.problems import ConfigError, Problem
from config.secrets import Secret
from config.workspace import Workspace, default_workspace

if TYPE_CHECKING:
    from config.loading import Loaded, agent_ids, load_agent, load_supervisor
    from config.schema import AgentConfig, LlmConfig, RoomConfig, ScheduleConfig, SupervisorConfig
    from config.source import Source
    from config.starter import init_workspace
    from config.zone import host_zone

__all__ = [
    "AgentConfig",
    "ConfigError",
    "LlmConfig",
    "Loaded",
    "Problem",
    "RoomConfig",
    "ScheduleConfig",
    "Secret",
    "Source",
    "SupervisorConfig",
    "Workspace",
    "agent_ids",
    "default_workspace",
    "host_zone",
    "init_workspace",
    "load_agent",
    "load_supervisor",
]

# agentctl needs paths only: whoever loads no YAML does not pay for ruamel and the schema.
_LAZY = {
    "AgentConfig": "config.schema",
    "LlmConfig": "config.schema",
    "Loaded": "config.loading",
    "RoomConfig": "config.schema",
    "ScheduleConfig": "config.schema",
    "Source": "config.source",
    "SupervisorConfig": "config.schema",
    "agent_ids": "config.loading",
    "host_zone": "config.zone",
    "init_workspace": "config.starter",
    "load_agent": "config.loading",
    "load_supervisor": "config.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'config' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
