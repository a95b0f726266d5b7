"""Reminders through the tools, against the real scheduler: right words, right room, once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from channels.bus import Bus
from channels.database import Database
from channels.errors import ActorDied, AskTimeout, RemoteError, UnknownAddress
from channels.mailbox import Mailbox
from channels.outbox import MIGRATIONS as OUTBOX
from channels.outbox import Outbox
from cronactor.messages import AddReminder, SchedulerRefused
from cronactor.scheduler import Scheduler
from cronactor.store import MIGRATIONS as REMINDERS
from cronactor.store import ReminderStore
from supervisor.testkit.clock import VirtualClock
from tests.tools.callers import NOW, bus_of, context
from tools.reminder.reminder import reminder_tools
from tools.tool import ToolContext, ToolResult
from tools.toolbox import Toolbox

BOX = Toolbox(reminder_tools(max_per_room=3))


async def call(ctx: ToolContext, name: str, **arguments: Any) -> ToolResult:
    return await BOX.call(ctx, name, json.dumps(arguments))


@attrs.define
class World:
    ctx: ToolContext
    calls: int = 0

    async def __call__(
        self, name: str, changes: dict[str, Any] | None = None, **arguments: Any
    ) -> ToolResult:
        self.calls += 1
        changes = {"idempotency_key": f"call-{self.calls}", **(changes or {})}
        return await call(attrs.evolve(self.ctx, **changes), name, **arguments)


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    clock = VirtualClock(NOW)
    clock.now()
    reminders = await Database.open(folder / "reminders.db", REMINDERS, threaded=False)
    state = await Database.open(folder / "state.db", OUTBOX, threaded=False)
    bus = Bus()
    mailbox = Mailbox()
    bus.register("scheduler", mailbox)
    scheduler = Scheduler(
        store=ReminderStore(reminders),
        outbox=Outbox(state, clock),
        bus=bus,
        clock=clock,
        workspace_root=folder,
        timezone="Europe/Madrid",
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run, mailbox.open_inbox())
        yield World(context(bus=bus, clock=clock))
        nursery.cancel_scope.cancel()
    await reminders.close()
    await state.close()


def played(story: Callable[[World], Any], folder: Path) -> None:
    async def main() -> None:
        async with world(folder) as do:
            await story(do)

    trio.run(main, clock=MockClock(autojump_threshold=0))


def test_the_confirmation_echoes_the_resolved_local_time_and_zone(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="riegue las plantas", time="en 5 segundos")
        assert told.ok
        head, _, tail = told.text.rpartition(" [")
        assert head == (
            "Listo, @ana: te recordaré «riegue las plantas» hoy 2026-11-30 a las 15:44:07 "
            "(Europe/Madrid)."
        )
        assert len(tail) == 7

    played(story, tmp_path)


def test_time_counts_from_when_the_message_came_in(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        changes = {"received_at": NOW - 60}
        told = await do("create_reminder", changes, message="x", time="en 2 minutos")
        assert "a las 15:45:02" in told.text

    played(story, tmp_path)


def test_a_recurring_one_says_its_cron_and_its_next_time(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do(
            "create_reminder", message="hacer el standup", recurring=True, cron="0 10 * * 1"
        )
        assert told.text.startswith(
            "Listo, @ana: te recordaré «hacer el standup» con el cron `0 10 * * 1`; la próxima "
            "vez, 2026-12-07 a las 10:00 (Europe/Madrid). ["
        )

    played(story, tmp_path)


def test_a_cron_beside_a_time_decides_only_for_recurring_ones(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        both: dict[str, Any] = {"message": "x", "time": "mañana a las 9", "cron": "0 10 * * 1"}
        assert "no los dos" in (await do("create_reminder", **both)).text
        told = await do("create_reminder", **both, recurring=True)
        assert "2026-12-07 a las 10:00" in told.text

    played(story, tmp_path)


def test_a_cron_as_time_is_taken_for_what_it_is(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="x", time="0 10 * * 1")
        assert "con el cron `0 10 * * 1`" in told.text

    played(story, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"message": "x"}, "falta el momento"),
        ({"message": "x", "time": " "}, "falta el momento"),
        ({"message": "x", "time": "un día de estos"}, "no entiendo 'un día de estos'"),
        ({"message": "x", "time": "hoy a las 9:00"}, "ya pasó"),
        ({"message": "x", "time": "a las 12"}, "mediodía o medianoche"),
        ({"message": "x", "time": "mañana a las 9", "recurring": True}, "necesita un cron"),
        ({"message": "x", "cron": "0 99 * * *", "recurring": True}, "'99' no vale"),
        ({"message": " ", "time": "mañana a las 9"}, "falta el mensaje"),
        ({"message": "x" * 5000, "time": "mañana a las 9"}, "el máximo es 4000"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_to_send_instead(
    tmp_path: Path, arguments: dict[str, Any], told: str
) -> None:
    async def story(do: World) -> None:
        result = await do("create_reminder", **arguments)
        assert not result.ok
        assert told in result.text
        assert "No hay recordatorios" in (await do("list_reminders")).text

    played(story, tmp_path)


@pytest.mark.promise("P9")
def test_a_repeated_call_creates_nothing_and_says_the_same(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        same = {"idempotency_key": "call-7"}
        first = await do("create_reminder", same, message="x", time="en 5 minutos")
        again = await do("create_reminder", same, message="x", time="en 5 minutos")
        assert first.text == again.text
        assert "Hay 1 recordatorio activo" in (await do("list_reminders")).text

    played(story, tmp_path)


def test_the_list_is_numbered_with_ids_local_times_and_kinds(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        one = await do("create_reminder", message="Reunión\ncon el equipo", time="mañana a las 9")
        two = await do("create_reminder", message="standup", cron="0 10 * * 1", recurring=True)
        changes = {"user": "@luis"}
        three = await do("create_reminder", changes, message="llamar", time="en 10 segundos")
        ids = [told.text.rpartition("[")[2].rstrip("]") for told in (one, two, three)]
        assert (await do("list_reminders")).text.splitlines() == [
            "Hay 3 recordatorios activos en esta sala (hora de Europe/Madrid):",
            f"1. [{ids[2]}] llamar — 2026-11-30 15:44:12 (one-shot) @luis",
            f"2. [{ids[0]}] Reunión con el equipo — 2026-12-01 09:00 (one-shot)",
            f"3. [{ids[1]}] standup — 2026-12-07 10:00 (recurrente)",
        ]
        english = await do("list_reminders", {"locale": "en", "timezone": "Asia/Tokyo"})
        assert english.text.splitlines()[0].startswith("There are 3 active reminders")
        assert english.text.splitlines()[3].endswith("standup — 2026-12-07 18:00 (recurring)")

    played(story, tmp_path)


def test_the_room_is_the_turns_own_and_another_room_sees_nothing(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="x", time="en 5 minutos")
        id_ = told.text.rpartition("[")[2].rstrip("]")
        elsewhere = {"room": "#otra"}
        assert "No hay recordatorios" in (await do("list_reminders", elsewhere)).text
        refused = await do("delete_reminder", elsewhere, id=id_)
        assert not refused.ok
        assert f"no hay ningún recordatorio activo '{id_}' en esta sala" in refused.text
        assert "Hay 1 recordatorio" in (await do("list_reminders")).text
        forged = await do("create_reminder", message="x", time="en 5 minutos", room="#otra")
        assert "room: there is no such argument" in forged.text

    played(story, tmp_path)


def test_deleting_says_what_is_gone_and_may_be_repeated(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="regar", time="en 5 minutos")
        id_ = told.text.rpartition("[")[2].rstrip("]")
        gone = await do("delete_reminder", id=f" [{id_.upper()}] ")
        assert (gone.ok, gone.text) == (True, f"Recordatorio eliminado: «regar». [{id_}]")
        again = await do("delete_reminder", id=id_)
        assert again == gone
        assert "No hay recordatorios" in (await do("list_reminders")).text

    played(story, tmp_path)


def test_the_limit_of_the_room_holds_and_names_itself(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        for _ in range(3):
            assert (await do("create_reminder", message="x", time="en 5 minutos")).ok
        full = await do("create_reminder", message="x", time="en 5 minutos")
        assert not full.ok
        assert "ya tiene 3 recordatorios activos y el máximo es 3" in full.text
        other = await do("create_reminder", {"room": "#otra"}, message="x", time="en 5 minutos")
        assert other.ok

    played(story, tmp_path)


def test_a_clock_change_is_pointed_out(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="x", time="2027-03-28 02:30")
        assert "no existe ese día por el cambio de hora" in told.text.splitlines()[1]

    played(story, tmp_path)


@pytest.mark.parametrize("missing", [{"room": None}, {"user": None}])
async def test_outside_a_room_there_are_no_reminders(missing: dict[str, Any]) -> None:
    result = await call(context(**missing), "list_reminders")
    assert not result.ok
    assert "pertenecen a una sala" in result.text


async def test_a_scheduler_that_died_is_asked_again_with_the_same_key() -> None:
    answers: list[Any] = [ActorDied("scheduler", "crash"), AskTimeout("scheduler", 5), ()]
    ctx = context(lambda to, body: answers.pop(0))
    assert (await call(ctx, "list_reminders")).ok
    assert len({repr(body) for _, body in bus_of(ctx).asked}) == 1


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AskTimeout("scheduler", 5), "no responde ahora. Puede que sí quede hecho"),
        (RemoteError("x"), "no responde ahora"),
        (UnknownAddress("scheduler"), "no está en marcha; no se ha hecho nada"),
        (SchedulerRefused("escribe otra cosa."), "No se ha podido: escribe otra cosa."),
    ],
)
async def test_each_failure_is_one_sentence(error: Exception, told: str) -> None:
    ctx = context(lambda to, body: error)
    result = await call(ctx, "create_reminder", message="x", time="en 5 minutos")
    assert not result.ok
    assert told in result.text


async def test_the_request_holds_only_facts_of_the_turn() -> None:
    ctx = context(lambda to, body: SchedulerRefused("no"))
    await call(ctx, "create_reminder", message="x", time="en 5 minutos")
    assert bus_of(ctx).asked == [
        (
            "scheduler",
            AddReminder(
                agent="asistente",
                room="#taller",
                user="@ana",
                message="x",
                when="en 5 minutos",
                received_at=NOW,
                recurring=None,
                timezone="Europe/Madrid",
                locale="es",
                idempotency_key="slot-1-call-1",
                max_per_room=3,
            ),
        )
    ]
