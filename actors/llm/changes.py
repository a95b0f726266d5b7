"""Pure: the rules that read what becomes of a reminder: again, moved, paused; and whose zone."""

from __future__ import annotations

import re
from typing import Final

from actors.llm.intents import Change, Intent, SetZone, Snooze, Speaker
from actors.llm.rules import Rule, bare, described
from actors.llm.splitting import ErrorOf, Unclear, suffixes
from actors.llm.utterance import fold, matches

__all__ = ["again", "change_text", "change_time", "silence", "time_of", "zone"]

_SPANISH: Final = ("", "en ")
_ENGLISH: Final = ("", "in ")
_UNIT = re.compile(r"\b(?:seconds?|minutes?|hours?|days?|weeks?|an?|half)\b")
_JOINT = re.compile(r"(?:a|para|hasta|al|to|until|till|for|by)\s+(?=\S)")
_MORE = re.compile(r"\s+(?:mas(?: tarde)?|more|later)$")
_ENDS = re.compile(r"(?:^|\s)(?:a|para|hasta|al|to|until|till|for|by)$")


def time_of(text: str, error_of: ErrorOf) -> str | None:
    """Return the time that a text is, once what joins it is left out; None if it is none.

    `10 minutos` counts as well: here it can only mean from now on.
    """
    text = bare(text)
    less = text[: found.start()] if (found := _MORE.search(fold(text))) else text
    for said in dict.fromkeys((text, less)):
        for core in _without_joint(said):
            for lead in _ENGLISH if _UNIT.search(fold(core)) else _SPANISH:
                if error_of(f"{lead}{core}") is None:
                    return f"{lead}{core}"
    return None


def _without_joint(said: str) -> tuple[str, ...]:
    """The text without its `para`, `until`, …; an `a` may belong to the time: `a las 10`."""
    joint = _JOINT.match(fold(said))
    if joint is None:
        return (said,)
    rest = said[joint.end() :]
    return (said, rest) if joint[0].strip() in ("a", "al") else (rest, said)


def again(*patterns: str) -> Rule:
    """Return a rule for what is to be said once more; each pattern has a group `time`."""
    compiled = tuple(re.compile(pattern) for pattern in patterns)

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        text = bare(said)
        found = matches(compiled, text)
        if found is None:
            return None
        phrase = text[slice(*found.span("time"))]
        time = time_of(phrase, error_of)
        if time is not None:
            return Snooze(time)
        error = error_of(phrase)
        unknown = error is None or error.key == "phrase_unknown"
        return None if unknown else Unclear("phrase", phrase, error)

    return rule


def change_time(*verbs: str) -> Rule:
    """Return a rule for one of these verbs, the reminder that is meant, and its new time."""
    start = re.compile(rf"(?:{'|'.join(verbs)})\s+(?=\S)")

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        text = bare(said)
        found = start.match(fold(text))
        if found is None:
            return None
        rest = text[found.end() :]
        for phrase, before in suffixes(rest):
            time = time_of(phrase, error_of)
            which = _ENDS.sub("", fold(before).strip())
            if time is not None and which:
                if _bare(time, phrase):
                    return Unclear("shift", phrase)
                id, words = described(before[: len(before.rstrip())])
                return Change("update_reminder", id, words, before.strip(), (("time", time),))
        return _wrong_time(rest, error_of)

    return rule


def _bare(time: str, phrase: str) -> bool:
    """`una hora` for what is still to come: from now, or from its own time? Nobody guesses."""
    return fold(time).startswith(("en ", "in ")) and not fold(bare(phrase)).startswith(
        fold(time).split()[0] + " "
    )


def _wrong_time(rest: str, error_of: ErrorOf) -> Unclear | None:
    """Say what is wrong with the new time; None where no time can be seen at all."""
    for phrase, _ in suffixes(rest):
        error = error_of(phrase)
        if error is not None and not error.key.startswith(("phrase_unknown", "phrase_empty")):
            return Unclear("phrase", phrase, error)
    return None


def change_text(*patterns: str) -> Rule:
    """Return a rule for a reminder's new words; the patterns have groups `which` and `message`."""
    compiled = tuple(re.compile(pattern) for pattern in patterns)

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        text = said.strip(" ¿¡")
        found = matches(compiled, text)
        if found is None:
            return None
        which = text[slice(*found.span("which"))]
        message = text[slice(*found.span("message"))].strip(" \t«»\"'“”")
        id, words = described(which)
        if not message or not (id or words):
            return None
        return Change("update_reminder", id, words, which, (("message", message),))

    return rule


def silence(tool: str, *verbs: str) -> Rule:
    """Return a rule for messages that begin with one of these verbs, then name a reminder."""
    start = re.compile(rf"(?:{'|'.join(verbs)})(?:\s+(?P<rest>.*))?")

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        text = bare(said)
        found = start.fullmatch(fold(text))
        if found is None:
            return None
        rest = text[found.start("rest") :] if found["rest"] else ""
        id, words = described(rest)
        return Change(tool, id, words, rest)

    return rule


def zone(*patterns: str, whole_room: bool = False) -> Rule:
    """Return a rule for somebody's time zone; each pattern has a group `place`."""
    compiled = tuple(re.compile(pattern) for pattern in patterns)

    def rule(said: str, speaker: Speaker, error_of: ErrorOf) -> Intent | None:
        text = bare(said)
        found = matches(compiled, text)
        if found is None:
            return None
        return SetZone(text[slice(*found.span("place"))], whole_room)

    return rule
