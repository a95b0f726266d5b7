"""What is to become of what is due: planned one by one, so that a bad row spoils only itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import attrs
import structlog

from cronactor.agenda import Due
from cronactor.catchup import DOWN, LateOneShots, Plan, plan_once, plan_recurring
from cronactor.claims import is_fixed
from cronactor.digest import digests
from cronactor.jobs import Job, Occurrence, catch_up_of, times_of, wake_at
from cronactor.ledger import Entry, Fenced, Ledger
from cronactor.overlap import Runs
from cronactor.persist import DISK

__all__ = ["Planner", "claim_each"]

log = structlog.get_logger()

AWAY = "the clock jumped ahead or the machine slept"


@attrs.define(eq=False)
class Planner:
    """Plans against what is running. `since`: the instant from which this scheduler has run."""

    runs: Runs
    late_one_shots: LateOneShots
    since: float

    def entries(self, due: Sequence[Due[Job]], now: float) -> list[Entry]:
        """Return what is planned for each; late reminders of one room are to be said together."""
        return digests([self._entry(each, now) for each in due], now)

    def _entry(self, due: Due[Job], now: float) -> Entry:
        job = due.item
        try:
            plan = self._plan(job, due.at, now)
        except Exception as error:  # a row that should never have been kept: it ends, others go on
            log.exception("schedule_unusable", id=job.id)
            return Entry(job, due.at, Plan((due.at,), None, None), fail=f"unusable: {error}")
        if not plan.fires or is_fixed(job):
            return Entry(job, due.at, plan)
        keep, why = self.runs.room(job)
        if keep is None or keep >= len(plan.fires):
            return Entry(job, due.at, plan)
        return Entry(job, due.at, plan, skip=why, keep=keep)

    def _plan(self, job: Job, due: float, now: float) -> Plan:
        times = times_of(job)
        if times is None:
            return plan_once(due, now, self.late_one_shots)
        reason = DOWN if due < self.since else AWAY
        return plan_recurring(times, due, now, catch_up_of(job), partial(wake_at, job), reason)


async def claim_each(
    ledger: Ledger, token: int, entries: Sequence[Entry], now: float
) -> tuple[tuple[Occurrence, ...], frozenset[str]]:
    """Claim entries together; if that cannot be, one by one.

    Returns what is to be run, and the ids that cannot be claimed: they were given up. Raises
    Fenced, and DatabaseError when it is the file that is at fault.
    """
    try:
        return await ledger.claim(token, entries, now), frozenset()
    except (Fenced, *DISK):
        raise
    except Exception as error:
        if len(entries) == 1:
            await _give_up(ledger, token, entries[0], error, now)
            return (), frozenset([entries[0].job.id])
    claimed: tuple[Occurrence, ...] = ()
    lost: frozenset[str] = frozenset()
    for entry in entries:
        found, gone = await claim_each(ledger, token, [entry], now)
        claimed, lost = claimed + found, lost | gone
    return claimed, lost


async def _give_up(ledger: Ledger, token: int, entry: Entry, error: Exception, now: float) -> None:
    why = f"unusable: {type(error).__name__}: {error}"
    log.error("schedule_unusable", id=entry.job.id, error=why)
    try:
        await ledger.give_up(token, entry, why, now)
    except (Fenced, *DISK):
        raise
    except Exception:
        log.exception("schedule_not_given_up", id=entry.job.id)
