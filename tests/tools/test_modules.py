"""Tools of one's own come from files that a configuration names, and every fault has its line."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio.testing

from config.loading import load_agent
from config.problems import ConfigError, Problem
from config.schema import AgentConfig, ModuleText
from supervisor.desk.office import ReloadReport
from supervisor.plan import read_agent
from supervisor.testkit.house import TestHouse, make_workspace, open_house
from tools.modules import own_tools

TICKETS = '''\
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tools.tool import ToolContext, tool


@dataclass
class Ticket:
    title: "str"


opened: list[Ticket] = []


@tool(idempotent=True)
async def open_ticket(ctx: ToolContext, title: str) -> str:
    """Open a ticket.

    Args:
        title: what is wrong
    """
    opened.append(Ticket(title))
    with Path(__file__).with_name("seen.txt").open("a") as seen:
        seen.write(f"v1 {ctx.agent} {title} {len(opened)}\\n")
    return "ok"
'''
SCRIPT = """\
- rounds:
  - - tool: {name: open_ticket, args: {title: gotea}}
  - - text: "Hecho."
"""
CONFIG = """\
llm: {provider: replay, script: script.yaml}
tools: {modules: [tickets.py]}
"""
FILES = {
    "agents/asistente/config.yaml": CONFIG,
    "agents/asistente/script.yaml": SCRIPT,
    "agents/asistente/tickets.py": TICKETS,
}


def config_of(*texts: str) -> AgentConfig:
    modules = [ModuleText(f"/x/{n}.py", f"{n}.py", text) for n, text in enumerate(texts)]
    return AgentConfig(id="a", tool_modules=tuple(modules))


def faults(folder: Path, text: str, more: str = "") -> tuple[Problem, ...]:
    files = {
        "agents/asistente/config.yaml": "tools: {modules: [mine.py]}\n" + more,
        "agents/asistente/mine.py": text,
    }
    with pytest.raises(ConfigError) as caught:
        read_agent(make_workspace(folder / "w", files), "asistente", ["asistente"])
    return caught.value.problems


def test_all_tools_of_all_modules_are_found_in_order() -> None:
    other = TICKETS.replace("open_ticket", "close_ticket")
    assert [t.name for t in own_tools(config_of(TICKETS, other))] == ["open_ticket", "close_ticket"]


def test_each_call_makes_them_anew() -> None:
    config = config_of(TICKETS)
    (first,), (second,) = own_tools(config), own_tools(config)
    assert first.function.__globals__["opened"] is not second.function.__globals__["opened"]


TOOL = 'from tools.tool import tool\n\n@tool()\nasync def f(ctx{}):\n    """Do."""\n'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("x = 1\nasync def f(:\n", 2, "this is not Python"),
        ("x = 1\n\nimport nonesuch_at_all\n", 3, "ModuleNotFoundError"),
        ("def f():\n    return 1 / 0\n\nf()\n", 2, "ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("", 1, "there is no tool in it"),
        ("# only a comment\nx = 1\n", 1, "there is no tool in it"),
        (TOOL.format(", title"), 3, "title"),
        ("from tools.tool import tool\n@tool()\ndef f(ctx): ...\n", 2, "async def"),
        (TOOL.format("").replace("f(ctx)", "current_time(ctx)"), 3, "already"),
    ],
)
def test_a_fault_says_file_and_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    (problem,) = faults(tmp_path, text)
    assert (problem.file.endswith("agents/asistente/mine.py"), problem.line) == (True, line)
    assert said in problem.message and "\n" not in problem.message


def test_faults_of_files_and_config_come_together(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        "1 / 0\n",
        'schedules: [{name: s, cron: "61 * * * *", '
        'output_room: "#taller", action: {kind: send_message, message: m}}]\n',
    )
    assert sorted(Path(p.file).name for p in found) == ["config.yaml", "mine.py"]


def test_two_modules_cannot_have_one_tool(tmp_path: Path) -> None:
    files = FILES | {
        "agents/asistente/config.yaml": "tools: {modules: [tickets.py, more.py]}\n",
        "agents/asistente/more.py": TICKETS,
    }
    with pytest.raises(ConfigError) as caught:
        read_agent(make_workspace(tmp_path / "w", files), "asistente", ["asistente"])
    (problem,) = caught.value.problems
    assert problem.file.endswith("more.py") and "tickets.py has a tool" in problem.message


@pytest.mark.parametrize("name", ["../../../x.py", "none.py", "/etc/passwd", "."])
def test_a_module_must_be_a_file_inside_the_workspace(tmp_path: Path, name: str) -> None:
    files = {"agents/asistente/config.yaml": f"tools: {{modules: [{name}]}}\n"}
    with pytest.raises(ConfigError) as caught:
        load_agent(make_workspace(tmp_path / "w", files), "asistente")
    assert [p.key for p in caught.value.problems] == ["tools.modules[0]"]


# -- in a running house ---------------------------------------------------------------------------


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


async def reload(house: TestHouse) -> ReloadReport:
    return await house.household.house.reload(["asistente"])


async def asked(house: TestHouse, count: int) -> str:
    """Ask, wait for answer number `count`, and return the last line that the tool has written."""
    await house.room().say("@asistente gotea")
    await house.room().wait_for("asistente", count)
    folder = house.household.services.workspace.agent_dir("asistente")
    return (folder / "seen.txt").read_text().splitlines()[-1]


async def test_the_model_calls_it_and_a_reload_brings_new_code_and_a_clean_state(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    workspace = make_workspace(tmp_path / "w", FILES)
    file = workspace.agent_dir("asistente") / "tickets.py"
    async with open_house(workspace) as house:
        assert await asked(house, 1) == "v1 asistente gotea 1"
        assert await asked(house, 2) == "v1 asistente gotea 2"
        file.write_text(TICKETS.replace("v1", "v2"))
        assert await asked(house, 3) == "v1 asistente gotea 3"
        assert not (await reload(house)).failed
        assert await asked(house, 4) == "v2 asistente gotea 1"


async def test_a_broken_file_fails_the_reload_and_the_old_tool_goes_on(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    workspace = make_workspace(tmp_path / "w", FILES)
    async with open_house(workspace) as house:
        assert await asked(house, 1) == "v1 asistente gotea 1"
        (workspace.agent_dir("asistente") / "tickets.py").write_text("x = 1\n1 / 0\n")
        (failed,) = (await reload(house)).failed
        assert [(Path(p.file).name, p.line) for p in failed.errors] == [("tickets.py", 2)]
        assert await asked(house, 2) == "v1 asistente gotea 2"


async def test_a_crash_restarts_the_code_that_was_checked_not_what_lies_there_now(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    workspace = make_workspace(tmp_path / "w", FILES)
    async with open_house(workspace) as house:
        assert await asked(house, 1) == "v1 asistente gotea 1"
        (workspace.agent_dir("asistente") / "tickets.py").write_text("1 / 0\n")
        own = house.household.fleet.members["asistente"].own
        assert own is not None
        await own.restart_child("loop")
        assert await asked(house, 2) == "v1 asistente gotea 1"
