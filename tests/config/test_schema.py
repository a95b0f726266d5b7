"""What may be written into `supervisor.yaml` and `config.yaml`, and what is its default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from config.document import parse
from config.schema import (
    AgentConfig,
    MatrixAccountConfig,
    RoomConfig,
    SupervisionConfig,
    SupervisorConfig,
)
from config.structuring import Structurer


def build(cls: type[Any], text: str, folder: Path, **given: Any) -> tuple[Any, list[str]]:
    maker = Structurer(parse(text, "f"), folder, folder, {})
    value = maker.structure(cls, **given)
    return value, [str(problem) for problem in maker.problems]


def agent(text: str, folder: Path) -> list[str]:
    (folder / "prompt.md").touch()
    return build(AgentConfig, text, folder, id="a")[1]


def supervisor(text: str, folder: Path) -> list[str]:
    return build(SupervisorConfig, text, folder)[1]


def test_every_class_is_frozen_and_has_sound_defaults() -> None:
    config = SupervisorConfig(timezone="UTC")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        config.locale = "en"  # type: ignore[misc]
    assert list(SupervisionConfig().faults()) == []
    assert AgentConfig(id="a").llm.provider == "builtin"
    assert RoomConfig(id="#a").max_bot_turns == 6


def test_no_secret_is_seen_in_a_config(tmp_path: Path) -> None:
    text = "matrix: {user_id: '@a:b', access_token: tok-1, password: pw-1}\nllm: {api_key: sk-1}\n"
    (tmp_path / "prompt.md").touch()
    value, problems = build(AgentConfig, text, tmp_path, id="a")
    assert problems == []
    assert not any(word in repr(value) for word in ("tok-1", "pw-1", "sk-1"))
    assert value.matrix.password.reveal() == "pw-1"
    assert isinstance(value.matrix, MatrixAccountConfig)


def test_a_backoff_that_hides_the_restart_limit_is_refused(tmp_path: Path) -> None:
    text = "supervision: {max_restarts: 5, window_seconds: 60, backoff_max_seconds: 10.1}\n"
    (problem,) = supervisor(text, tmp_path)
    assert "supervision.backoff_max_seconds: must not exceed" in problem
    assert "= 10," in problem
    assert supervisor(text.replace("10.1", "10"), tmp_path) == []


def test_a_first_backoff_above_the_last_is_refused(tmp_path: Path) -> None:
    text = "supervision: {backoff_initial_seconds: 6}\n"
    assert "must not exceed backoff_max_seconds" in supervisor(text, tmp_path)[0]


def test_rooms_and_participants_are_named_once(tmp_path: Path) -> None:
    text = 'rooms: [{id: "#a", participants: [x, x]}, {id: "#b"}, {id: "#a"}]\n'
    assert [problem.split(": ")[1] for problem in supervisor(text, tmp_path)] == [
        "rooms[0].participants[1]",
        "rooms[2].id",
    ]


@pytest.mark.parametrize("room", ["taller", "#", "# taller", "#a/b", "@a:b"])
def test_a_room_id_begins_with_a_sign(tmp_path: Path, room: str) -> None:
    assert "a room id such as" in supervisor(f'rooms: [{{id: "{room}"}}]\n', tmp_path)[0]


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        ("{kind: send_message}", "action.message: is missing"),
        ("{kind: send_message, message: ' '}", "action.message: write some text"),
        ("{kind: send_message, message: a, prompt: b}", "action.prompt: has no meaning"),
        ("{kind: llm_prompt}", "action.prompt: kind llm_prompt needs one of"),
        ("{kind: llm_prompt, prompt: a, target_agent: b}", "action.target_agent: has no meaning"),
        ("{kind: agent_call, prompt: a}", "action.target_agent: is missing"),
        ("{kind: agent_call, target_agent: b}", "action.prompt: kind agent_call needs one of"),
        (
            "{kind: agent_call, target_agent: b, prompt: a, prompt_template: prompt.md}",
            "needs one of",
        ),
        ("{kind: agent_call, target_agent: b, prompt_template: no.md}", "the file does not exist"),
        ("{kind: reminder, message: a}", "must be send_message, llm_prompt or agent_call"),
    ],
)
def test_an_action_has_what_its_kind_needs_and_no_more(
    tmp_path: Path, action: str, fault: str
) -> None:
    head = "schedules:\n  - name: a\n    cron: '* * * * *'\n    output_room: '#a'\n    action: "
    (problem,) = agent(head + action + "\n", tmp_path)
    assert fault in problem


@pytest.mark.parametrize(
    "action",
    [
        "{kind: send_message, message: a}",
        "{kind: llm_prompt, prompt: a}",
        "{kind: agent_call, target_agent: b, prompt_template: prompt.md, timeout_seconds: 1}",
    ],
)
def test_a_complete_action_is_accepted(tmp_path: Path, action: str) -> None:
    head = "schedules:\n  - name: a\n    cron: '* * * * *'\n    output_room: '#a'\n    action: "
    assert agent(head + action + "\n", tmp_path) == []


@pytest.mark.parametrize(
    ("when", "fault"),
    [
        ("cron: '0 9 * * 1'", None),
        ("every: 2h", None),
        ("every: 2h, overlap: queue_one, catch_up: all, catch_up_limit: 3", None),
        ("enabled: true", "f:1:13: schedules[0].cron: is missing"),
        ("cron: x, every: 2h", "f:1:30: schedules[0].every: is given beside cron"),
        ("every: 2h, overlap: queue", "schedules[0].overlap: must be skip, queue_one or allow"),
        ("every: 2h, catch_up: last", "did you mean"),
        ("every: 2h, catch_up_limit: 0", "schedules[0].catch_up_limit: is out of range"),
        ("every: 2h, jitter_seconds: -1", "schedules[0].jitter_seconds: is out of range"),
        ("every: 7200", "schedules[0].every: must be text"),
    ],
)
def test_a_schedule_has_one_way_to_recur_and_rules_that_can_be_followed(
    tmp_path: Path, when: str, fault: str | None
) -> None:
    rest = "name: a, output_room: '#a', action: {kind: send_message, message: a}"
    problems = agent(f"schedules: [{{{when}, {rest}}}]\n", tmp_path)
    assert [fault in problem for problem in problems] == ([] if fault is None else [True]), problems


@pytest.mark.parametrize("name", ["a b", "a/b", "", "x" * 65])
def test_a_schedule_can_be_named_on_a_command_line(tmp_path: Path, name: str) -> None:
    text = f"schedules: [{{name: '{name}', cron: x, output_room: '#a', action: {{kind: x}}}}]\n"
    assert any("schedules[0].name: write a name" in problem for problem in agent(text, tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        *("web: {port: 65536}", "web: {port: -1}", "reminders: {retention_days: 0}"),
        *("max_event_age_seconds: 0", "supervision: {window_seconds: 0}", "locale: fr"),
        *("transport: irc", "matrix: {homeserver: example.org}", "timezone: 'a b'"),
    ],
)
def test_values_out_of_range_are_refused(tmp_path: Path, text: str) -> None:
    assert len(supervisor(text + "\n", tmp_path)) == 1
