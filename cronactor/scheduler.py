"""The scheduler actor: waits for what is due, claims it, has it done, and answers meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast
from uuid import uuid4

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import RemoteError
from channels.inbox import EventInbox
from channels.mailbox import Inbox, Message
from channels.outbox import Outbox
from cronactor.actions import Actions
from cronactor.agenda import Agenda
from cronactor.catchup import LateOneShots
from cronactor.claims import Claim, is_fixed
from cronactor.health import Health
from cronactor.hearing import Hearing
from cronactor.jobs import Job, Schedule, wake_at
from cronactor.ledger import Entry
from cronactor.messages import SCHEDULER, RunSchedule, SchedulerRefused, ScheduleSet
from cronactor.overlap import Runs
from cronactor.persist import BUSY, persist
from cronactor.planning import Planner, claim_each
from cronactor.reactions import Reactions
from cronactor.recovery import reconcile_events, recover
from cronactor.reminder import PREFIX, Reminder
from cronactor.requests import Requests
from cronactor.store import ReminderStore
from cronactor.texts import say
from cronactor.watch import Watch
from cronactor.zonebook import ZoneBook, no_zone

__all__ = ["SCHEDULER", "Scheduler"]

log = structlog.get_logger()

declare_crash_points("scheduler.before_claim", "scheduler.after_claim")

PROCESS = uuid4().hex
"""Names this process: the schedules it was given stay in force when only the scheduler restarts."""

BATCH = 1000
_SHORTEST = 0.0005
_PURGE_EVERY = 3600.0
_LOOK = 60.0
_LOOK_AGAIN = 5.0


@attrs.define(eq=False, kw_only=True)
class Scheduler:
    """Actor of the address `scheduler`; a new one is made for each generation.

    `late_one_shots`: what becomes of a one-shot whose time passed while nothing ran. `wake` is the
    longest sleep, in seconds, before the wall clock is read again: it may have jumped. `epoch`
    names the process; schedules wait for a ScheduleSet of their agent in each new one. `prefix`
    begins what a reminder says. `room_zone` gives the zone of a room's configuration, if any.
    `health` outlives it: what status and readiness know of time. With `inbox` it heeds reactions.

    Draining: no new claims, running actions finish. A cancel leaves what runs claimed without
    outcome; the next generation recovers it.
    """

    store: ReminderStore
    outbox: Outbox
    bus: Bus | None
    clock: WallClock
    workspace_root: Path
    timezone: str
    locale: str = "es"
    late_one_shots: LateOneShots = "deliver"
    retention_days: float = 30
    wake: float = 30.0
    min_interval: float = 60.0
    epoch: str = PROCESS
    prefix: str = PREFIX
    room_zone: Callable[[str], str | None] = no_zone
    health: Health = attrs.field(factory=Health)
    inbox: EventInbox | None = None
    _agenda: Agenda[Job] = attrs.field(init=False)
    _requests: Requests = attrs.field(init=False)
    _zones: ZoneBook = attrs.field(init=False)
    _watch: Watch = attrs.field(init=False)
    _actions: Actions = attrs.field(init=False)
    _runs: Runs = attrs.field(init=False)
    _planner: Planner = attrs.field(init=False)
    _nursery: trio.Nursery = attrs.field(init=False)
    _changed: trio.Event = attrs.field(init=False, factory=trio.Event)
    _draining: bool = attrs.field(init=False, default=False)
    _purged_at: float = attrs.field(init=False, default=float("-inf"))

    def __attrs_post_init__(self) -> None:
        self._zones = self.store.zonebook(self.timezone, self.room_zone)
        self._agenda = Agenda(self._poke, wake_at)
        self._watch = Watch(
            self.store, self._agenda, self.clock, self.health, self.epoch, self.timezone
        )
        self._requests = Requests(
            store=self.store,
            agenda=self._agenda,
            outbox=self.outbox,
            clock=self.clock,
            zones=self._zones,
            timezone=self.timezone,
            locale=self.locale,
            epoch=self.epoch,
            min_interval=self.min_interval,
        )

    async def run(
        self,
        inbox: Inbox,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until drained. Ready once what an earlier generation left open is taken up."""
        token = await self.store.ledger.begin()
        self._actions = Actions(
            ledger=self.store.ledger,
            outbox=self.outbox,
            bus=self.bus,
            clock=self.clock,
            workspace_root=self.workspace_root,
            token=token,
            prefix=self.prefix,
            health=self.health,
        )
        self._runs = Runs(self._actions.ask)
        self._planner = Planner(self._runs, self.late_one_shots, self.clock.now())
        await self._zones.load()
        await self._load()
        await self._watch.recall()
        async with trio.open_nursery() as listening:
            listening.start_soon(self._look, name="scheduler: look")
            if self.bus is not None:
                hearing = Hearing(
                    self.store.ledger,
                    self.bus,
                    self._actions.failed,
                    self._actions.worked,
                    self.health,
                )
                await listening.start(hearing.run)
                await self._heed_reactions(listening, self.bus)
            async with trio.open_nursery() as self._nursery:
                self._start(await recover(self.store, self.outbox, self._actions))
                self._nursery.start_soon(self._keep_time)
                task_status.started()
                async for message in inbox:
                    await self._handle(message)
                self._draining = True
                self._poke()
            listening.cancel_scope.cancel()

    async def _heed_reactions(self, nursery: trio.Nursery, bus: Bus) -> None:
        if self.inbox is None:
            return
        changing, flush = self._requests.changing, self._actions.flush
        reactions = Reactions(
            self.inbox, self.store, self.outbox, changing, bus, self.health, flush
        )
        await nursery.start(reactions.run, name="scheduler: reactions")

    async def _load(self) -> None:
        for reminder in await self.store.load_active():
            self._agenda.put(reminder.id, reminder.next_due, reminder)
        for schedule in await self.store.schedules(epoch=self.epoch):
            self._agenda.put(schedule.id, schedule.next_due, schedule)

    async def _handle(self, message: Message) -> None:
        try:
            if isinstance(message.body, RunSchedule):
                await self._run_now(message, message.body)
            else:
                answer = await self._requests.answer(message.body)
                if isinstance(message.body, ScheduleSet):
                    await self._recall_failures(cast("tuple[str, ...]", answer))
                message.reply(answer)
        except SchedulerRefused as refused:
            if not message.fail(refused):
                log.warning("request_refused", why=str(refused))
        except Exception as error:  # a bad request must not end the scheduler
            log.exception("request_failed", request=type(message.body).__name__)
            message.fail(RemoteError(f"the scheduler failed: {type(error).__name__}: {error}"))

    async def _run_now(self, message: Message, request: RunSchedule) -> None:
        job = self._agenda.get(request.id)
        if not isinstance(job, Schedule):
            raise SchedulerRefused(say("no_schedule", self.locale, id=request.id[:128]))
        if self._runs.busy(job.id) and job.config.overlap != "allow":
            raise SchedulerRefused(say("still_running", self.locale, id=job.id))
        now = self.clock.now()
        claim = Claim(await self.store.ledger.claim_now(self._actions.token, job, now), job)
        self._nursery.start_soon(self._run_and_reply, claim, message)

    async def _run_and_reply(self, claim: Claim, message: Message) -> None:
        if is_fixed(claim.job):
            await self._actions.deliver([claim])
        else:
            await self._runs.run(claim)
        at = claim.occurrence.scheduled_at
        message.reply(await self.store.ledger.get(claim.job.id, at))

    # -- time -------------------------------------------------------------------------------------

    def _poke(self) -> None:
        self._changed.set()

    async def _keep_time(self) -> None:
        """Claim what is due, then sleep until something may be: capped, for the clock may jump."""
        while not self._draining:
            self._changed = trio.Event()
            self._watch.tick()
            await self._fire_due()
            await self._purge()
            upcoming = self._agenda.next_due()
            now = self.clock.now()
            pause = self.wake if upcoming is None else min(upcoming - now, self.wake)
            with trio.move_on_after(max(pause, _SHORTEST)):
                await self._changed.wait()

    async def _fire_due(self) -> None:
        now = self.clock.now()
        due = self._agenda.take_due(now, BATCH)
        if not due:
            return
        entries = self._planner.entries(due, now)
        crash_point("scheduler.before_claim")
        claim = partial(claim_each, self.store.ledger, self._actions.token, entries, now)
        claimed, lost = await persist("claims", claim, self.health, BUSY)
        crash_point("scheduler.after_claim")
        jobs = {each.id: self._agenda.get(each.id) or each.item for each in due}
        for each, entry in zip(due, entries, strict=True):
            self._agenda.rearm(each, None if each.id in lost else entry.plan.next_due)
            self._tell_unfired(entry)
        self._start([Claim(occurrence, jobs[occurrence.schedule_id]) for occurrence in claimed])

    def _start(self, claims: Sequence[Claim]) -> None:
        """Begin claimed occurrences: fixed ones together, each model run in a task of its own."""
        fixed = [claim for claim in claims if is_fixed(claim.job)]
        if fixed:
            self._nursery.start_soon(self._actions.deliver, fixed, name="scheduler: deliver")
        self._runs.begin(self._nursery, (claim for claim in claims if not is_fixed(claim.job)))

    # -- housekeeping -----------------------------------------------------------------------------

    async def _purge(self) -> None:
        now = self.clock.now()
        if abs(now - self._purged_at) < _PURGE_EVERY:
            return
        self._purged_at = now
        sweep = partial(self.store.purge, now - self.retention_days * 86400)
        gone = await persist("purge", sweep, self.health)
        if gone:
            log.info("reminders_purged", rows=gone)
        await reconcile_events(self.store, self.outbox)

    async def _look(self) -> None:
        """Look after the invariant, apart from whoever keeps the time: that one may be stuck."""
        while True:
            await trio.sleep(_LOOK_AGAIN if self._watch.suspicious else max(self.wake, _LOOK))
            await self._watch.look()

    async def _recall_failures(self, ids: Sequence[str]) -> None:
        """Know again what failed the last time: it is not told twice, and its recovery is."""
        last = await self.store.ledger.latest(ids)
        for id, run in last.items():
            if run.outcome == "failed" and id not in self.health.failing:
                self.health.failed(id, run.reason, run.finished or run.claimed_at)

    def _tell_unfired(self, entry: Entry) -> None:
        id, missed = entry.job.id, entry.plan.missed
        if missed is not None:
            log.warning("occurrences_missed", id=id, count=missed.count, reason=missed.reason)
            self._actions.publish(id, "missed", missed.reason, missed.count)
        if entry.skip:
            count = len(entry.plan.fires) - entry.keep
            log.warning("schedule_skipped", id=id, count=count, reason=entry.skip)
            self._actions.publish(id, "skipped", entry.skip, count)
        if entry.fail:
            self._actions.failed(id, entry.fail)
            self._actions.publish(id, "failed", entry.fail)
        if isinstance(entry.job, Reminder) and not entry.plan.fires and entry.job.one_shot:
            log.info("reminder_auto_removed", id=id)
