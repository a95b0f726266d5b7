"""Hostile input: a clear error where somebody asked, and everybody else's reminders on time."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from channels.errors import RemoteError
from channels.local_store import RoomError
from channels.messages import TaskResult
from config.schema import ScheduleConfig
from cronactor.messages import (
    ListReminders,
    ListRuns,
    SchedulerRefused,
    ScheduleSet,
    SetZone,
    SnoozeReminder,
    UpdateReminder,
    Which,
    ZoneOf,
)
from cronactor.phrases import At, Cron, Every, When
from supervisor.testkit.house import make_workspace, open_house
from tests.cronactor.world import ROOM

pytestmark = pytest.mark.promise("P2", "P7")

MakeSchedule = Callable[..., ScheduleConfig]

TIMES: list[str | When] = [
    "x" * 15_000,
    "1," * 7500 + "1 * * * *",
    "*/1" * 5000 + " * * * *",
    "en " + "9" * 15_000 + " minutos",
    "mañana " * 2000 + "a las 9",
    "lunes," * 2500 + " a las 9",
    "en 5 minutos\x00",
    "0 9 * * 1\x00",
    "\u202een 5 minutos",
    "mañana a las \u200f9",
    "en 5 minutos\ud800",
    "\ud800 9 * * 1",
    "en -5 minutos",
    "in -0.5 hours",
    "en 1e308 horas",
    "en NaN horas",
    "cada -2 horas",
    "cada 0 segundos",
    "cada 99999999999999 horas",
    "9999-12-31 23:59",
    "9999-12-31T23:59:59.999999+00:00",
    "0001-01-01 00:00",
    "el 1 de enero de 9999 a las 10:00",
    "10000-01-01 09:00",
    "2026-04-10T09:00:00+99:99",
    "\n" * 15_000,
    "",
    At(math.nan),
    At(math.inf),
    At(-math.inf),
    At(-1e300),
    At(253402300800.0),  # the year 10000
    Every(-60.0),
    Every(0.0),
    Every(math.inf),
    Every(1e300),
    Cron("*/5 * * * * * *"),
    Cron("1," * 7500 + "1 * * * *"),
]


ZONES = [
    "Mars/Olympus",
    "../../etc/passwd",
    "/etc/passwd",
    "Europe/Madrid\x00",
    "\u202eEurope/Madrid",
    "Europe/\ud800",
    "Europe",
    "localtime",
    " ",
    "x" * 15_000,
]


def name_of(value: object) -> str:
    return ascii(value)[1:-1][:24]


def refusal(caught: pytest.ExceptionInfo[SchedulerRefused]) -> str:
    """The error, which must be short and harmless to show."""
    text = str(caught.value)
    assert 0 < len(text) < 500 and text.isprintable(), ascii(text[:500])
    return text


async def test_no_time_however_strange_is_kept_or_delays_anybody(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        good = await world.add("en 10 segundos", "bueno")
        which = Which(ROOM, "@ana", id=good.reminder.id)
        for when in TIMES:
            with pytest.raises(SchedulerRefused) as caught:
                await world.add(when, "malo")
            assert refusal(caught)
            update = UpdateReminder(which, world.clock.now(), when=when)
            for request in (update, SnoozeReminder(which, when, world.clock.now())):
                with pytest.raises(SchedulerRefused) as caught:
                    await world.ask(request)
                assert refusal(caught)
        assert await world.ask(ListReminders()) == (good.reminder,)
        await trio.sleep(11)
        (row,) = await world.rows()
        assert "bueno" in row.content["body"]
        assert good.due <= row.created_at < good.due + 0.1


@pytest.mark.parametrize("zone", ZONES, ids=name_of)
async def test_no_zone_however_absurd_is_taken(
    world: Any, zone: str, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        before = await world.ask(ZoneOf("@ana", ROOM))
        for request in (SetZone(zone, user="@ana"), SetZone(zone, room=ROOM)):
            with pytest.raises(SchedulerRefused) as caught:
                await world.ask(request)
            assert refusal(caught)
        with pytest.raises(SchedulerRefused) as caught:
            await world.add("mañana a las 9", timezone=zone)
        assert refusal(caught)
        assert await world.ask(ZoneOf("@ana", ROOM)) == before
        assert await world.ask(ListReminders()) == ()


@pytest.mark.parametrize("field", ["agent", "room", "user", "idempotency_key", "origin"])
@pytest.mark.parametrize("text", ["a\ud800", "a\x00b", "x" * 1_000_000], ids=name_of)
async def test_a_strange_caller_ends_nothing_and_delays_nobody(
    world: Any, field: str, text: str, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        good = await world.add("en 10 segundos", "bueno")
        try:
            await world.add("en 10 segundos", "raro", **{field: text})
        except (SchedulerRefused, RemoteError) as error:
            assert 0 < len(str(error)) < 500
        await trio.sleep(11)
        rows = [row for row in await world.rows() if "bueno" in row.content["body"]]
        assert [good.due <= row.created_at < good.due + 0.1 for row in rows] == [True]
        assert await world.add("en 5 segundos")


async def test_a_template_that_a_link_leads_outside_is_never_read(
    world: Any, schedule: MakeSchedule, tmp_path: Path, autojump_clock: MockClock
) -> None:
    secret = tmp_path.parent / f"{tmp_path.name}-secret.md"
    secret.write_text("secreto")
    (tmp_path / "crons").mkdir()
    (tmp_path / "crons" / "link.md").symlink_to(secret)
    (tmp_path / "crons" / "folder").symlink_to(tmp_path.parent)
    os.mkfifo(tmp_path / "crons" / "pipe.md")
    templates = ["../../etc/passwd", "/etc/passwd", "crons/link.md", f"crons/folder/{secret.name}"]
    templates += ["crons", "crons/pipe.md", "crons/\x00", "x" * 15_000]
    made = [
        schedule(f"n{n}", "* * * * *", kind="llm_prompt", message=None, prompt_template=template)
        for n, template in enumerate(templates)
    ]

    async def answer(message: Any) -> None:
        message.reply(TaskResult(message.body.text, "asistente"))

    async with world, world.agent("asistente", answer) as asked, world.running():
        await world.ask(ScheduleSet("asistente", (*made, schedule("buena", "* * * * *"))))
        await trio.sleep(61)
        runs = {run.schedule_id: run for run in await world.ask(ListRuns())}
        assert await world.said() == ["hola"]
    good = runs.pop("asistente/buena")
    assert (good.outcome, good.finished - good.scheduled_at < 0.5) == ("fired", True)
    assert asked == []
    assert len(runs) == len(templates)
    assert {run.outcome for run in runs.values()} == {"failed"}
    assert all("prompt_template" in run.reason and len(run.reason) < 500 for run in runs.values())


async def test_a_store_that_is_damaged_is_set_aside_and_the_house_goes_on_and_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    workspace = make_workspace(tmp_path / "w")
    damaged = workspace.root / "data" / "reminders.db"
    damaged.write_bytes(b"\x00\xff no database" * 4096)
    before = damaged.read_bytes()
    async with open_house(workspace) as house:
        problems = (await house.household.house.status()).problems
        room = house.room()
        await room.say("@asistente recuérdame en 5 segundos que riegue")
        await room.wait_for("asistente", 2)
        assert await room.said_by("asistente") != []
    (kept,) = damaged.parent.glob("reminders.db.corrupt-*")
    assert kept.read_bytes() == before
    assert any(kept.name in problem for problem in problems)


async def test_a_megabyte_from_a_person_gets_an_answer_and_delays_nobody(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "w")) as house:
        room = house.room()
        await room.say("@asistente recuérdame en 30 segundos que riegue")
        await room.wait_for("asistente", 1)
        (kept,) = await house.household.house.reminders(None, False)
        for n, text in enumerate(("recuérdame en 5 minutos ", "recuérdame cada ", "borra ")):
            with pytest.raises(RoomError, match="at most 65536"):
                await room.say(f"@asistente {text}" + "y " * 500_000, sender=f"luis{n}")
            await room.say(f"@asistente {text}" + "y " * 30_000, sender=f"luis{n}")
        said = await room.wait_for("asistente", 5)
        (spoken,) = (event for event in await room.history() if event.text.startswith("⏰"))
        assert kept.next is not None
        assert 0 <= spoken.ts - kept.next.timestamp() < 0.5
        assert all(len(text) < 2_000 for text in said)


# -- never early, all of them ------------------------------------------------------------------


async def test_nothing_is_early_by_any_fraction_of_a_second(
    world: Any, size: Callable[[int, int], int], autojump_clock: MockClock
) -> None:
    many = size(40, 1000)
    async with world, world.running():
        whole = math.floor(world.clock.now())
        for n in range(many):
            await world.add(
                "en 5 segundos", f"n{n:03}", received_at=whole + n / many, max_per_room=many
            )
        await trio.sleep(10)
        rows = await world.rows()
    late = [row.created_at - (whole + n / many + 5) for n, row in enumerate(rows)]
    assert [row.content["body"].rsplit(" ", 1)[-1] for row in rows] == [
        f"n{n:03}" for n in range(many)
    ]
    assert all(0 <= each < 0.01 for each in late), (min(late), max(late))


async def test_five_hundred_of_one_second_all_arrive_once_none_early(
    world: Any, size: Callable[[int, int], int], autojump_clock: MockClock
) -> None:
    many = size(500, 5000)
    async with world, world.running():
        due = math.floor(world.clock.now()) + 600.0
        for n in range(many):
            await world.add(At(due + (n % 10) / 10), f"n{n}", max_per_room=many)
        await trio.sleep(595)
        assert await world.rows() == ()
        await trio.sleep(10)
        rows = await world.rows()
        active = await world.ask(ListReminders())
    first = {row.content["body"].rsplit(" ", 1)[-1]: row.created_at for row in rows}
    assert (len(rows), len(first), active) == (many, many, ())
    assert all(0 <= first[f"n{n}"] - (due + (n % 10) / 10) < 1 for n in range(many))
