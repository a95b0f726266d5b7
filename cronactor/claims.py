"""Pure: a claimed occurrence with what it belongs to, and what kind of work that is."""

from __future__ import annotations

import attrs

from cronactor.catchup import PUNCTUAL
from cronactor.jobs import Job, Occurrence, wake_at
from cronactor.ledger import Verdict
from cronactor.reminder import Reminder
from cronactor.spoken import duration

__all__ = ["Claim", "Failed", "fired", "is_fixed", "model_window"]

MODEL_WINDOW = 300.0


class Failed(Exception):
    """An action that did not do its work; the text is the reason of its outcome."""


@attrs.frozen
class Claim:
    """A claimed occurrence with the reminder or schedule it belongs to.

    `note` is what else there is to say of it in its record.
    """

    occurrence: Occurrence
    job: Job
    note: str = ""

    @property
    def id(self) -> str:
        """`ID@INSTANT`, for logs."""
        return f"{self.occurrence.schedule_id}@{self.occurrence.scheduled_at}"

    def verdict(self, outcome: str, reason: str = "") -> Verdict:
        """Return the outcome of this occurrence."""
        at = self.occurrence.scheduled_at
        return Verdict(self.occurrence.schedule_id, at, outcome, reason)  # type: ignore[arg-type]


def fired(claim: Claim, *reasons: str) -> Verdict:
    """Return the verdict of a claim that did its work, with what was unusual about it."""
    late = claim.occurrence.claimed_at - wake_at(claim.job, claim.occurrence.scheduled_at)
    caught_up = f"caught up: late by {duration(late, 'en')}" if late > PUNCTUAL else ""
    return claim.verdict("fired", "; ".join(filter(None, [caught_up, claim.note, *reasons])))


def is_fixed(job: Job) -> bool:
    """True when what a job says is known beforehand; False when a model must be asked."""
    return isinstance(job, Reminder) or job.config.action.kind == "send_message"


def model_window(job: Job) -> float:
    """Seconds after its scheduled instant in which an interrupted model run is made once more."""
    if isinstance(job, Reminder):
        return 0.0
    return max(MODEL_WINDOW, job.config.action.timeout_seconds)
