"""Pure: which late reminders are said together, in one message a room, and what it says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import attrs

from cronactor.catchup import PUNCTUAL
from cronactor.jobs import occurrence_txn
from cronactor.ledger import Entry
from cronactor.reminder import PREFIX, Reminder, mention
from cronactor.spoken import describe, duration
from cronactor.texts import ZoneError, say

__all__ = ["Late", "digest_text", "digests"]

MAX_BYTES = 16_000
"""The most that one digest may hold: a Matrix event has 65 kB, and a body may be sent twice."""
_LINE_BYTES = 120


@attrs.frozen
class Late:
    """A reminder that was to speak at the instant `at`."""

    reminder: Reminder
    at: float


def digests(entries: Sequence[Entry], now: float) -> list[Entry]:
    """Return the entries, the late reminders of one agent and room under one transaction id.

    It is derived from the occurrences: whoever plans the same ones gives it the same name.
    """
    together: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if _late(entry, now):
            assert isinstance(entry.job, Reminder)
            together.setdefault((entry.job.agent, entry.job.room), []).append(entry)
    named: dict[str, str] = {}
    for group in together.values():
        for chunk in _chunks(group):
            named |= _named(chunk)
    return [attrs.evolve(entry, txn_id=named.get(entry.job.id, "")) for entry in entries]


def digest_text(late: Sequence[Late], now: float, prefix: str = PREFIX) -> str:
    """Return the message that lists late reminders, each with its time and how late it is."""
    locale = late[0].reminder.locale
    head = say("digest", locale, prefix=prefix, n=len(late)).lstrip()
    return "\n".join([head, *(_line(n, one, now) for n, one in enumerate(late, 1))])


def _line(number: int, late: Late, now: float) -> str:
    reminder = late.reminder
    told = " ".join(map(mention, reminder.told))
    when = _local(late, now)
    text = f"{number}. {told} {reminder.message} — {when}"
    return say("late", reminder.locale, text=text, late=duration(now - late.at, reminder.locale))


def _local(late: Late, now: float) -> str:
    try:
        return describe(late.at, late.reminder.timezone, late.reminder.locale, now)
    except ZoneError:  # a zone that no longer exists is no reason to stay silent
        return describe(late.at, "UTC", late.reminder.locale, now)


def _late(entry: Entry, now: float) -> bool:
    if not isinstance(entry.job, Reminder) or entry.fail or entry.skip:
        return False
    return any(now - at > PUNCTUAL for at in entry.plan.fires)


def _chunks(group: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Split what is too long for one message."""
    chunk: list[Entry] = []
    size = 0
    for entry in sorted(group, key=lambda entry: entry.due):
        assert isinstance(entry.job, Reminder)
        words = f"{entry.job.message}{entry.job.told}"
        length = len(words.encode("utf-8", "replace")) + _LINE_BYTES
        if chunk and size + length > MAX_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += length
    yield chunk


def _named(chunk: Sequence[Entry]) -> Mapping[str, str]:
    if len(chunk) < 2:
        return {}
    names = sorted(occurrence_txn(entry.job.id, at) for entry in chunk for at in entry.plan.fires)
    digest = hashlib.sha256("|".join(["digest", *names]).encode()).hexdigest()
    return {entry.job.id: f"occ-{digest[:24]}" for entry in chunk}
