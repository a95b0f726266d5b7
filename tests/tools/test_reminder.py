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


@pytest.mark.parametrize("recurring", [True, False])
def test_time_and_cron_together_are_refused(tmp_path: Path, recurring: bool) -> None:
    async def story(do: World) -> None:
        both: dict[str, Any] = {"message": "x", "time": "mañana a las 9", "cron": "0 10 * * 1"}
        told = await do("create_reminder", **both, recurring=recurring)
        assert not told.ok and "no los dos" in told.text
        assert "No hay recordatorios" in (await do("list_reminders")).text

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


def id_of(told: ToolResult) -> str:
    return told.text.splitlines()[0].rpartition("[")[2].rstrip("]")


# -- the requirement document's own list (2.6) ----------------------------------------------------


@pytest.mark.parametrize("missing", ["message", "id"])
async def test_2_6_required_parameters_are_checked(missing: str) -> None:
    name = "create_reminder" if missing == "message" else "delete_reminder"
    result = await call(context(), name, time="15:00")
    assert not result.ok and f"{missing}: is required" in result.text


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("15:50", "hoy 2026-11-30 a las 15:50"),
        ("2026-12-10 15:00", "2026-12-10 a las 15:00"),
        ("en 30 minutos", "hoy 2026-11-30 a las 16:14:02"),
        ("manana a las 9", "mañana 2026-12-01 a las 09:00"),
    ],
)
def test_2_6_the_documented_times_are_read(tmp_path: Path, time: str, said: str) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="x", time=time)
        assert told.ok and f"{said} (Europe/Madrid)" in told.text

    played(story, tmp_path)


def test_2_6_an_unknown_format_is_an_error(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="x", time="cuando puedas")
        assert not told.ok and "escribe por ejemplo" in told.text

    played(story, tmp_path)


def test_2_6_more_than_max_per_room_is_an_error(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        for _ in range(3):
            assert (await do("create_reminder", message="x", time="en 5 minutos")).ok
        told = await do("create_reminder", message="x", time="en 5 minutos")
        assert not told.ok and "el máximo es 3" in told.text

    played(story, tmp_path)


# -- changed --------------------------------------------------------------------------------------


def test_a_changed_reminder_is_confirmed_with_date_time_and_zone(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        id_ = id_of(await do("create_reminder", message="regar", time="en 5 minutos"))
        told = await do("update_reminder", id=f"[{id_}]", time="mañana a las 9")
        assert told.text == (
            f"Hecho: «regar», mañana 2026-12-01 a las 09:00 (Europe/Madrid). [{id_}]"
        )
        told = await do("update_reminder", id=id_, cron="0 10 * * 1", message="standup")
        assert told.text == (
            "Hecho: «standup» con el cron `0 10 * * 1`; la próxima vez, "
            f"2026-12-07 a las 10:00 (Europe/Madrid). [{id_}]"
        )
        for wrong in ({}, {"time": "x", "cron": "0 10 * * 1"}, {"message": " "}):
            assert not (await do("update_reminder", id=id_, **wrong)).ok
        assert "standup — 2026-12-07 10:00 (recurrente)" in (await do("list_reminders")).text

    played(story, tmp_path)


def test_one_that_no_longer_repeats_says_so(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("create_reminder", message="fichar", time="de lunes a viernes a las 8:00")
        id_ = id_of(told)
        told = await do("update_reminder", id=id_, time="mañana a las 8:30")
        assert "Ya no se repite (antes, con el cron `0 8 * * 1-5`)" in told.text
        told = await do("update_reminder", id=id_, time="mañana a las 9:30")
        assert "Ya no se repite" not in told.text
        await do("update_reminder", id=id_, time="cada 2 horas")
        told = await do("update_reminder", {"locale": "en"}, id=id_, time="tomorrow at 9:30")
        assert "It no longer repeats (before, every 2 hours)" in told.text
        told = await do("update_reminder", id=id_, message="fichar ya")
        assert "Ya no se repite" not in told.text

    played(story, tmp_path)


def test_again_in_ten_minutes_means_the_one_that_has_just_fired(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        id_ = id_of(await do("create_reminder", message="regar", time="en 5 segundos"))
        await trio.sleep(6)
        now = {"received_at": do.ctx.clock.now()}
        told = await do("snooze_reminder", now, time="en 10 minutos")
        assert told.text == (
            f"Hecho: «regar», hoy 2026-11-30 a las 15:54:08 (Europe/Madrid). [{id_}]"
        )
        assert not (await do("snooze_reminder", {**now, "user": "@luis"}, time="en 1 hora")).ok

    played(story, tmp_path)


def test_a_recurring_one_is_said_once_more_and_stays_as_it_was(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        id_ = id_of(await do("create_reminder", message="standup", cron="0 10 * * 1"))
        told = await do("snooze_reminder", id=id_, time="en 10 minutos")
        assert told.ok and f"El que se repite [{id_}] sigue como estaba." in told.text
        lines = (await do("list_reminders")).text.splitlines()
        assert [line.rpartition("(")[2] for line in lines[1:]] == ["one-shot)", "recurrente)"]

    played(story, tmp_path)


def test_a_paused_one_is_marked_in_the_list_until_it_is_resumed(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        id_ = id_of(await do("create_reminder", message="standup", cron="0 10 * * 1"))
        told = await do("pause_reminder", id=id_)
        assert told.text == (f"En pausa: «standup». No avisaré hasta que se reanude. [{id_}]")
        assert (await do("list_reminders")).text.splitlines() == [
            "Recordatorios de esta sala, activos 0, en pausa 1 (hora de Europe/Madrid):",
            f"1. [{id_}] standup — 2026-12-07 10:00 (recurrente, en pausa)",
        ]
        told = await do("resume_reminder", id=id_)
        assert told.text == (
            "Sigue en marcha: «standup»; la próxima vez, 2026-12-07 a las 10:00 (Europe/Madrid). "
            f"[{id_}]"
        )

    played(story, tmp_path)


@pytest.mark.promise("P9")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("update_reminder", {"time": "en 20 minutos"}),
        ("snooze_reminder", {"time": "en 20 minutos"}),
        ("pause_reminder", {}),
        ("resume_reminder", {}),
    ],
)
def test_a_repeated_change_has_its_effect_once(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    async def story(do: World) -> None:
        id_ = id_of(await do("create_reminder", message="x", cron="0 10 * * 1"))
        same = {"idempotency_key": "turn:1"}
        first = await do(name, same, id=id_, **arguments)
        listed = (await do("list_reminders")).text
        again = await do(name, same, id=id_, **arguments)
        assert first.ok and again.ok
        assert (await do("list_reminders")).text == listed

    played(story, tmp_path)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("delete_reminder", {}),
        ("update_reminder", {"message": "y"}),
        ("snooze_reminder", {"time": "en 1 hora"}),
        ("pause_reminder", {}),
        ("resume_reminder", {}),
        ("unfollow_reminder", {}),
    ],
)
def test_no_tool_reaches_another_room_or_a_schedule(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    async def story(do: World) -> None:
        id_ = id_of(await do("create_reminder", message="x", time="en 5 minutos"))
        before = (await do("list_reminders")).text
        assert not (await do(name, {"room": "#otra"}, id=id_, **arguments)).ok
        for job in ("asistente/diario", "R7", "' OR 1=1 --"):
            assert not (await do(name, id=job, **arguments)).ok
        assert (await do("list_reminders")).text == before

    played(story, tmp_path)


# -- zones ----------------------------------------------------------------------------------------


def test_a_persons_zone_decides_what_a_time_means(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("set_timezone", zone="Tokio")
        assert told.text.startswith("Tu zona horaria es ahora Asia/Tokyo: allí son las 23:44.")
        told = await do("create_reminder", message="x", time="mañana a las 9")
        assert "mañana 2026-12-01 a las 09:00 (Asia/Tokyo)" in told.text
        told = await do("create_reminder", {"user": "@luis"}, message="x", time="mañana a las 9")
        assert "(Europe/Madrid)" in told.text
        told = await do("set_timezone", {"user": "@luis"}, zone="America/New_York", whole_room=True)
        assert "La zona horaria de esta sala es ahora America/New_York" in told.text
        told = await do("create_reminder", {"user": "@luis"}, message="x", time="mañana a las 9")
        assert "(America/New_York)" in told.text
        other = {"user": "@luis", "room": "#otra"}
        told = await do("create_reminder", other, message="x", time="mañana a las 9")
        assert "(Europe/Madrid)" in told.text

    played(story, tmp_path)


def test_an_unknown_zone_is_an_error_with_a_hint(tmp_path: Path) -> None:
    async def story(do: World) -> None:
        told = await do("set_timezone", zone="Europe/Madird")
        assert not told.ok and "Europe/Madrid" in told.text

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
                timezone=None,
                locale="es",
                idempotency_key="slot-1-call-1",
                max_per_room=3,
                origin="$1",
            ),
        )
    ]


def test_the_examples_prompt_tells_a_model_of_every_reminder_tool() -> None:
    folder = Path(__file__).parents[2] / "config" / "example" / "agents"
    prompt = (folder / "asistente" / "prompt.md").read_text()
    for name in BOX.names():
        assert f"`{name}`" in prompt, name
