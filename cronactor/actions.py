"""What an occurrence does: say something fixed in a room, or ask an agent and say its answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.chain import stamped
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import ActorDied, AskTimeout, BusError, MailboxFull, Stopped, UnknownAddress
from channels.lanes import lane
from channels.messages import Flush, OccurrenceEnded, Task, TaskResult
from channels.outbox import Outbox, OutgoingMessage
from cronactor.jobs import Job, Occurrence, Schedule, occurrence_stamp
from cronactor.ledger import Ledger, Verdict
from cronactor.messages import SCHEDULER
from cronactor.reminder import PREFIX, Reminder, spoken_reminder

__all__ = ["Actions", "Claim", "Failed", "is_fixed", "model_window"]

log = structlog.get_logger()

declare_crash_points(
    "scheduler.before_send",
    "scheduler.after_send",
    "scheduler.after_record",
    "scheduler.before_ask",
    "scheduler.after_ask",
)

NO_REPLY = "NO_REPLY"
UNREACHED_SECONDS = 30.0
"""How long a run waits for an agent that is not there (yet) or has no room for it."""
MODEL_WINDOW = 300.0
PROMPT_BYTES = 65536
_ASKS = 2
_AGAIN = 1.0


class Failed(Exception):
    """An action that did not do its work; the text is the reason of its outcome."""


@attrs.frozen
class Claim:
    """A claimed occurrence with the reminder or schedule it belongs to."""

    occurrence: Occurrence
    job: Job

    @property
    def id(self) -> str:
        """`ID@INSTANT`, for logs."""
        return f"{self.occurrence.schedule_id}@{self.occurrence.scheduled_at}"


def is_fixed(job: Job) -> bool:
    """True when what a job says is known beforehand; False when a model must be asked."""
    return isinstance(job, Reminder) or job.config.action.kind == "send_message"


def model_window(job: Job) -> float:
    """Seconds after its scheduled instant in which an interrupted model run is made once more."""
    if isinstance(job, Reminder):
        return 0.0
    return max(MODEL_WINDOW, job.config.action.timeout_seconds)


@attrs.define(eq=False)
class Actions:
    """Carries out claimed occurrences: the effect, idempotent by its name, then the record."""

    ledger: Ledger
    outbox: Outbox
    bus: Bus | None
    clock: WallClock
    workspace_root: Path
    token: int
    prefix: str = PREFIX

    async def deliver(self, claims: Sequence[Claim]) -> None:
        """Say what several fixed occurrences have to say: one write, one record.

        A cancel in between leaves them claimed; they are said again, under the same names, by
        whoever recovers them. Raises the DatabaseError family.
        """
        messages, verdicts = [], []
        for claim in claims:
            try:
                messages.append(self._message(claim, self._fixed_text(claim)))
            except Exception as error:  # one bad row must not silence the others
                verdicts.append(_verdict(claim, "failed", f"{type(error).__name__}: {error}"))
            else:
                verdicts.append(_verdict(claim, "fired"))
        await self._send(messages)
        await self._record(claims, verdicts)

    async def ask(self, claim: Claim) -> None:
        """Ask the schedule's agent and say its answer in the output room.

        A cancel leaves the occurrence claimed, to be recovered. Raises the DatabaseError family.
        """
        try:
            text = await self._answer(claim)
        except Failed as error:
            log.error("schedule_failed", id=claim.id, reason=str(error))
            await self._record([claim], [_verdict(claim, "failed", str(error))])
            return
        if text is None:
            await self._record([claim], [_verdict(claim, "skipped", "there is no bus")])
        elif text.strip() in ("", NO_REPLY):
            await self._record([claim], [_verdict(claim, "fired", "the agent had nothing to say")])
        else:
            await self._send([self._message(claim, text)])
            await self._record([claim], [_verdict(claim, "fired")])

    # -- what is said -----------------------------------------------------------------------------

    def _fixed_text(self, claim: Claim) -> str:
        if isinstance(claim.job, Reminder):
            late = self.clock.now() - claim.occurrence.scheduled_at
            return spoken_reminder(claim.job, late, self.prefix)
        return claim.job.config.action.message or ""

    def _message(self, claim: Claim, text: str) -> OutgoingMessage:
        job, at = claim.job, claim.occurrence.scheduled_at
        users = list(job.told) if isinstance(job, Reminder) else []
        content = {"msgtype": "m.text", "body": text, "m.mentions": {"user_ids": users}}
        return OutgoingMessage(
            agent=claim.occurrence.agent,
            room=claim.occurrence.room,
            txn_id=claim.occurrence.txn_id,
            content=stamped(content, occurrence_stamp(job.agent, job.id, at)),
        )

    async def _send(self, messages: Sequence[OutgoingMessage]) -> None:
        if not messages:
            return
        crash_point("scheduler.before_send")
        await self.outbox.put(messages)
        crash_point("scheduler.after_send")
        for agent in dict.fromkeys(message.agent for message in messages):
            self.flush(agent)

    def flush(self, agent: str) -> None:
        """Tell a connection that its outbox has news; one that is not there will look itself."""
        address = f"{agent}/connection"
        if self.bus is None or address not in self.bus.names():
            return
        try:
            self.bus.tell_nowait(address, Flush())
        except MailboxFull as error:
            log.debug("flush_not_told", agent=agent, why=str(error))

    async def _record(self, claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> None:
        recorded = set(await self.ledger.finish(self.token, verdicts, self.clock.now()))
        crash_point("scheduler.after_record")
        for claim, verdict in zip(claims, verdicts, strict=True):
            if verdict in recorded:
                self._log(claim, verdict)
                self.publish(verdict.schedule_id, verdict.outcome, verdict.reason)
            else:
                log.warning("outcome_recorded_by_another", id=claim.id)

    def publish(self, schedule_id: str, outcome: str, reason: str = "", count: int = 1) -> None:
        """Let whoever counts know that occurrences of a schedule have this outcome."""
        if self.bus is not None:
            self.bus.publish("occurrences", OccurrenceEnded(schedule_id, outcome, reason, count))

    def _log(self, claim: Claim, verdict: Verdict) -> None:
        late = round(self.clock.now() - claim.occurrence.scheduled_at, 3)
        kind = "reminder" if isinstance(claim.job, Reminder) else "schedule"
        facts = {"id": claim.job.id, "room": claim.occurrence.room, "late_s": late}
        if verdict.outcome == "fired":
            log.info(f"{kind}_fired", **facts)
        else:
            log.warning(f"{kind}_{verdict.outcome}", reason=verdict.reason, **facts)
        if isinstance(claim.job, Reminder) and claim.job.one_shot:
            log.info("reminder_auto_removed", id=claim.job.id)

    # -- asking a model ---------------------------------------------------------------------------

    async def _answer(self, claim: Claim) -> str | None:
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


def _verdict(claim: Claim, outcome: str, reason: str = "") -> Verdict:
    occurrence = claim.occurrence
    return Verdict(occurrence.schedule_id, occurrence.scheduled_at, outcome, reason)  # type: ignore[arg-type]


def _prompt(schedule: Schedule, root: Path) -> str:
    """The prompt of a schedule, read when it runs: a template may be edited at any time."""
    action = schedule.config.action
    if action.prompt_template is None:
        return action.prompt or ""
    inside = root.resolve()
    try:
        path = (root / action.prompt_template).resolve()
        if not path.is_relative_to(inside):
            raise Failed(f"prompt_template is outside the workspace: {action.prompt_template}")
        # Read in place: a small local file, and a thread would be idle time to a virtual clock.
        with path.open("rb") as file:
            data = file.read(PROMPT_BYTES + 1)
        if len(data) > PROMPT_BYTES:
            raise Failed(f"prompt_template is longer than {PROMPT_BYTES} bytes")
        return data.decode()
    except (OSError, ValueError) as error:
        raise Failed(f"prompt_template cannot be read: {error}") from None
