"""A fake office behind the real API, on a real socket and a real port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pytest
import trio

from config.problems import Problem
from supervisor.desk.actor import Api, Places
from supervisor.desk.office import (
    About,
    AgentInfo,
    Cause,
    CellChange,
    CronInfo,
    CronRun,
    LastRun,
    Line,
    Node,
    OfficeError,
    Readiness,
    ReloadReport,
    ReloadResult,
    ReminderInfo,
    RoomInfo,
    SlotInfo,
    Status,
    Supervised,
    TurnInfo,
    Why,
    ZoneShown,
)

STARTED = datetime(2026, 4, 10, 13, 0, tzinfo=UTC)
MADRID = ZoneInfo("Europe/Madrid")


class FakeOffice:
    """An office of two agents and one room, whose answers a test may change."""

    def __init__(self) -> None:
        self.readiness = Readiness(True)
        self.lines: list[Line] = []
        self.said: list[tuple[str, str, str, bool]] = []
        self.person = "ana"
        self.cause: Cause | None = None
        self.posted: dict[tuple[str, str], Line] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.report: ReloadReport | None = None
        self.error: Exception | None = None
        self.replies: list[str] = []
        self.spoken = trio.Event()
        self.readers: list[tuple[str, trio.MemorySendChannel[Any]]] = []

    def agents(self) -> Sequence[str]:
        return ("asistente", "devops")

    def ready(self) -> Readiness:
        return self.readiness

    async def status(self) -> Status:
        if self.error:
            raise self.error
        busy = AgentInfo(
            "asistente", "running", 3, 1, 2, (TurnInfo("#taller", 12.5),), "KeyError: 'x'"
        )
        return Status(4711, STARTED, "/w", (busy, AgentInfo("devops", "quarantined", 6, 5, 0)))

    async def tree(self) -> Node:
        agents = Node("agents", "running", 1, (Node("asistente", "running", 3),))
        return Node("root", "running", 1, (Node("scheduler", "running", 1), agents))

    async def supervision(self) -> Supervised:
        busy = (await self.status()).agents[0]
        agent = Supervised(
            "root/agents/asistente", busy.id, busy.id, busy.state, 3, 1, 2, None, busy.turns
        )
        return Supervised("root", "root", None, "running", 1, 0, 0, None, (), (agent,))

    async def about(self) -> About:
        return About("0.1.0", "/w", "Europe/Madrid", "es", self.person)

    async def rooms(self) -> Sequence[RoomInfo]:
        return (RoomInfo("#taller", None, ("asistente", "devops"), ("asistente", "devops")),)

    def _room(self, room: str) -> None:
        if room != "#taller":
            raise OfficeError("no hay ninguna sala así", 404)

    async def history(self, room: str, limit: int) -> Sequence[Line]:
        self._room(room)
        return self.lines[-limit:]

    def add(self, sender: str, text: str, agent: str | None = None) -> Line:
        number = len(self.lines) + 1
        line = Line("#taller", sender, text, f"$e{number}", 1775822400.0 + number, agent)
        self.lines.append(line)
        self.publish("rooms/#taller", line)
        return line

    async def say(
        self, room: str, text: str, sender: str, as_bot: bool, txn_id: str | None = None
    ) -> Line:
        self._room(room)
        if txn_id and (sender, txn_id) in self.posted:
            return self.posted[sender, txn_id]
        self.said.append((room, text, sender, as_bot))
        self.spoken.set()
        line = self.add(sender, text)
        if txn_id:
            self.posted[sender, txn_id] = line
        for reply in self.replies:
            self.add("asistente", reply, "asistente")
        return line

    async def why(self, event_id: str) -> Why:
        for line in self.lines:
            if line.event_id == event_id:
                slot = SlotInfo("asistente", "answered", "first", None, 1, 1, STARTED, STARTED)
                slots = (attrs.evolve(slot, answers=("$e2",)),)
                return Why(line, slots, self.cause if line.agent else None)
        raise OfficeError("no hay ningún mensaje así", 404)

    async def reload(self, ids: Sequence[str] | None, lane: str = "") -> ReloadReport:
        self.calls.append(("reload", ids, lane))
        names = ids or self.agents()
        return self.report or ReloadReport(tuple(ReloadResult(id, "reloaded", 4) for id in names))

    async def start(self, agent: str) -> AgentInfo:
        self.calls.append(("start", agent))
        return AgentInfo(agent, "running", 7, 0, 0)

    async def stop(self, agent: str) -> AgentInfo:
        self.calls.append(("stop", agent))
        return AgentInfo(agent, "stopped", 7, 0, 0)

    async def timezone(self, user: str | None, room: str | None) -> ZoneShown:
        self.calls.append(("timezone", user, room))
        return ZoneShown(user, room, "Europe/Madrid", "workspace")

    async def set_timezone(self, user: str | None, room: str | None, zone: str | None) -> ZoneShown:
        self.calls.append(("set_timezone", user, room, zone))
        if zone == "Europe/Madird":
            raise OfficeError("no conozco la zona; escribe Europe/Madrid", 409)
        return ZoneShown(user, room, zone or "UTC", "user" if user else "room")

    async def reminders(self, room: str | None, all: bool) -> Sequence[ReminderInfo]:
        self.calls.append(("reminders", room, all))
        when = datetime(2026, 4, 11, 9, 0, tzinfo=MADRID)
        return (
            ReminderInfo(
                "r1", "#taller", "@ana", "riegue", "once", None, when, "Europe/Madrid", "pending"
            ),
        )

    async def cron_list(self) -> Sequence[CronInfo]:
        when = datetime(2026, 4, 13, 9, 0, tzinfo=MADRID)
        last = LastRun(datetime(2026, 4, 6, 9, 0, tzinfo=MADRID), "fired")
        return (CronInfo("asistente/lunes", "0 9 * * 1", "Europe/Madrid", when, last),)

    async def cron_runs(self, schedule: str | None) -> Sequence[CronRun]:
        self.calls.append(("cron_runs", schedule))
        return (await self.cron_run("asistente/lunes"),)

    async def cron_run(self, schedule: str) -> CronRun:
        if schedule != "asistente/lunes":
            raise OfficeError("no hay ninguna tarea así", 404)
        return CronRun(schedule, STARTED, STARTED, STARTED, "fired", None, "$e9")

    def publish(self, topic: str, event: Any) -> None:
        for pattern, reader in self.readers:
            if topic.startswith(pattern.rstrip("*")):
                reader.send_nowait((topic, event))

    @contextmanager
    def subscribe(self, topic: str) -> Iterator[Any]:
        send, receive = trio.open_memory_channel[Any](100_000)
        entry = (topic, send)
        self.readers.append(entry)
        with send, receive:
            try:
                yield receive
            finally:
                self.readers.remove(entry)

    async def metrics(self) -> bytes:
        return b"vivero_turns_total 1.0\n"


@attrs.define
class StubInbox:
    """The part of an inbox that the API wants."""

    drained: trio.Event = attrs.field(factory=trio.Event)

    async def wait_draining(self) -> None:
        await self.drained.wait()


@attrs.define
class Running:
    """An API that listens."""

    office: FakeOffice
    places: Places
    inbox: StubInbox
    counted: list[tuple[str, str, int]] = attrs.field(factory=list)
    announced: list[str] = attrs.field(factory=list)
    stopped: trio.Event = attrs.field(factory=trio.Event)

    @property
    def url(self) -> str:
        return self.places.url.read_text().partition("#")[0].rstrip("/")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def token(self) -> str:
        return self.places.token.read_text().strip()


StartApi = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    run = tmp_path / "run"
    run.mkdir(0o700)
    return Places(run / "control.sock", run / "web.url", run / "web.token")


@pytest.fixture
def office() -> FakeOffice:
    return FakeOffice()


@pytest.fixture
def start_api(office: FakeOffice, places: Places) -> StartApi:
    @asynccontextmanager
    async def start(**options: Any) -> AsyncIterator[Running]:
        running = Running(office, places, StubInbox())
        settings: dict[str, Any] = {
            "port": 0,
            "count": lambda *what: running.counted.append(what),
            "announce": running.announced.append,
            **options,
        }
        api = Api(office, places, **settings)

        async def run(task_status: trio.TaskStatus[None]) -> None:
            await api.run(running.inbox, task_status=task_status)
            running.stopped.set()

        async with trio.open_nursery() as nursery:
            await nursery.start(run)
            yield running
            running.inbox.drained.set()

    return start


@pytest.fixture
def problem() -> Problem:
    return Problem("agents/asistente/config.yaml", 3, 5, "llm.provider", "no existe")


@pytest.fixture
def change() -> CellChange:
    return CellChange("root/agents/asistente/loop", "running", 4, "reload")
