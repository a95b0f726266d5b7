"""A workspace read and checked as a whole: its shape, and what only each floor knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import attrs

from config.loading import Loaded, ShapeError, agent_ids, load_agent, load_supervisor
from config.problems import ConfigError, Problem
from config.schema import AgentConfig, SupervisorConfig
from config.workspace import Workspace

__all__ = ["Plan", "read_agent", "read_supervisor", "read_workspace"]

T = TypeVar("T")


@attrs.frozen
class Plan:
    """What a workspace asks for. `broken`: the problems of agents that cannot run as they are."""

    supervisor: Loaded[SupervisorConfig]
    agents: Mapping[str, Loaded[AgentConfig]]
    broken: Mapping[str, tuple[Problem, ...]]


def read_supervisor(workspace: Workspace, ids: Sequence[str]) -> Loaded[SupervisorConfig]:
    """Read and check `supervisor.yaml`. Raises ConfigError with everything that is wrong."""
    from actors.checking import check_supervisor as check_actors
    from cronactor.checking import check_supervisor as check_time

    def check(loaded: Loaded[SupervisorConfig]) -> list[Problem]:
        return [*check_time(loaded), *check_actors(loaded, ids), *_check_transport(loaded)]

    return _checked(lambda: load_supervisor(workspace), check)


def _check_transport(loaded: Loaded[SupervisorConfig]) -> Sequence[Problem]:
    if loaded.value.transport == "local":
        return ()
    text = "this version speaks in local rooms only: write `transport: local`"
    return (loaded.source.problem("transport", message=text),)


def read_agent(workspace: Workspace, agent: str, ids: Sequence[str]) -> Loaded[AgentConfig]:
    """Read and check one agent. Raises ConfigError with everything that is wrong."""
    from actors.checking import check as check_actors
    from cronactor.checking import check as check_time
    from tools.checking import check as check_tools

    def check(loaded: Loaded[AgentConfig]) -> list[Problem]:
        return [*check_time(loaded), *check_tools(loaded), *check_actors(loaded, ids)]

    return _checked(lambda: load_agent(workspace, agent), check)


def read_workspace(workspace: Workspace) -> Plan:
    """Read all of it. Raises ConfigError for a bad `supervisor.yaml`; bad agents are `broken`.

    With a bad `supervisor.yaml` the problems of the agents are in the same error.
    """
    ids = agent_ids(workspace)
    supervisor, faults = _supervisor_or_faults(workspace, ids)
    agents: dict[str, Loaded[AgentConfig]] = {}
    broken: dict[str, tuple[Problem, ...]] = {}
    for agent in ids:
        try:
            agents[agent] = read_agent(workspace, agent, ids)
        except ConfigError as error:
            broken[agent] = error.problems
    if supervisor is None:
        raise ConfigError([*faults, *(problem for found in broken.values() for problem in found)])
    return Plan(supervisor, agents, broken)


def _supervisor_or_faults(
    workspace: Workspace, ids: Sequence[str]
) -> tuple[Loaded[SupervisorConfig] | None, Sequence[Problem]]:
    try:
        return read_supervisor(workspace, ids), ()
    except ConfigError as error:
        return None, error.problems


def _checked(
    load: Callable[[], Loaded[T]], check: Callable[[Loaded[T]], list[Problem]]
) -> Loaded[T]:
    """Load, and let the floors check; what they find is told together with a wrong shape."""
    try:
        loaded = load()
    except ShapeError as error:
        if error.partial is not None:
            _refuse([*error.problems, *_elsewhere(check(error.partial), error.problems)])
        raise
    _refuse(check(loaded))
    return loaded


def _elsewhere(found: Sequence[Problem], known: Sequence[Problem]) -> list[Problem]:
    """Leave out sections whose shape is wrong: what a check finds there may only follow from it."""
    sections = {_section(problem) for problem in known}
    return [problem for problem in found if _section(problem) not in sections]


def _section(problem: Problem) -> str:
    return re.split(r"[.\[]", problem.key, maxsplit=1)[0]


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        ordered = sorted(set(problems), key=lambda p: (p.file, p.line, p.col, p.key))
        raise ConfigError(ordered)
