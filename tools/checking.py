"""What only the tools know about an agent's configuration."""

from __future__ import annotations

from config.loading import Loaded
from config.problems import Problem
from config.schema import AgentConfig
from tools.modules import ModuleFault, line_of, tools_of
from tools.toolbox import build

__all__ = ["check"]


def check(agent: Loaded[AgentConfig]) -> list[Problem]:
    """Return what is wrong with the agent's `tools:` beyond its shape.

    Runs the files of `tools.modules`, as a start of the agent would.
    """
    taken = dict.fromkeys(build(agent.value.tools).names(), "the runtime")
    problems: list[Problem] = []
    for module in agent.value.tool_modules:
        try:
            found = tools_of(module, agent.value.id)
        except ModuleFault as fault:
            problems.append(Problem(module.shown, fault.line, fault.col, "", fault.message))
            continue
        for tool in found:
            if tool.name in taken:
                text = f"{taken[tool.name]} has a tool {tool.name} already: give it another name"
                problems.append(Problem(module.shown, line_of(tool), 1, "", text))
            taken.setdefault(tool.name, module.shown)
    return problems
