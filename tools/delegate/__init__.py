"""The tool that asks another agent."""

from tools.delegate.delegate import ask_agent

__all__ = ["ask_agent"]
