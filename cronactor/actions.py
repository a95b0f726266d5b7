"""What an occurrence does: say something fixed in a room, or ask an agent and say its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs
import structlog

from channels.bus import Bus
from channels.chain import stamped
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import MailboxFull
from channels.messages import Flush, OccurrenceEnded
from channels.outbox import Outbox, OutgoingMessage
from cronactor.asking import Asking
from cronactor.claims import Claim, Failed, fired
from cronactor.digest import Late, digest_text
from cronactor.health import Health
from cronactor.jobs import occurrence_stamp
from cronactor.ledger import Ledger, Verdict
from cronactor.persist import DISK, persist
from cronactor.reminder import PREFIX, Reminder, spoken_reminder

__all__ = ["Actions"]

log = structlog.get_logger()

declare_crash_points("scheduler.before_send", "scheduler.after_send", "scheduler.after_record")

NO_REPLY = "NO_REPLY"
EVERYBODY = "@room"
"""Whom a reminder of another bot may address: all who are in the room."""


@attrs.define(eq=False)
class Actions:
    """Carries out claimed occurrences: the effect, idempotent by its name, then the record.

    What a disk does not take is tried again, under the same names, for as long as it lasts: a model
    is not asked again because its answer could not be kept.
    """

    ledger: Ledger
    outbox: Outbox
    bus: Bus | None
    clock: WallClock
    workspace_root: Path
    token: int
    prefix: str = PREFIX
    health: Health = attrs.field(factory=Health)
    _asking: Asking = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._asking = Asking(self.ledger, self.bus, self.clock, self.workspace_root, self.token)

    async def deliver(self, claims: Sequence[Claim]) -> None:
        """Say what several fixed occurrences have to say: one write, one record.

        A cancel in between leaves them claimed; they are said again, under the same names, by
        whoever recovers them. Raises Fenced, and DatabaseError when trying again is of no use.
        """
        ended: list[tuple[Claim, Verdict]] = []
        said: dict[tuple[Claim, ...], OutgoingMessage] = {}
        for group in _together(claims):
            sound = self._sound(group, ended) if len(group) > 1 else group
            try:
                if sound:
                    said[sound] = self._fixed(sound)
            except Exception as error:  # one bad row must not silence the others
                ended += [(claim, _broken(claim, error)) for claim in sound]
        refused = await self._send(list(said.values()))
        ended += [(claim, _said(claim, group, refused)) for group in said for claim in group]
        await self._record(ended)

    async def ask(self, claim: Claim) -> None:
        """Ask the schedule's agent and say its answer in the output room.

        A cancel leaves the occurrence claimed, to be recovered. Raises as `deliver` does.
        """
        try:
            text = await self._asking.answer(claim)
        except Failed as error:
            await self._record([(claim, claim.verdict("failed", str(error)))])
            return
        if text is None:
            await self._record([(claim, claim.verdict("skipped", "there is no bus"))])
        elif text.strip() in ("", NO_REPLY):
            await self._record([(claim, fired(claim, "the agent had nothing to say"))])
        else:
            group = (claim,)
            refused = await self._send([self._message(group, text)])
            await self._record([(claim, _said(claim, group, refused))])

    # -- what is said -----------------------------------------------------------------------------

    def _fixed(self, group: tuple[Claim, ...]) -> OutgoingMessage:
        """What a group says: several reminders are a list."""
        job, now = group[0].job, self.clock.now()
        if len(group) > 1:
            return self._message(group, digest_text(_late(group), now, self.prefix))
        if isinstance(job, Reminder):
            late = now - group[0].occurrence.scheduled_at
            return self._message(group, spoken_reminder(job, late, self.prefix))
        return self._message(group, job.config.action.message or "")

    def _sound(
        self, group: Iterable[Claim], ended: list[tuple[Claim, Verdict]]
    ) -> tuple[Claim, ...]:
        """Those of a group that can be listed; the others have ended."""
        sound: list[Claim] = []
        for claim in group:
            try:
                digest_text(_late([claim]), self.clock.now(), self.prefix)
            except Exception as error:
                ended.append((claim, _broken(claim, error)))
            else:
                sound.append(claim)
        return tuple(sound)

    def _message(self, group: Sequence[Claim], text: str) -> OutgoingMessage:
        first = group[0]
        told = [
            user for claim in group if isinstance(claim.job, Reminder) for user in claim.job.told
        ]
        users = [user for user in dict.fromkeys(told) if user != EVERYBODY]
        mentions = {"user_ids": users, **({"room": True} if EVERYBODY in told else {})}
        content = {"msgtype": "m.text", "body": text, "m.mentions": mentions}
        stamp = occurrence_stamp(first.job.agent, first.job.id, first.occurrence.scheduled_at)
        return OutgoingMessage(
            agent=first.occurrence.agent,
            room=first.occurrence.room,
            txn_id=first.occurrence.txn_id,
            content=stamped(content, stamp),
        )

    async def _send(self, messages: Sequence[OutgoingMessage]) -> dict[str, str]:
        """Hand messages to the outbox; return why it cannot take some, by transaction id.

        Raises Fenced when another scheduler owns the store now: it says them.
        """
        if not messages:
            return {}
        await self.ledger.check(self.token)
        crash_point("scheduler.before_send")
        refused = await self._put(messages)
        crash_point("scheduler.after_send")
        for agent in dict.fromkeys(message.agent for message in messages):
            self.flush(agent)
        return refused

    async def _put(self, messages: Sequence[OutgoingMessage]) -> dict[str, str]:
        try:
            await persist("outbox", partial(self.outbox.put, messages), self.health)
        except DISK:
            raise
        except Exception as error:
            if len(messages) == 1:
                return {messages[0].txn_id: f"{type(error).__name__}: {error}"}
            refused: dict[str, str] = {}
            for message in messages:
                refused |= await self._put([message])
            return refused
        return {}

    def flush(self, agent: str) -> None:
        """Tell a connection that its outbox has news; one that is not there will look itself."""
        address = f"{agent}/connection"
        if self.bus is None or address not in self.bus.names():
            return
        try:
            self.bus.tell_nowait(address, Flush())
        except MailboxFull as error:
            log.debug("flush_not_told", agent=agent, why=str(error))

    # -- what is recorded -------------------------------------------------------------------------

    async def _record(self, ended: Sequence[tuple[Claim, Verdict]]) -> None:
        verdicts = [verdict for _, verdict in ended]
        finish = partial(self.ledger.finish, self.token, verdicts, self.clock.now())
        recorded = set(await persist("ledger", finish, self.health))
        crash_point("scheduler.after_record")
        for claim, verdict in ended:
            if verdict in recorded:
                self._tell(claim, verdict)
                self.publish(verdict.schedule_id, verdict.outcome, verdict.reason)
            else:
                log.warning("outcome_recorded_by_another", id=claim.id)

    def publish(self, schedule_id: str, outcome: str, reason: str = "", count: int = 1) -> None:
        """Let whoever counts know that occurrences of a schedule have this outcome."""
        if self.bus is not None:
            self.bus.publish("occurrences", OccurrenceEnded(schedule_id, outcome, reason, count))

    def _tell(self, claim: Claim, verdict: Verdict) -> None:
        """Log an outcome; the failures of a schedule in a row are one error and one recovery."""
        late = round(self.clock.now() - claim.occurrence.scheduled_at, 3)
        kind = "reminder" if isinstance(claim.job, Reminder) else "schedule"
        facts = {"room": claim.occurrence.room, "late_s": late}
        if verdict.outcome == "fired":
            log.info(f"{kind}_fired", id=claim.job.id, **facts)
            self.worked(claim.job.id)
        elif verdict.outcome == "failed":
            self.failed(claim.job.id, verdict.reason, kind=kind, **facts)
        else:
            log.warning(
                f"{kind}_{verdict.outcome}", id=claim.job.id, reason=verdict.reason, **facts
            )
        if isinstance(claim.job, Reminder) and claim.job.one_shot:
            log.info("reminder_auto_removed", id=claim.job.id)

    def worked(self, id: str, heard: bool = False) -> None:
        """Log a recovery, once; `heard`: a room has taken a message of it."""
        if times := self.health.worked(id, heard):
            log.warning("schedule_recovered", id=id, failures=times)

    def failed(self, id: str, reason: str, kind: str = "schedule", **facts: object) -> None:
        """Log a failure as an error, unless the schedule failed the last time too."""
        times = self.health.failed(id, reason, self.clock.now())
        if times == 1:
            log.error(f"{kind}_failed", id=id, reason=reason, **facts)
        else:
            log.info(f"{kind}_failed_again", id=id, reason=reason, times=times, **facts)


def _together(claims: Iterable[Claim]) -> list[tuple[Claim, ...]]:
    """Claims by the message they are said in; those of a digest in the order of their times."""
    groups: dict[tuple[str, str, str], list[Claim]] = {}
    for claim in claims:
        known = claim.occurrence
        groups.setdefault((known.agent, known.room, known.txn_id), []).append(claim)
    return [
        tuple(sorted(g, key=lambda claim: claim.occurrence.scheduled_at)) for g in groups.values()
    ]


def _late(group: Iterable[Claim]) -> list[Late]:
    return [
        Late(claim.job, claim.occurrence.scheduled_at)
        for claim in group
        if isinstance(claim.job, Reminder)
    ]


def _broken(claim: Claim, error: Exception) -> Verdict:
    return claim.verdict("failed", f"{type(error).__name__}: {error}")


def _said(claim: Claim, group: Sequence[Claim], refused: Mapping[str, str]) -> Verdict:
    why = refused.get(claim.occurrence.txn_id)
    if why is not None:
        return claim.verdict("failed", why)
    others = len(group) - 1
    return fired(claim, f"said together with {others} more" if others else "")
