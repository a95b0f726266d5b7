"""The agent loop: takes turns and tasks from its mailbox, serial per room or task only."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import attrs
import structlog
import trio

from actors.failures import cancel_reason, cleanup, error_text, has_cancel
from actors.lanes import Job, Lane, RunningTurn
from actors.llm.protocol import ModelError
from actors.thinking import AgentServices, TurnFailed
from actors.turn import run_task, run_turn, turn_key
from actors.turns import CRASH, RESTART
from channels.bus import lane
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import BusError, RemoteError
from channels.inbox import Slot
from channels.mailbox import Inbox, Message
from channels.messages import (
    ControlMessage,
    RunningTurns,
    RunTurn,
    StopReason,
    Task,
    TaskResult,
    TurnEnd,
    TurnEnded,
)
from config.schema import AgentConfig

__all__ = ["AgentLoop", "LoopGivesUp", "RunningTurn"]

declare_crash_points("turn.before_report", "turn.after_report", "agent.before_turn")

ORCHESTRATOR: Final = "orchestrator"
TURNS: Final = "turns"  # the topic on which every end of an attempt is published
FAILURES_IN_ROW: Final = 5
SEEN_CONTROLS: Final = 256

_log = structlog.get_logger("actors.agent")


class LoopGivesUp(Exception):
    """So many turns failed in a row that the fault is likely the agent's own: let it restart."""


@attrs.define(eq=False)
class AgentLoop:
    """The actor at "<id>". One object is one generation.

    `own_user` is the agent's user id in its rooms. The loop closes `services.provider` at its end.
    """

    config: AgentConfig
    services: AgentServices
    own_user: str = ""
    _lanes: dict[str, Lane] = attrs.field(init=False, factory=dict)
    _nursery: trio.Nursery = attrs.field(init=False)
    _changed: trio.Event = attrs.field(init=False, factory=trio.Event)
    _failed_in_row: int = attrs.field(init=False, default=0)
    _draining: bool = attrs.field(init=False, default=False)
    _controls_seen: dict[str, None] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.own_user = self.own_user or self.config.id

    # -- life ---------------------------------------------------------------------------------

    async def run(
        self, inbox: Inbox, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Work until drained and the running turns are done, or until cancelled.

        A cancel stops every turn (nothing of it begins any more) and gives its slot back, in at
        most two seconds. Raises LoopGivesUp after `FAILURES_IN_ROW` failed turns.
        """
        try:
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self._hear_controls, inbox)
                self._nursery.start_soon(self._notice_drain, inbox)
                task_status.started()
                async for message in inbox:
                    try:
                        await self._take(message)
                    except trio.Cancelled:
                        inbox.requeue(message)  # not begun: the next generation's
                        raise
                    await self._room_for_more()
                await self._finish()
                self._nursery.cancel_scope.cancel(reason="drained")
        finally:
            async with cleanup(self.config.id):
                await self._hand_back(inbox)
            async with cleanup(self.config.id):
                await self.services.provider.aclose()

    def statistics(self) -> tuple[RunningTurn, ...]:
        """Return the turns and tasks at work, oldest first."""
        running = [
            RunningTurn(job.room, job.started, job.slot.id if job.slot else None)
            for each in self._lanes.values()
            if (job := each.running) is not None and job.started is not None
        ]
        return tuple(sorted(running, key=lambda turn: turn.started))

    def status(self) -> dict[str, Any]:
        """Return what `agentctl status` shows of the loop."""
        return {
            "turns": [{"room": turn.room, "started": turn.started} for turn in self.statistics()],
            "waiting": sum(len(each.waiting) for each in self._lanes.values()),
            "failed_in_row": self._failed_in_row,
        }

    async def idle(self, lane: str) -> None:
        """Wait for the end of the turn or task that runs in a lane ("<id>/<room>") now, if any."""
        own = self._lanes.get(lane)
        job = None if own is None else own.running
        while own is not None and job is not None and own.running is job:
            await self._changed.wait()

    async def _notice_drain(self, inbox: Inbox) -> None:
        await inbox.wait_draining()
        self._draining = True
        self._wake()

    async def _finish(self) -> None:
        """Wait for the turns that run; those that wait in their lanes do not begin any more."""
        self._draining = True
        while any(each.running for each in self._lanes.values()):
            await self._changed.wait()

    async def _room_for_more(self) -> None:
        """Leave further messages in the mailbox while as many turns wait here as it may hold."""
        while self._held() >= self.config.mailbox_capacity and not self._draining:
            await self._changed.wait()

    def _held(self) -> int:
        return sum(1 for each in self._lanes.values() for _ in each.jobs())

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _hand_back(self, inbox: Inbox) -> None:
        """Give back what was taken and never begun: slots for a decision, asks to the mailbox."""
        waiting = [job for each in self._lanes.values() for job in each.waiting]
        for job in reversed(waiting):
            if job.message is not None and job.message.wants_reply:
                inbox.requeue(job.message)
        for job in waiting:
            if job.slot is not None:
                await self._release(job.slot, RESTART)
        self._lanes.clear()

    # -- taking -------------------------------------------------------------------------------

    async def _take(self, message: Message) -> None:
        match message.body:
            case RunTurn(slot_id=slot_id, attempt=attempt):
                await self._take_turn(slot_id, attempt)
            case Task(task_id=task_id, room=room):
                name = f"{self.config.id}/{task_id}"
                self._enqueue(Job(name, room, message=message))
            case RunningTurns():
                message.reply(self._attempts())
            case other:
                text = f"{self.config.id} does not understand {type(other).__name__}"
                if not message.fail(RemoteError(text)):
                    _log.warning("message_not_understood", agent=self.config.id, text=text)

    async def _take_turn(self, slot_id: int, attempt: int) -> None:
        slot = await self.services.inbox.slot(slot_id)
        held = (slot_id, attempt) in self._attempts()
        if slot is None or held or not self._is_mine(slot, attempt):
            _log.debug("turn_not_mine", agent=self.config.id, slot=slot_id, attempt=attempt)
            return
        self._enqueue(Job(f"{self.config.id}/{slot.room}", slot.room, slot=slot))

    def _is_mine(self, slot: Slot, attempt: int) -> bool:
        return (
            slot.state == "dispatched" and slot.attempt == attempt and slot.agent == self.config.id
        )

    def _attempts(self) -> tuple[tuple[int, int], ...]:
        return tuple(
            (job.slot.id, job.slot.attempt)
            for each in self._lanes.values()
            for job in each.jobs()
            if job.slot is not None
        )

    def _enqueue(self, job: Job) -> None:
        known = self._lanes.get(job.lane)
        if known is not None:
            known.waiting.append(job)
            return
        self._lanes[job.lane] = Lane(deque([job]))
        self._nursery.start_soon(self._run_lane, job.lane, name=job.lane)

    async def _run_lane(self, name: str) -> None:
        """Run a lane's jobs one after another. A job that is cut off leaves the others waiting."""
        own = self._lanes[name]
        with lane(name):
            while own.waiting and not self._draining:
                own.running = own.waiting.popleft()
                own.running.started = self.services.clock.now()
                try:
                    await self._run_job(own.running)
                finally:
                    own.running = None
                    self._wake()
        if not own.waiting:
            del self._lanes[name]

    async def _run_job(self, job: Job) -> None:
        if job.slot is not None:
            await self._run_turn(job, job.slot)
        elif job.message is not None:
            await self._run_task(job, job.message)

    # -- turns --------------------------------------------------------------------------------

    async def _run_turn(self, job: Job, slot: Slot) -> None:
        try:
            end, detail = await self._attempt(job, slot)
        except BaseException:
            reason = await cancel_reason()
            if reason is not None:  # the whole loop is being stopped
                async with cleanup(self.config.id):
                    await self._release(slot, reason)
            raise
        crash_point("turn.before_report")
        await self._report(TurnEnded(self.config.id, slot.id, slot.attempt, end, detail))
        crash_point("turn.after_report")
        self._count(end)

    async def _attempt(self, job: Job, slot: Slot) -> tuple[TurnEnd, str]:
        """Run the turn; what goes wrong in it ends it, and nothing else, and is written down."""
        end, detail = TurnEnd.INTERRUPTED, ""
        job.scope.deadline = trio.current_time() + self.config.turn_seconds
        try:
            with job.scope:
                crash_point("agent.before_turn")
                end = await run_turn(self.config, self.services, slot, own_user=self.own_user)
        except BaseException as error:
            if has_cancel(error) or not isinstance(error, Exception):
                raise
            end, detail = TurnEnd.RAISED, error_text(error)
            _log.error("turn_failed", agent=self.config.id, slot=slot.id, **_shown(error))
        if job.scope.cancelled_caught:
            return await self._stopped_or_late(job, slot)
        if end is TurnEnd.RAISED:
            await self.services.inbox.fail_attempt(slot.id, slot.attempt, detail)
        return end, detail

    async def _stopped_or_late(self, job: Job, slot: Slot) -> tuple[TurnEnd, str]:
        if job.stopped:
            ending = self.services.journal.ending(turn_key(slot.id), "")
            async with cleanup(self.config.id):  # a reload in the same instant must not revive it
                await self.services.inbox.decline(slot.id, slot.attempt, "stopped", also=ending)
            return TurnEnd.DECLINED, "stopped"
        detail = f"no answer within {self.config.turn_seconds:g} s"
        _log.error("turn_timed_out", agent=self.config.id, slot=slot.id)
        await self.services.inbox.fail_attempt(slot.id, slot.attempt, detail)
        return TurnEnd.RAISED, detail

    async def _release(self, slot: Slot, reason: str) -> None:
        inbox, end = self.services.inbox, TurnEnd.INTERRUPTED
        if await inbox.release(slot.id, slot.attempt, reason, crashed=reason == CRASH):
            await self._report(TurnEnded(self.config.id, slot.id, slot.attempt, end, reason))

    async def _report(self, ended: TurnEnded) -> None:
        self.services.bus.publish(TURNS, ended)
        await self._tell_orchestrator(ended)

    async def _tell_orchestrator(self, body: Any) -> None:
        """Say what the database already knows; the orchestrator finds it there if this is lost."""
        try:
            await self.services.bus.tell(ORCHESTRATOR, body)
        except BusError as error:
            _log.warning("orchestrator_not_told", agent=self.config.id, error=str(error))

    def _count(self, end: TurnEnd) -> None:
        self._failed_in_row = self._failed_in_row + 1 if end is TurnEnd.RAISED else 0
        if self._failed_in_row >= FAILURES_IN_ROW:
            self._nursery.cancel_scope.cancel(reason=RESTART)
            raise LoopGivesUp(f"{self._failed_in_row} turns failed in a row")

    # -- tasks --------------------------------------------------------------------------------

    async def _run_task(self, job: Job, message: Message) -> None:
        task: Task = message.body
        if not message.wants_reply:
            return
        seconds = min(task.timeout, self.config.turn_seconds)
        job.scope.deadline = trio.current_time() + seconds
        failure = f"{self.config.id} gave no answer within {seconds:g} s"
        try:
            with job.scope:
                message.reply(
                    TaskResult(await run_task(self.config, self.services, task), self.config.id)
                )
                return
        except BaseException as error:
            if has_cancel(error) or not isinstance(error, Exception):
                raise
            failure = f"{self.config.id}: {error_text(error)}"
            _log.error("task_failed", agent=self.config.id, task=task.task_id, **_shown(error))
        message.fail(RemoteError(f"{self.config.id}: stopped" if job.stopped else failure))

    # -- control ------------------------------------------------------------------------------

    async def _hear_controls(self, inbox: Inbox) -> None:
        async for message in inbox.control:
            if isinstance(message.body, ControlMessage):
                self._control(message.body)

    def _control(self, control: ControlMessage) -> None:
        """Obey once per event, whichever connections have told it."""
        if control.event_id and control.event_id in self._controls_seen:
            return
        self._controls_seen[control.event_id] = None
        if len(self._controls_seen) > SEEN_CONTROLS:
            del self._controls_seen[next(iter(self._controls_seen))]
        if control.verb == "stop":
            self._stop_room(control.room)
        else:
            _log.info("nothing_to_confirm", agent=self.config.id, verb=control.verb)

    def _stop_room(self, room: str) -> None:
        for each in self._lanes.values():
            job = each.running
            if job is not None and job.room == room:
                job.stopped = True
                job.scope.cancel(reason=StopReason.STOPPED.value)


def _shown(error: Exception) -> dict[str, Any]:
    """How the log shows an error: what was expected to fail in a sentence, a bug with its trace."""
    if isinstance(error, ModelError | TurnFailed):
        return {"error": error_text(error)}
    return {"exc_info": error}
