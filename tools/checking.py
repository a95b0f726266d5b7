"""What only the tools know about an agent's configuration."""

from __future__ import annotations

from config.loading import Loaded
from config.problems import Problem
from config.schema import AgentConfig

__all__ = ["check"]


def check(agent: Loaded[AgentConfig]) -> list[Problem]:
    """Return what is wrong with the agent's `tools:` beyond its shape.

    The reminder, clock and delegate sections depend on nothing outside themselves: their shape says
    it all, and the list is empty.
    """
    return []
