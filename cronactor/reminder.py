"""Pure: what a reminder is, its short id, and what it says in the room."""

from __future__ import annotations

import hashlib
from typing import Literal

import attrs

from cronactor.spoken import duration
from cronactor.texts import Explained, say

__all__ = [
    "ACTIVE",
    "DELETED",
    "FAILED",
    "FIRED",
    "MISSED",
    "PAUSED",
    "PREFIX",
    "Reminder",
    "ReminderState",
    "checked_message",
    "mention",
    "short_id",
    "spoken_reminder",
]

ReminderState = Literal["active", "paused", "fired", "missed", "failed", "deleted"]
ACTIVE: ReminderState = "active"
PAUSED: ReminderState = "paused"
FIRED: ReminderState = "fired"
MISSED: ReminderState = "missed"
FAILED: ReminderState = "failed"
DELETED: ReminderState = "deleted"

PREFIX = "⏰"
MAX_MESSAGE = 4000
LATE_SECONDS = 60.0
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@attrs.frozen
class Reminder:
    """Something to be said to `user` in `room` by `agent`. Instants are seconds since the epoch.

    It recurs by `cron` or `every` so many seconds after `anchor`; a one-shot has neither. `wall` is
    the wall time it was asked for (naive ISO), None when it was asked for as elapsed time.
    `next_due` is None once nothing more is due; while it is paused it is what would have been.
    `ended_at`: when it left the states active and paused. `followers`: the other user ids that are
    told too, separated by spaces. `origin`: the chain of messages in which it was asked for.
    """

    id: str
    agent: str
    room: str
    user: str
    message: str
    timezone: str
    locale: str
    created_at: float
    next_due: float | None
    cron: str | None = None
    wall: str | None = None
    fired_at: float | None = None
    state: ReminderState = ACTIVE
    idempotency_key: str = ""
    ended_at: float | None = None
    every: float | None = None
    anchor: float | None = None
    followers: str = ""
    origin: str = ""

    @property
    def one_shot(self) -> bool:
        """True when it speaks once and is then done with."""
        return self.cron is None and self.every is None

    @property
    def kind(self) -> Literal["once", "cron", "every"]:
        """How it recurs, as interfaces name it."""
        if self.every is not None:
            return "every"
        return "once" if self.cron is None else "cron"

    @property
    def told(self) -> tuple[str, ...]:
        """The user ids that are addressed when it speaks: its user, then who follows it."""
        return (self.user, *self.followers.split())

    @property
    def kept(self) -> bool:
        """True while it may still speak: active, or paused."""
        return self.state in (ACTIVE, PAUSED)


def short_id(key: str, attempt: int = 0) -> str:
    """Return an id like `r7f3k2`, the same for the same key; another `attempt` gives another id."""
    number = int.from_bytes(hashlib.sha256(f"{key}\0{attempt}".encode()).digest()[:8], "big")
    letters = []
    for _ in range(5):
        number, place = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[place])
    return "r" + "".join(letters)


def checked_message(text: str, locale: str) -> str:
    """Return the message, stripped. Raises Explained if it cannot be kept and said."""
    text = text.strip()
    if not text:
        raise Explained("message_empty", locale)
    if len(text) > MAX_MESSAGE:
        raise Explained("message_long", locale, n=len(text), limit=MAX_MESSAGE)
    if any("\ud800" <= char <= "\udfff" or (char < " " and char not in "\n\t\r") for char in text):
        raise Explained("message_char", locale)
    return text


def mention(user: str) -> str:
    """How a user is addressed: local and Matrix ids start with `@` already."""
    return user if user.startswith("@") else f"@{user}"


def spoken_reminder(reminder: Reminder, late: float, prefix: str = PREFIX) -> str:
    """What the reminder says: `⏰ @ana Recordatorio: …`, with how late it is when over a minute."""
    told = " ".join(map(mention, reminder.told))
    text = say(
        "reminder", reminder.locale, prefix=prefix, mention=told, text=reminder.message
    ).lstrip()
    if late <= LATE_SECONDS:
        return text
    return say("late", reminder.locale, text=text, late=duration(late, reminder.locale))
