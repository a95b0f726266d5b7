"""A year of schedules and reminders in which much goes wrong: one outcome each, nothing twice.

Restarts, kills at crash points, downtimes, suspends and stepped clocks strike at random. In the end
what the ledger holds is compared, instant by instant, with the oracle of cron and with plain
multiplication for intervals.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import structlog
import trio
from trio.testing import MockClock

from channels.chain import read_stamp
from channels.database import Database
from channels.mailbox import Mailbox
from channels.messages import Sent
from config.schema import ScheduleConfig
from cronactor.jobs import Occurrence, Schedule
from cronactor.messages import ScheduleSet
from cronactor.phrases import At, Every
from cronactor.recurrence import parse_every
from cronactor.reminder import Reminder
from cronactor.scheduler import Scheduler
from supervisor.testkit.crashes import Crash, all_crash_points, armed
from tests.cronactor import oracle
from tests.cronactor.world import World

MakeSchedule = Callable[..., ScheduleConfig]
AGENT = "asistente"
DAY = 86400.0
HOUR = 3600.0
ZONES = ("Europe/Madrid", "America/New_York", "Australia/Lord_Howe")
POINTS = [
    name
    for name in all_crash_points()
    if name.startswith(("scheduler.", "database.")) and not name.endswith("_ask")
]


@attrs.define
class Story:
    """A stretch of wall time. `calm` is the mean time between two disturbances, in seconds.

    The scheduler looks at the clock every 30 s around a disturbance, and every `idle` seconds in
    between, where each look is known to find nothing.
    """

    world: World
    schedules: tuple[ScheduleConfig, ...]
    rng: random.Random
    seconds: float
    calm: float
    idle: float = 12 * HOUR
    jumps: tuple[float, ...] = (-HOUR, HOUR, -DAY, DAY)
    intervals: Mapping[str, float] = attrs.Factory(dict)  # message: seconds
    latest: float = 0.0  # the latest the clock ever said
    ended: float = 0.0  # what it said in the end; it may have been set back
    troubles: Counter[str] = attrs.Factory(Counter)

    async def tell(self) -> None:
        end = self.world.clock.now() + self.seconds
        while self.world.clock.now() < end:
            await self.generation(end)
            down = self.rng.choice([0.0, 2.0, 2.0, HOUR, 1.25 * self.jumps[-1]])
            await trio.sleep(down)
            self.world.epoch = self.rng.choice([self.world.epoch, f"epoch {self.rng.random()}"])
        async with self.living() as scheduler:
            await self.attentive(scheduler)
            self.ended = self.world.clock.now()

    async def generation(self, end: float) -> None:
        """One process: it lives through disturbances until it is stopped, cancelled or killed."""
        how = self.rng.choice(["drained", "cancelled", "crashed", "crashed"])
        if how != "crashed":
            with trio.CancelScope() as scope:
                async with self.living() as scheduler:
                    await self.disturbed(scheduler, end)
                    if how == "cancelled":
                        scope.cancel()
            self.troubles[how] += 1
            return
        point, nth = self.rng.choice(POINTS), self.rng.randint(1, 40)
        try:
            with armed(point, nth=nth):
                async with self.living() as scheduler:
                    await self.disturbed(scheduler, end)
        except BaseExceptionGroup as group:
            if group.split(Crash)[1] is not None:
                raise
            self.troubles[how] += 1
        except Crash:
            self.troubles[how] += 1

    @asynccontextmanager
    async def living(self) -> AsyncIterator[Scheduler]:
        async with self.world, self.connection(), self.world.running(wake=self.idle) as scheduler:
            await self.world.ask(ScheduleSet(AGENT, self.schedules))
            for message, seconds in self.intervals.items():
                zone = ZONES[len(message) % 3]
                await self.world.add(
                    Every(seconds), message, idempotency_key=message, timezone=zone
                )
            yield scheduler

    async def disturbed(self, scheduler: Scheduler, end: float) -> None:
        clock = self.world.clock
        for _ in range(self.rng.randint(1, 4)):
            if clock.now() >= end:
                return
            await trio.sleep(self.rng.expovariate(1 / self.calm))
            await self.attentive(scheduler)
            name, jump = self.rng.choice(
                [
                    ("suspended", self.rng.uniform(60, 2 * self.jumps[-1])),
                    *((f"{jump / HOUR:+g} h", jump) for jump in self.jumps),
                    ("calm", 0.0),
                ]
            )
            clock.base += jump
            self.troubles[name] += 1
            await trio.sleep(31)
            self.latest = max(self.latest, clock.now())
            scheduler.wake = self.idle

    async def attentive(self, scheduler: Scheduler) -> None:
        """From here on the scheduler looks every 30 s; a new reminder wakes it."""
        scheduler.wake = 30.0
        await self.remind_once()
        await trio.sleep(31)
        self.latest = max(self.latest, self.world.clock.now())

    async def remind_once(self) -> None:
        due = self.world.clock.now() + self.rng.uniform(60, 3 * DAY)
        await self.world.add(At(due, None), f"una vez {self.rng.random()}")

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[None]:
        """Send what is in the outbox whenever told to."""
        mailbox = Mailbox()
        self.world.bus.register(f"{AGENT}/connection", mailbox)
        inbox = mailbox.open_inbox()

        async def send() -> None:
            while True:
                for row in await self.world.outbox.pending(AGENT):
                    await self.world.outbox.mark_sent(row.id, f"$event{row.id}")
                    self.world.bus.publish(
                        "sent", Sent(AGENT, row.room, row.txn_id, f"$event{row.id}")
                    )
                await inbox.receive()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            yield
            nursery.cancel_scope.cancel()
        inbox.close()
        self.world.bus.unregister(f"{AGENT}/connection", "the generation ends")

    # -- afterwards -------------------------------------------------------------------------------

    async def checked(self) -> dict[str, object]:
        async with self.world:
            assert await self.world.store.ledger.unfinished() == ()
            runs = await self.world.store.ledger.runs(limit=10**7)
            reminders = await self.world.store.listed(all=True)
            schedules = await self.world.store.schedules()
            said = await everything_said(self.world)
        by_job: dict[str, list[Occurrence]] = {}
        for run in runs:
            by_job.setdefault(run.schedule_id, []).append(run)
        for schedule in schedules:
            self.check_job(schedule, by_job.pop(schedule.id, []))
        for reminder in reminders:
            self.check_job(reminder, by_job.pop(reminder.id, []))
        assert not by_job, "occurrences of nothing"
        fired = [run for run in runs if run.outcome == "fired"]
        assert all(run.txn_id in said for run in fired)
        assert sum(said.values()) == len(fired), "said twice, or never"
        outcomes = Counter[str]()
        for run in runs:
            outcomes[str(run.outcome)] += run.count
        return {**outcomes, **self.troubles}

    def check_job(self, job: Schedule | Reminder, runs: Sequence[Occurrence]) -> None:
        runs = sorted(runs, key=lambda run: run.scheduled_at)
        assert all(run.outcome is not None and run.reason is not None for run in runs)
        if isinstance(job, Reminder) and job.one_shot:
            if job.next_due is None:
                (run,) = runs
                assert (job.state, run.count) == (run.outcome, 1)
            else:
                assert not runs and job.next_due > self.ended
            return
        assert runs and job.next_due is not None
        first = runs[0].scheduled_at
        expected = list(expected_instants(job, first, job.next_due))
        assert expected[0] == first and expected[-1] == job.next_due, job.id
        assert len(expected) < 2 or expected[-2] <= self.latest + 1e-6, (job.id, "too far ahead")
        assert job.next_due > self.latest, (job.id, "left behind")
        covered = [instant for run in runs for instant in instants_of(run, expected)]
        assert covered == expected[:-1], job.id
        assert all(run.claimed_at >= run.scheduled_at for run in runs), "early"


def instants_of(run: Occurrence, expected: Sequence[float]) -> Sequence[float]:
    """The instants whose outcome a row of the ledger is."""
    low = bisect_left(expected, run.scheduled_at)
    high = bisect_right(expected, run.last_at or run.scheduled_at)
    found = expected[low:high]
    exact = "at least" not in run.reason
    assert found and found[0] == run.scheduled_at
    assert len(found) == run.count if exact else len(found) >= run.count, run
    return found


def expected_instants(job: Schedule | Reminder, first: float, last: float) -> Iterator[float]:
    """Every instant from `first` to `last`, both included, at which the job recurs."""
    cron = job.cron if isinstance(job, Reminder) else job.config.cron
    if cron is not None:
        expression = oracle.expression(cron)
        for minute in oracle.fires_between(expression, job.timezone, first - 1, last):
            yield minute * 60.0
        return
    every = job.every if isinstance(job, Reminder) else parse_every(str(job.config.every))
    assert every is not None and job.anchor is not None
    count = round((first - job.anchor) / every)
    while (instant := job.anchor + count * every) <= last:
        yield instant
        count += 1


async def everything_said(world: World) -> dict[str, int]:
    """How many occurrences each message speaks of, by transaction id; and each names its own."""

    def select(db: Any) -> list[tuple[str, str]]:
        return list(db.conn.execute("SELECT txn_id, content FROM outbox"))

    found: dict[str, int] = {}
    for txn_id, text in await world._state.read(select):
        content = json.loads(text)
        assert read_stamp(content) is not None
        lines = str(content["body"]).splitlines()
        found[txn_id] = max(1, len(lines) - 1)
    return found


def in_virtual_time(story: Story) -> dict[str, object]:
    async def main() -> dict[str, object]:
        await story.tell()
        return await story.checked()

    wrapper = structlog.make_filtering_bound_logger(50)
    before = structlog.get_config()
    structlog.configure(wrapper_class=wrapper, cache_logger_on_first_use=False)
    try:
        return trio.run(main, clock=MockClock(autojump_threshold=0))
    finally:
        structlog.configure(**before)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are not synced: no power fails here, and a year has many commits."""
    opened = Database.__init__

    def init(self: Database, path: Path, raw: Any, *rest: Any) -> None:
        raw.conn.execute("PRAGMA synchronous=OFF")
        opened(self, path, raw, *rest)

    monkeypatch.setattr(Database, "__init__", init)


@pytest.mark.promise("P2")
@pytest.mark.sweep
@pytest.mark.usefixtures("forgetful")
def test_a_year_of_daily_and_weekly_schedules_and_intervals_has_one_outcome_each(
    tmp_path: Path,
    schedule: MakeSchedule,
    seed: int,
    size: Callable[[int, int], int],
    figures: Callable[..., None],
) -> None:
    configs = []
    for number, zone in enumerate(ZONES):
        minute = 15 * number
        configs += [
            schedule(f"diario{number}", f"{minute} 2 * * *", timezone=zone, message=f"d{number}"),
            schedule(f"semanal{number}", "0 9 * * mon", timezone=zone, message=f"s{number}"),
        ]
    configs.append(
        schedule("todo", "30 9 * * 2,5", catch_up="all", catch_up_window_seconds=2 * DAY)
    )
    configs.append(schedule("turnos", every="40h", message="turno"))
    story = Story(
        World(tmp_path, options={"retention_days": 10_000.0}),
        tuple(configs),
        random.Random(seed),
        seconds=size(1, 3) * 365 * DAY,
        calm=size(8, 2) * DAY,
        intervals={"agua": 50 * HOUR, "riego": 5 * DAY},
    )
    figures(**in_virtual_time(story))


@pytest.mark.promise("P2")
@pytest.mark.sweep
@pytest.mark.usefixtures("forgetful")
def test_minutely_schedules_have_one_outcome_a_minute_across_clock_changes(
    tmp_path: Path,
    schedule: MakeSchedule,
    seed: int,
    size: Callable[[int, int], int],
    figures: Callable[..., None],
) -> None:
    configs = [
        schedule(f"minuto{n}", "* * * * *", timezone=zone, message=f"m{n}")
        for n, zone in enumerate(ZONES)
    ]
    world = World(tmp_path, options={"retention_days": 10_000.0})
    world.clock.base = oracle.turns("Europe/Madrid", 2026, 2026)[1] * 60 - 6 * HOUR
    story = Story(
        world,
        tuple(configs),
        random.Random(seed),
        seconds=size(1, 10) * DAY,
        calm=size(1, 4) * HOUR,
        idle=30.0,
        jumps=((-HOUR, HOUR), (-HOUR, HOUR, -DAY, DAY))[size(0, 1)],
    )
    figures(**in_virtual_time(story))
