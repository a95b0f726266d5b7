"""Pure: what a message may ask for."""

from __future__ import annotations

import attrs

from actors.llm.splitting import Unclear
from cronactor.texts import CronError

__all__ = [
    "AskAgent",
    "Change",
    "Delete",
    "DeleteAll",
    "Farewell",
    "Greet",
    "Help",
    "Intent",
    "Introduce",
    "ListReminders",
    "NeedCron",
    "Remind",
    "SetZone",
    "Snooze",
    "Speaker",
    "TellTime",
    "Thanks",
    "Understood",
    "Unknown",
]


@attrs.frozen
class Remind:
    """Set a reminder: at a `time` that the grammar reads, or by a valid `cron` expression."""

    message: str
    time: str | None = None
    cron: str | None = None


@attrs.frozen
class NeedCron:
    """A reminder whose cron expression is wrong."""

    error: CronError


@attrs.frozen
class ListReminders:
    """Which reminders are there?"""


@attrs.frozen
class Delete:
    """Delete the reminder with that id, or else the one that the words describe."""

    id: str | None = None
    words: tuple[str, ...] = ()
    said: str = ""


@attrs.frozen
class DeleteAll:
    """Delete every reminder: more than one call should do."""


@attrs.frozen
class Change:
    """Call `tool` with `arguments` for the reminder with that id, else the one the words describe.

    Without both it is the one that the message replies to, or the only one there is.
    """

    tool: str
    id: str | None = None
    words: tuple[str, ...] = ()
    said: str = ""
    arguments: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Snooze:
    """Say the reminder that is replied to, or has just fired, once more at a time."""

    time: str


@attrs.frozen
class SetZone:
    """The speaker's time zone, or that of the whole room, is that of a place."""

    place: str
    whole_room: bool = False


@attrs.frozen
class TellTime:
    """What time is it, at a place or here?"""

    place: str | None = None


@attrs.frozen
class Introduce:
    """Who are you, who else is there?"""


@attrs.frozen
class AskAgent:
    """Pass a question on; `agent` is an agent's id, or, when `known` is false, what was said."""

    agent: str
    question: str
    known: bool = True


@attrs.frozen
class Help:
    """What can you do?"""


@attrs.frozen
class Greet:
    """Hello."""


@attrs.frozen
class Thanks:
    """Thank you, all right."""


@attrs.frozen
class Farewell:
    """Good bye."""


@attrs.frozen
class Unknown:
    """No rule reads it."""


Intent = (
    Remind | NeedCron | Unclear | ListReminders | Delete | DeleteAll | Change | Snooze | SetZone
    | TellTime | Introduce | AskAgent | Help | Greet | Thanks | Farewell | Unknown
)  # fmt: skip


@attrs.frozen
class Speaker:
    """Who is spoken to: the `names` people use, the ids of all `agents`, the default language."""

    names: tuple[str, ...]
    agents: tuple[str, ...]
    locale: str


@attrs.frozen
class Understood:
    """An intent and the language ("es" or "en") that it was said in."""

    intent: Intent
    language: str
