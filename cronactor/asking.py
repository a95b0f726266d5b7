"""Asking the agent of a schedule: its prompt, one deadline, and what may go wrong on the way."""

from __future__ import annotations

from pathlib import Path

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import ActorDied, AskTimeout, BusError, MailboxFull, Stopped, UnknownAddress
from channels.lanes import lane
from channels.messages import Task, TaskResult
from cronactor.claims import Claim, Failed
from cronactor.jobs import Schedule, occurrence_stamp
from cronactor.ledger import Ledger
from cronactor.messages import SCHEDULER

__all__ = ["PROMPT_BYTES", "UNREACHED_SECONDS", "Asking"]

log = structlog.get_logger()

declare_crash_points("scheduler.before_ask", "scheduler.after_ask")

UNREACHED_SECONDS = 30.0
"""How long a run waits for an agent that is not there (yet) or has no room for it."""
PROMPT_BYTES = 65536
_ASKS = 2
_AGAIN = 1.0


@attrs.define(eq=False)
class Asking:
    """Asks by the bus, in a lane of the run's own, and counts each try in the ledger."""

    ledger: Ledger
    bus: Bus | None
    clock: WallClock
    workspace_root: Path
    token: int

    async def answer(self, claim: Claim) -> str | None:
        """The agent's answer; None when there is no bus to ask it by. Raises Failed."""
        if self.bus is None:
            log.warning("schedule_skipped", id=claim.id, reason="there is no bus")
            return None
        assert isinstance(claim.job, Schedule)
        prompt = _prompt(claim.job, self.workspace_root)
        crash_point("scheduler.before_ask")
        if not await self.ledger.begun(self.token, claim.occurrence, self.clock.now()):
            raise Failed("interrupted: another scheduler has taken over")
        with lane(f"{SCHEDULER}/{claim.occurrence.txn_id}"):
            text = await self._ask(self.bus, claim, claim.job, prompt)
        crash_point("scheduler.after_ask")
        return text

    async def _ask(self, bus: Bus, claim: Claim, schedule: Schedule, prompt: str) -> str:
        action = schedule.config.action
        target = action.target_agent or schedule.agent
        started = trio.current_time()
        asks = 0
        while True:
            left = started + action.timeout_seconds - trio.current_time()
            task = _task(claim, schedule, prompt, max(left, 0.0))
            try:
                asks += 1
                answer = await bus.ask(target, task, timeout=max(left, 0.0), lane=task.task_id)
            except AskTimeout:
                limit = f"{action.timeout_seconds:g}"
                raise Failed(f"timeout: {target} did not answer within {limit} s") from None
            except Stopped as error:
                raise Failed(str(error)) from None
            except (UnknownAddress, MailboxFull) as error:
                waited = trio.current_time() - started
                if waited + _AGAIN > min(UNREACHED_SECONDS, action.timeout_seconds):
                    raise Failed(str(error)) from None
                asks -= 1
                await trio.sleep(_AGAIN)
            except ActorDied as error:
                if asks >= _ASKS:
                    raise Failed(str(error)) from None
            except BusError as error:
                raise Failed(str(error)) from None
            except Exception as error:  # whatever the agent failed the ask with
                raise Failed(f"{type(error).__name__}: {error}") from None
            else:
                if not isinstance(answer, TaskResult):
                    raise Failed(f"{target} answered with {type(answer).__name__}")
                return answer.text


def _task(claim: Claim, schedule: Schedule, prompt: str, timeout: float) -> Task:
    at = claim.occurrence.scheduled_at
    return Task(
        task_id=claim.occurrence.txn_id,
        text=prompt,
        sender=SCHEDULER,
        room=claim.occurrence.room,
        stamp=occurrence_stamp(schedule.agent, schedule.id, at),
        timeout=timeout,
    )


def _prompt(schedule: Schedule, root: Path) -> str:
    """The prompt of a schedule, read when it runs: a template may be edited at any time."""
    action = schedule.config.action
    if action.prompt_template is None:
        return action.prompt or ""
    shown = action.prompt_template[:128]
    try:
        path = (root / action.prompt_template).resolve()
        if not path.is_relative_to(root.resolve()):
            raise Failed(f"prompt_template is outside the workspace: {shown}")
        return _text(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise Failed(f"prompt_template cannot be read: {shown!r}: {why}") from None


def _text(path: Path) -> str:
    """A small text file, read in place: a thread would be idle time to a virtual clock."""
    if not path.is_file():  # a pipe would keep everything waiting
        raise ValueError("it is no file")
    with path.open("rb") as file:
        data = file.read(PROMPT_BYTES + 1)
    if len(data) > PROMPT_BYTES:
        raise ValueError(f"it is longer than {PROMPT_BYTES} bytes")
    return data.decode()
