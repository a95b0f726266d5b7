"""Whatever is done to the config of a running house: it is refused without a trace, or in force."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from channels.messages import Reload, RunningTurns
from config.workspace import Workspace
from supervisor.desk.office import ReloadReport
from supervisor.logs import configure
from supervisor.testkit import make_workspace, open_house
from supervisor.testkit.house import TestHouse
from tests.config.mutations import AGENT, SUPERVISOR, Mutation, mutations
from tests.e2e import process
from tests.e2e.process import Supervisor, supervisor

IDS = ("asistente", "devops")
LIVE = ("rooms", "known_bots")
KEYS = {SUPERVISOR: "*", AGENT: "asistente"}


def found(value: Any, path: tuple[str | int, ...]) -> Any:
    return reduce(lambda v, key: v[key] if isinstance(key, int) else getattr(v, key), path, value)


# -- in process, in virtual time --------------------------------------------------------------


@attrs.define
class Judge:
    """One running house, and what must be true of it after each change of a file."""

    house: TestHouse
    workspace: Workspace
    log: io.StringIO
    counts: dict[str, int] = attrs.field(factory=lambda: {"loaded": 0, "refused": 0})
    as_shipped: bool = True

    def generations(self) -> dict[str, int]:
        fleet = self.house.household.fleet
        return {name: fleet.generation(member) for name, member in fleet.members.items()}

    def configs(self) -> dict[str, object]:
        members = self.house.household.fleet.members.values()
        return {member.id: member.loaded and member.loaded.value for member in members}

    async def judge(self, mutation: Mutation) -> None:
        (self.workspace.root / mutation.filename).write_bytes(mutation.data)
        before, configs = self.generations(), self.configs()
        agents = () if mutation.filename == SUPERVISOR else ("asistente",)
        report = await self.ask("supervisor", Reload(agents))
        assert isinstance(report, ReloadReport)
        self.assert_sound(report)
        if report.failed:
            assert not mutation.valid, report
            self.counts["refused"] += 1
            assert self.generations() == before, "a refused file changed a running agent"
            assert self.configs() == configs
            if self.as_shipped:
                await self.converse()
            self.as_shipped = False
        else:
            self.as_shipped = False
            self.counts["loaded"] += 1
            touched = agents or IDS
            after = {name: count + (name in touched) for name, count in before.items()}
            assert self.generations() == after
            if mutation.expect:
                self.assert_in_force(mutation)
        for name in IDS:
            await self.ask(name, RunningTurns())

    def assert_sound(self, report: ReloadReport) -> None:
        """Each error has a place and a sentence; the log shows nobody's insides."""
        for result in report.failed:
            assert result.error
            assert result.errors, "it failed for another reason than its configuration"
            for problem in result.errors:
                assert problem.file and problem.line >= 1 and problem.col >= 1 and problem.message
        text = self.log.getvalue()
        assert "Traceback" not in text, text
        self.log.seek(0)
        self.log.truncate()

    def assert_in_force(self, mutation: Mutation) -> None:
        assert mutation.expect
        path, value = mutation.expect
        fleet = self.house.household.fleet
        if mutation.filename == SUPERVISOR:
            if path[0] in LIVE:
                assert found(fleet.config, path) == value
            return
        loop = fleet.loop(fleet.members["asistente"])
        assert loop is not None and found(loop.config, path) == value

    async def ask(self, to: str, body: object) -> object:
        return await self.house.household.services.bus.ask(to, body, timeout=30)

    async def restore(self) -> None:
        """Run on the files as they were shipped; the next refused one must leave that talking."""
        report = await self.ask("supervisor", Reload(()))
        assert isinstance(report, ReloadReport) and not report.failed, report
        self.as_shipped = True

    async def converse(self) -> None:
        """Each agent answers a person."""
        room = self.house.room("#taller")
        for agent in IDS:
            said = len(await room.said_by(agent))
            await room.say(f"@{agent} ¿quién eres?", sender=f"ana{said}")
            with trio.fail_after(30):
                await room.wait_for(agent, said + 1)


def judged(folder: Path, seed: int, count: int) -> dict[str, int]:
    log = io.StringIO()
    configure("json", log)
    workspace = make_workspace(folder)
    good = {name: (workspace.root / name).read_bytes() for name in KEYS}

    async def main() -> dict[str, int]:
        async with open_house(workspace) as house:
            judge = Judge(house, workspace, log)
            for number, mutation in enumerate(mutations(seed, count)):
                try:
                    await judge.judge(mutation)
                except BaseException:
                    print(f"number {number}: {mutation.kind}\n{mutation.data!r}")
                    raise
                (workspace.root / mutation.filename).write_bytes(good[mutation.filename])
                if number % 50 == 49:
                    await judge.restore()
            await judge.converse()
            return judge.counts

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.sweep
@pytest.mark.promise("P4", "P7")
@pytest.mark.parametrize("part", range(4))
def test_a_mutated_file_is_refused_with_its_errors_or_is_in_force(
    tmp_path: Path,
    seed: int,
    part: int,
    size: Callable[[int, int], int],
    figures: Callable[..., None],
) -> None:
    """Done when 10: 2 000 files; never a traceback, never a changed agent, and valid ones load."""
    count = size(2000, 2000)
    counts = judged(tmp_path / "w", seed + part, count)
    figures(files=count, **counts)
    assert counts["loaded"] > count / 5 and counts["refused"] > count / 5


# -- in a process of its own ------------------------------------------------------------------


@pytest.mark.e2e
@pytest.mark.promise("P4", "P7")
def test_a_mutated_file_and_a_hangup_leave_a_real_one_in_order(
    tmp_path: Path, seed: int, figures: Callable[..., None]
) -> None:
    """Done when 10, through files and SIGHUP."""
    workspace = process.make_workspace(tmp_path / "w")
    good = {name: (workspace / name).read_bytes() for name in KEYS}
    outcomes = {"loaded": 0, "refused": 0}
    with supervisor(workspace) as running:
        for mutation in mutations(seed, 40):
            (workspace / mutation.filename).write_bytes(mutation.data)
            before = running.generations()
            refused = hang_up(running, mutation)
            outcomes["refused" if refused else "loaded"] += 1
            assert not (refused and mutation.valid), (mutation, running.tail())
            if refused:
                assert running.generations() == before
            states = {a["id"]: a["state"] for a in running.client.get("status")["agents"]}
            assert states == dict.fromkeys(IDS, "running")
            (workspace / mutation.filename).write_bytes(good[mutation.filename])
        assert running.ask("#taller", "@devops ¿quién eres?")
        assert running.stop() == 0
    running.assert_no_traceback()
    figures(files=40, **outcomes)


def hang_up(running: Supervisor, mutation: Mutation) -> bool:
    """Ask for the reload of what the file concerns; say whether it was refused."""
    mark = running.mark()
    (running.workspace / "run/reload.txt").write_text(KEYS[mutation.filename] + "\n")
    running.signal(signal.SIGHUP)
    if mutation.filename == AGENT:
        return over(running, mark, "asistente", "asistente")
    refused = over(running, mark, "asistente", "supervisor.yaml")
    if not refused:
        over(running, mark, "devops", "devops")
    return refused


def over(running: Supervisor, mark: int, agent: str, blamed: str) -> bool:
    """Wait until the agent has been reloaded or an error is logged about `blamed`."""
    good = f"agent {agent} reloaded successfully"
    entry = running.wait_for(
        lambda e: (
            e.get("event") == good or (e.get("event") == "reload_failed" and e["agent"] == blamed)
        ),
        since=mark,
    )
    assert entry["event"] == good or entry["line"] >= 1, entry
    return bool(entry["event"] != good)
