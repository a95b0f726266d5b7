"""What only this floor knows about a configuration: zones, cron expressions and intervals."""

from __future__ import annotations

from config.loading import Loaded
from config.problems import Problem
from config.schema import AgentConfig, SupervisorConfig
from cronactor.recurrence import parse_every
from cronactor.schedule import parse_cron
from cronactor.texts import Explained, ZoneError
from cronactor.zones import get_zone

__all__ = ["check", "check_supervisor"]


def check(agent: Loaded[AgentConfig]) -> list[Problem]:
    """Return what is wrong with the times of an agent's schedules."""
    problems = []
    for index, schedule in enumerate(agent.value.schedules):
        for key, parse in (("cron", parse_cron), ("every", parse_every)):
            text = getattr(schedule, key)
            try:
                if text is not None:
                    parse(text)
            except Explained as error:
                path = ("schedules", index, key)
                problems.append(agent.source.problem(*path, message=str(error)))
        if schedule.timezone is not None:
            problems += _zone(agent, schedule.timezone, "schedules", index, "timezone")
    return problems


def check_supervisor(supervisor: Loaded[SupervisorConfig]) -> list[Problem]:
    """Return what is wrong with the zones of `supervisor.yaml`."""
    problems = _zone(supervisor, supervisor.value.timezone, "timezone")
    for index, room in enumerate(supervisor.value.rooms):
        if room.timezone is not None:
            problems += _zone(supervisor, room.timezone, "rooms", index, "timezone")
    return problems


def _zone(
    loaded: Loaded[AgentConfig] | Loaded[SupervisorConfig], name: str, *path: str | int
) -> list[Problem]:
    try:
        get_zone(name)
    except ZoneError as error:
        return [loaded.source.problem(*path, message=str(error))]
    return []
