"""After a downtime a room hears one message instead of many; each reminder is still accounted for.

Exactly once, wherever the scheduler dies on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from channels.messages import Sent
from cronactor.catchup import Plan
from cronactor.digest import MAX_BYTES, digests
from cronactor.ledger import Entry
from cronactor.messages import ListRuns
from cronactor.reminder import Reminder
from supervisor.testkit.crashes import Crash, armed
from tests.cronactor.world import World, quick_folder

pytestmark = pytest.mark.promise("P2")

NOW = 1_775_000_000.0


async def three(world: Any) -> list[str]:
    """Three reminders of one room and one of another, all due within five minutes."""
    async with world.running():
        added = [
            await world.add("en 1 minuto", "regar", idempotency_key="1"),
            await world.add("en 3 minutos", "podar", user="@luis", idempotency_key="2"),
            await world.add("en 5 minutos", "barrer", idempotency_key="3"),
            await world.add("en 2 minutos", "otra cosa", room="#otra", idempotency_key="4"),
        ]
    return [one.reminder.id for one in added]


async def test_late_reminders_of_a_room_are_one_message_that_says_how_late_each_is(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        await three(world)
        await trio.sleep(3600)
        async with world.running():
            await trio.sleep(1)
            rows = await world.rows()
    digest, single = sorted(rows, key=lambda row: -len(row.content["body"]))
    assert digest.content["body"].splitlines() == [
        "⏰ 3 recordatorios que no se dijeron a su hora:",
        "1. @ana regar — hoy 2026-04-09 16:01 (Europe/Madrid) (con 59 minutos de retraso)",
        "2. @luis podar — hoy 2026-04-09 16:03 (Europe/Madrid) (con 57 minutos de retraso)",
        "3. @ana barrer — hoy 2026-04-09 16:05 (Europe/Madrid) (con 55 minutos de retraso)",
    ]
    assert digest.content["m.mentions"] == {"user_ids": ["@ana", "@luis"]}
    assert (single.room, single.content["body"][:30]) == (
        "#otra",
        "⏰ @ana Recordatorio: otra cosa"[:30],
    )


async def test_each_reminder_of_a_digest_has_one_outcome_and_the_digests_event_id(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        ids = await three(world)
        await trio.sleep(3600)
        async with world.running():
            await trio.sleep(1)
            for row in await world.rows():
                world.bus.publish("sent", Sent(row.agent, row.room, row.txn_id, f"${row.room}"))
            await trio.sleep(1)
            runs = {run.schedule_id: run for run in await world.ask(ListRuns())}
        kept = [await world.store.get(id) for id in ids]
    assert [runs[id].outcome for id in ids] == ["fired"] * 4
    assert [runs[id].event_id for id in ids] == ["$#taller"] * 3 + ["$#otra"]
    assert {one.state for one in kept} == {"fired"}
    assert runs[ids[0]].reason == "caught up: late by 59 minutes; said together with 2 more"


async def test_on_time_or_alone_a_reminder_is_said_as_ever(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        await three(world)
        await trio.sleep(230)
        async with world.running():
            await trio.sleep(100)
            said = await world.said()
    assert sorted(said) == [
        "⏰ @ana Recordatorio: barrer",
        "⏰ @ana Recordatorio: otra cosa (con 1 minuto y 50 segundos de retraso)",
        "⏰ @ana Recordatorio: regar (con 2 minutos y 50 segundos de retraso)",
        "⏰ @luis Recordatorio: podar",
    ]


@pytest.mark.parametrize(
    ("spoil", "outcome"),
    [
        ("timezone = 'Mars/Olympus'", "fired"),
        ("locale = 'xx'", "fired"),
        ("message = x'00ff'", "fired"),
        ("followers = x'00'", "failed"),
    ],
)
async def test_one_with_a_bad_row_does_not_silence_the_digest(
    world: Any, spoil: str, outcome: str, autojump_clock: MockClock
) -> None:
    async with world:
        ids = await three(world)
        sql = f"UPDATE reminders SET {spoil} WHERE id = '{ids[0]}'"
        await world.store._db.write(lambda db: db.conn.execute(sql).rowcount)
        await trio.sleep(3600)
        async with world.running():
            await trio.sleep(1)
            said = "\n".join(await world.said())
            (run,) = await world.ask(ListRuns(ids[0]))
    assert "podar" in said and "barrer" in said
    assert run.outcome == outcome


def entry(n: int, message: str = "regar", room: str = "#taller", late: float = 3600) -> Entry:
    due = NOW - late - n
    reminder = Reminder(
        id=f"r{n}",
        agent="asistente",
        room=room,
        user="@ana",
        message=message,
        timezone="UTC",
        locale="es",
        created_at=due - 60,
        next_due=due,
    )
    return Entry(reminder, due, Plan((due,), None, None))


def test_a_digest_has_the_same_name_whoever_plans_it_and_in_whatever_order() -> None:
    entries = [entry(n) for n in range(5)]
    named = digests(entries, NOW)
    again = digests(list(reversed(entries)), NOW + 5)
    assert len({one.txn_id for one in named}) == 1
    assert named[0].txn_id.startswith("occ-")
    assert list(reversed(again)) == named
    assert digests(entries[:4], NOW)[0].txn_id != named[0].txn_id


def test_what_would_be_too_long_is_several_digests() -> None:
    named = digests([entry(n, "á" * 2000) for n in range(39)], NOW)
    names = {one.txn_id for one in named}
    assert "" not in names
    for name in names:
        together = [one for one in named if one.txn_id == name]
        assert sum(len(one.job.message.encode()) for one in together) <= MAX_BYTES  # type: ignore[union-attr]
    assert len(names) == 13


def test_only_late_reminders_of_one_room_are_said_together() -> None:
    named = digests([entry(0), entry(1, room="#otra"), entry(2, late=30), entry(3, late=10)], NOW)
    assert [one.txn_id for one in named] == [""] * 4


# -- exactly once ---------------------------------------------------------------------------------


async def downtime(world: Any) -> None:
    async with world:
        if not await world.store.listed(all=True):
            await three(world)
            await trio.sleep(3600)
        async with world.running():
            await trio.sleep(30)


async def check(world: Any) -> None:
    async with world:
        assert await world.store.ledger.unfinished() == ()
        said = await world.said()
        runs = await world.store.ledger.runs(limit=100)
    assert len(said) == 2
    assert sum(text.count("regar") + text.count("podar") for text in said) == 2
    assert sorted((run.outcome, run.count) for run in runs) == [("fired", 1)] * 4


def story(point: str, nth: int) -> bool:
    """Strike at the n-th pass of a point after the downtime; False when it was never reached."""
    with quick_folder() as folder:
        return told(World(folder), point, nth)


def told(world: World, point: str, nth: int) -> bool:

    async def main() -> bool:
        async with world:
            await three(world)
        await trio.sleep(3600)
        with armed(point, nth=nth) as log:
            try:
                await downtime(world)
            except BaseExceptionGroup as group:
                assert all(isinstance(error, Crash) for error in leaves(group))
                await trio.sleep(2)
                await downtime(world)
        await check(world)
        return log.passes[point] >= nth

    return trio.run(main, clock=MockClock(autojump_threshold=0))


POINTS = [
    "scheduler.before_claim",
    "scheduler.after_claim",
    "scheduler.before_send",
    "scheduler.after_send",
    "scheduler.after_record",
    "database.before_commit",
    "database.after_commit",
]


@pytest.mark.parametrize("point", POINTS)
def test_a_digest_appears_once_wherever_the_scheduler_dies(
    point: str, figures: Callable[..., None]
) -> None:
    nth = 1
    while story(point, nth):
        nth += 1
    assert nth > 1
    figures(point=point, passes=nth - 1)


def leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error
