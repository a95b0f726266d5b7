"""What a new scheduler does with claims without outcome, and with event ids it does not know."""

from __future__ import annotations

import structlog

from channels.outbox import Outbox
from cronactor.actions import Actions
from cronactor.catchup import ONCE_WINDOW
from cronactor.claims import Claim, is_fixed, model_window
from cronactor.jobs import Occurrence
from cronactor.ledger import Verdict
from cronactor.store import ReminderStore

__all__ = ["reconcile_events", "recover"]

log = structlog.get_logger()

_TRIES = 2


async def recover(store: ReminderStore, outbox: Outbox, actions: Actions) -> list[Claim]:
    """Settle the claims that an earlier generation left open; return those to be run (again).

    A message that reached the outbox is fired. Another fixed one is said again under the same
    transaction id; a model run is made once more if still inside its window, else it failed.
    """
    again, verdicts = [], []
    for occurrence in await store.ledger.unfinished():
        claim = await _claim_or_verdict(store, outbox, actions, occurrence)
        if isinstance(claim, Claim):
            again.append(claim)
        else:
            verdicts.append(claim)
    if verdicts:
        await store.ledger.finish(actions.token, verdicts, actions.clock.now())
    for verdict in verdicts:
        log.warning(
            "occurrence_recovered",
            id=verdict.schedule_id,
            outcome=verdict.outcome,
            reason=verdict.reason,
        )
        actions.publish(verdict.schedule_id, verdict.outcome, verdict.reason)
    return again


async def _claim_or_verdict(
    store: ReminderStore, outbox: Outbox, actions: Actions, occurrence: Occurrence
) -> Claim | Verdict:
    key = (occurrence.schedule_id, occurrence.scheduled_at)
    if await outbox.find(occurrence.agent, occurrence.room, occurrence.txn_id) is not None:
        actions.flush(occurrence.agent)
        return Verdict(*key, "fired", "recovered: the message was in the outbox")
    job = await store.job(occurrence.schedule_id)
    if job is None:
        return Verdict(*key, "failed", "interrupted: the schedule is gone")
    late = actions.clock.now() - occurrence.scheduled_at
    if is_fixed(job):
        if late > ONCE_WINDOW:
            return Verdict(*key, "missed", "interrupted: more than a day ago")
        return Claim(occurrence, job)
    if occurrence.attempts >= _TRIES or late > model_window(job):
        return Verdict(*key, "failed", "interrupted")
    return Claim(occurrence, job)


async def reconcile_events(store: ReminderStore, outbox: Outbox) -> None:
    """Fetch the event ids of what was said while nobody listened."""
    found = []
    for occurrence in await store.ledger.without_event():
        row = await outbox.find(occurrence.agent, occurrence.room, occurrence.txn_id)
        if row is not None and row.event_id is not None:
            found.append((occurrence.txn_id, row.event_id))
    if found:
        await store.ledger.set_events(found)
