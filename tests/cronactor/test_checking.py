"""Bad zones and cron expressions are found before anything runs, at their place in the file."""

from __future__ import annotations

from collections.abc import Callable

from config.loading import Loaded
from config.schema import AgentConfig, RoomConfig, ScheduleConfig, SupervisorConfig
from config.source import Source
from cronactor.checking import check, check_supervisor

MakeSchedule = Callable[..., ScheduleConfig]


def test_a_bad_cron_and_a_bad_zone_are_two_problems(schedule: MakeSchedule) -> None:
    schedules = (schedule("a"), schedule("b", "0 0 31 2 *", timezone="Europe/Madird"))
    agent = Loaded(AgentConfig(id="asistente", schedules=schedules), Source("config.yaml"))
    cron, zone = check(agent)
    assert (cron.file, cron.key) == ("config.yaml", "schedules[1].cron")
    assert "never happens" in cron.message
    assert zone.key == "schedules[1].timezone"
    assert "Europe/Madrid" in zone.message


def test_a_sound_config_has_no_problems(schedule: MakeSchedule) -> None:
    schedules = (schedule("a", "@daily", timezone="UTC"),)
    agent = Loaded(AgentConfig(id="asistente", schedules=schedules), Source("config.yaml"))
    assert check(agent) == []
    sound = SupervisorConfig(timezone="UTC", rooms=(RoomConfig(id="#taller", timezone="UTC"),))
    assert check_supervisor(Loaded(sound, Source("supervisor.yaml"))) == []


def test_bad_zones_of_the_workspace_and_of_a_room_are_found() -> None:
    rooms = (RoomConfig(id="#taller", timezone="Mars/Olympus"),)
    bad = SupervisorConfig(timezone="Nowhere", rooms=rooms)
    problems = check_supervisor(Loaded(bad, Source("supervisor.yaml")))
    assert [problem.key for problem in problems] == ["timezone", "rooms[0].timezone"]


def test_a_bad_interval_is_found_at_its_place(schedule: MakeSchedule) -> None:
    schedules = (schedule("a", every="2h"), schedule("b", every="2 hours"))
    agent = Loaded(AgentConfig(id="asistente", schedules=schedules), Source("config.yaml"))
    (bad,) = check(agent)
    assert bad.key == "schedules[1].every"
    assert "write for example" in bad.message
