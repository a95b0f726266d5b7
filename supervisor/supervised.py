"""Pure: the supervision tree and the agents' own states, joined into the one tree people see."""

from __future__ import annotations

from collections.abc import Mapping

from supervisor.cell import CellInfo
from supervisor.desk.office import AgentInfo, Supervised

__all__ = ["AGENTS", "supervised"]

AGENTS = "root/agents"


def supervised(cell: CellInfo, agents: Mapping[str, AgentInfo]) -> Supervised:
    """Return a cell and all below it; `agents` by id, those without a cell are added by name."""
    children = tuple(supervised(child, agents) for child in cell.children)
    if cell.path == AGENTS:
        missing = agents.keys() - {child.name for child in cell.children}
        alone = (_agent(f"{AGENTS}/{name}", agents[name]) for name in missing)
        children = tuple(sorted((*children, *alone), key=lambda node: node.name))
    if cell.path == f"{AGENTS}/{cell.name}" and cell.name in agents:
        return _agent(cell.path, agents[cell.name], children)
    return Supervised(
        path=cell.path,
        name=cell.name,
        agent=None,
        state=cell.state.value,
        generation=cell.generation,
        restarts=cell.restarts,
        mailbox=cell.mailbox.depth if cell.mailbox else 0,
        last_error=cell.crashes[-1].text if cell.crashes else None,
        children=children,
    )


def _agent(path: str, info: AgentInfo, children: tuple[Supervised, ...] = ()) -> Supervised:
    return Supervised(
        path=path,
        name=info.id,
        agent=info.id,
        state=info.state,
        generation=info.generation,
        restarts=info.restarts,
        mailbox=info.mailbox,
        last_error=info.last_error,
        turns=info.turns,
        children=children,
    )
