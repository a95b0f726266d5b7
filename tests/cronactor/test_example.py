"""What the example workspace tells people of schedules, and its agents of reminders, is so."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

import config
from config.schema import ActionConfig, ScheduleConfig
from supervisor.plan import read_workspace
from supervisor.testkit.house import make_workspace
from tools.reminder.reminder import reminder_tools

EXAMPLE = Path(config.__file__).parent / "example"
README = (EXAMPLE / "crons" / "README.md").read_text(encoding="utf-8")
AGENTS = ("asistente", "devops")


def test_the_documented_schedules_can_be_used_as_they_stand(tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    files = {
        "agents/tercera/config.yaml": "llm: {provider: builtin}\n" + "".join(blocks),
        "agents/tercera/prompt.md": "Eres la tercera.",
        "crons/resumen/prompts/prompt.md": "Resume el día.",
    }
    plan = read_workspace(make_workspace(tmp_path / "w", files))
    made = {schedule.name: schedule for schedule in plan.agents["tercera"].value.schedules}
    assert {one.action.kind for one in made.values()} == {
        "send_message",
        "llm_prompt",
        "agent_call",
    }
    shown = made["revision"]
    for field in attrs.fields(ScheduleConfig):
        if field.default is not attrs.NOTHING and field.name not in ("cron", "every", "timezone"):
            assert getattr(shown, field.name) == field.default, field.name
    assert shown.action.timeout_seconds == attrs.fields(ActionConfig).timeout_seconds.default


@pytest.mark.parametrize("shape", [ActionConfig, ScheduleConfig])
def test_every_key_is_documented(shape: type[attrs.AttrsInstance]) -> None:
    missing = [
        field.name
        for field in attrs.fields(shape)
        if not re.search(rf"`{field.name}`|^\s+(?:- )?{field.name}:", README, re.MULTILINE)
    ]
    assert missing == []


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agents_prompt_names_its_reminder_tools_and_no_others(agent: str) -> None:
    prompt = (EXAMPLE / "agents" / agent / "prompt.md").read_text(encoding="utf-8")
    names = {tool.name for tool in reminder_tools()}
    assert names - set(re.findall(r"`(\w+)`", prompt)) == set()
    told = re.findall(r"`(\w+_(?:reminders?|timezone))`", prompt)
    assert set(told) <= names
