"""What only this floor knows about a configuration: providers, scripts, and who the agents are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from actors.llm.providers import check_llm
from config.loading import Loaded
from config.problems import Problem, did_you_mean
from config.schema import AgentConfig, RoomConfig, SupervisorConfig

__all__ = ["check", "check_supervisor"]


def check(agent: Loaded[AgentConfig], agent_ids: Iterable[str]) -> list[Problem]:
    """Return what is wrong with an agent's model and with the agents its schedules name.

    `agent_ids`: all agents of the workspace. Reads the replay script, when there is one.
    """
    problems = check_llm(agent, Path(agent.source.file).parent)
    known = tuple(agent_ids)
    for index, schedule in enumerate(agent.value.schedules):
        target = schedule.action.target_agent
        if target is not None and target not in known:
            path = ("schedules", index, "action", "target_agent")
            problems.append(agent.source.problem(*path, message=_unknown(target, known)))
    return problems


def check_supervisor(
    supervisor: Loaded[SupervisorConfig], agent_ids: Iterable[str]
) -> list[Problem]:
    """Return what is wrong with the rooms: agents that do not exist, two rooms of one name."""
    known = tuple(agent_ids)
    problems = []
    names: dict[str, int] = {}
    for index, room in enumerate(supervisor.value.rooms):
        for place, agent in enumerate(room.participants):
            if agent not in known:
                path = ("rooms", index, "participants", place)
                problems.append(supervisor.source.problem(*path, message=_unknown(agent, known)))
        for key, name in _names(room):
            if names.setdefault(name, index) != index:
                text = f"another room is called {name} too: rooms[{names[name]}]"
                problems.append(supervisor.source.problem("rooms", index, key, message=text))
    return problems


def _names(room: RoomConfig) -> list[tuple[str, str]]:
    alias = [] if room.alias is None else [("alias", room.alias)]
    return [("id", room.id), *alias]


def _unknown(agent: str, known: tuple[str, ...]) -> str:
    there_are = f"; there are {', '.join(known)}" if known else "; there are none"
    return f"there is no agent {agent!r}{did_you_mean(agent, known) or there_are}"
