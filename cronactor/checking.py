"""What only this floor knows about a configuration: zones and cron expressions."""

from __future__ import annotations

from config.loading import Loaded
from config.problems import Problem
from config.schema import AgentConfig, SupervisorConfig
from cronactor.schedule import parse_cron
from cronactor.texts import CronError, ZoneError
from cronactor.zones import get_zone

__all__ = ["check", "check_supervisor"]


def check(agent: Loaded[AgentConfig]) -> list[Problem]:
    """Return what is wrong with the times of an agent's schedules."""
    problems = []
    for index, schedule in enumerate(agent.value.schedules):
        try:
            parse_cron(schedule.cron)
        except CronError as error:
            path = ("schedules", index, "cron")
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
