"""Pure: the kinds of rules that read a message: fixed wordings, reminders, deletions, questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final

from actors.llm.intents import (
    AskAgent,
    Delete,
    DeleteAll,
    Intent,
    NeedCron,
    Remind,
    Speaker,
    TellTime,
)
from actors.llm.splitting import ErrorOf, Split, Unclear, split, without_connector
from actors.llm.utterance import fold, matches, words
from cronactor.schedule import parse_cron
from cronactor.texts import CronError

__all__ = [
    "Rule",
    "ask",
    "bare",
    "delete",
    "described",
    "either",
    "fixed",
    "remind",
    "tell_time",
]

Rule = Callable[[str, Speaker, ErrorOf], Intent | None]
"""Reads the core of a message, or steps aside with None."""


def bare(text: str) -> str:
    """Return a text without the marks around it."""
    return " ".join(text.strip(" \t.,;:!?¡¿").split())


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


def fixed(intent: Intent, *patterns: str) -> Rule:
    """Return a rule for wordings that always mean `intent`."""
    compiled = _patterns(*patterns)

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        return intent if matches(compiled, bare(said)) else None

    return rule


def remind(*verbs: str) -> Rule:
    """Return a rule for messages that begin with one of these verbs, then say when and what."""
    start = re.compile(rf"[¿¡]?(?:{'|'.join(verbs)})(?=$|[\s,:;.!?])[\s,:;.-]*")

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        found = start.match(fold(said))
        if found is None:
            return None
        rest = said[found.end() :].rstrip()
        rest = rest[:-1] if rest.endswith(".") and not rest.endswith("..") else rest
        taken = _by_cron(rest) or split(rest, error_of)
        if isinstance(taken, (Unclear, Remind, NeedCron)):
            return taken
        return _recurring(taken) or Remind(taken.message, time=taken.phrase)

    return rule


def _recurring(taken: Split) -> Remind | None:
    """A bare cron expression is a time to the grammar, and to the tool a kind of its own."""
    try:
        return Remind(taken.message, cron=parse_cron(taken.phrase).text)
    except CronError:
        return None


_CRON_FIRST = re.compile(
    r"(?:(?:con|with|using|usando|segun)\s+)?(?:(?:el|la|un|una|the|a)\s+)?(?:expresion\s+)?cron"
    r"(?:\s+expression)?[\s:]+(?P<rest>\S.*)"
)
_CRON_LAST = re.compile(
    r"(?P<message>.*\S)\s+(?:con|with|using|usando|segun)\s+(?:(?:el|la|un|una|the|a)\s+)?"
    r"(?:expresion\s+)?cron(?:\s+expression)?[\s:]+(?P<rest>\S.*)"
)
_QUOTES: Final = "`'\"«»“”"


def _by_cron(rest: str) -> Remind | NeedCron | Unclear | None:
    """`con cron 0 10 * * 1 hacer el standup`, or the same with the cron at the end."""
    found = _CRON_FIRST.fullmatch(fold(rest))
    if found:
        return _cron_and_message(rest[found.start("rest") :], None)
    found = _CRON_LAST.fullmatch(fold(rest))
    if found:
        return _cron_and_message(rest[found.start("rest") :], rest[: found.end("message")])
    return None


def _cron_and_message(text: str, message: str | None) -> Remind | NeedCron | Unclear:
    text = text.strip()
    if text[0] in _QUOTES:
        inner = re.match(r".([^`'\"«»“”]*)[`'\"«»“”]?(.*)", text)
        expr, rest = (inner[1], inner[2]) if inner else (text, "")
    else:
        parts = text.split()
        size = 1 if text.startswith("@") else 5
        expr = " ".join(parts[:size]) if message is None else text
        rest = " ".join(parts[size:]) if message is None else ""
    said = without_connector(message if message is not None else rest)
    try:
        expr = parse_cron(expr.strip()).text
    except CronError as error:
        return NeedCron(error)
    if not any(character.isalnum() for character in said):
        return Unclear("no_message", expr)
    return Remind(said, cron=expr)


def delete(*verbs: str) -> Rule:
    """Return a rule for messages that begin with one of these verbs, then name a reminder."""
    start = re.compile(rf"(?:{'|'.join(verbs)})(?:\s+(?P<rest>.*))?")

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        text = bare(said)
        found = start.fullmatch(fold(text))
        if found is None:
            return None
        rest = text[found.start("rest") :] if found["rest"] else ""
        if _ALL.match(fold(rest)):
            return DeleteAll()
        id, telling = described(rest)
        return Delete(id, telling, rest)

    return rule


_ALL = re.compile(r"(?:todos?|todas?|all|every|everything)\b")
_ID = re.compile(r"(?=[a-z0-9]*\d)[a-z0-9]{4,12}")
_FILLERS: Final = words(
    "el la los las un una mi mis mio ese este esa de del lo recordatorio recordatorios aviso que "
    "the my a an that this reminder reminders of for to about one id con sobre y and"
)


def described(rest: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the id that is said, or else the words that tell which reminder is meant."""
    said = [word.strip("[]()«»\"'`.,:;#") for word in fold(rest).split()]
    telling = tuple(w for w in said if w not in _FILLERS and any(map(str.isalnum, w)))
    if len(telling) == 1 and _ID.fullmatch(telling[0]):
        return telling[0], ()
    return None, telling


def tell_time(*patterns: str) -> Rule:
    """Return a rule for questions for the time; each pattern has a group `place`."""
    compiled = _patterns(*patterns)

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        text = bare(said)
        found = matches(compiled, text)
        if found is None:
            return None
        place = text[slice(*found.span("place"))] if found["place"] else None
        return TellTime(place)

    return rule


def ask(*patterns: str, only_agents: bool = False) -> Rule:
    """Return a rule for questions to others; the patterns have groups `agent` and `question`.

    With `only_agents` the rule steps aside where the name is not an agent's.
    """
    compiled = _patterns(*patterns)

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        found = matches(compiled, said.strip(" ¿¡"))
        if found is None:
            return None
        text = said.strip(" ¿¡")
        name = text[slice(*found.span("agent"))]
        question = re.sub(
            r"^(?:que|to|for|that)\s+(?=\S)", "", text[slice(*found.span("question"))]
        )
        agent = _agent(name, speaker.agents)
        if agent is None and only_agents:
            return None
        return AskAgent(agent or name, question.strip(), known=agent is not None)

    return rule


def _agent(name: str, agents: Iterable[str]) -> str | None:
    return next((agent for agent in agents if fold(agent) == fold(name)), None)


def either(options: Collection[str]) -> str:
    """Return a pattern for any of these words."""
    return "(?:" + "|".join(options) + ")"
