"""Pure: which words of a request say when and which say what; where that is open, nobody guesses.

The time grammar decides what a time is. A reading is taken only if no word that is left over could
belong to the time: better one question too many than a reminder at the wrong hour.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs

from actors.llm.utterance import DANGLING, fold, words
from cronactor.phrases import PhraseError

__all__ = ["Cause", "Split", "Unclear", "split", "suffixes", "without_connector"]

ErrorOf = Callable[[str], PhraseError | None]
"""Tells what the grammar has against a phrase; None when it is a time."""

Cause = str
"""no_time, no_message, phrase (see `error`), day, recurring, several."""

_MAX_WORDS = 14
_DAY_WORDS = 6
_UNSPECIFIC = ("phrase_unknown", "phrase_empty", "phrase_long", "phrase_char")

_DAYS = (
    "hoy|manana|pasado|lunes|martes|miercoles|jueves|viernes|sabado|domingo|finde|"
    "today|tomorrow|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend"
)
_DAY = re.compile(rf"(?:{_DAYS})|\d{{4}}-\d\d?-\d\d?|\d\d?/\d\d?(?:/\d+)?")
_EVERY = re.compile(
    rf"\b(?:cada|todos los|todas las|every|each)\s+(?:\w+\s+)?(?:{_DAYS}|\d+|dias?|semanas?|"
    r"mes(?:es)?|horas?|minutos?|segundos?|mananas?|tardes?|noches?|anos?|days?|weeks?|months?|hours?|minutes?|"
    r"seconds?|mornings?|evenings?|nights?|years?|weekdays?)\b"
    r"|\b(?:diariamente|a diario|semanalmente|mensualmente|daily|weekly|monthly|hourly)\b"
)
_ARTICLES = words("el la los las the este esta this next proximo proxima")
_PREPOSITIONS = words("de del para por of for from sobre about desde hasta until")
_JOINERS = words(
    "y e o u and or pero but hasta until till excepto salvo menos except unless starting desde "
    "from durante during alterno alternos"
)
_CONNECTOR = re.compile(r"(?:de que|que|de|to|that|about|para)\s+(?=\S)", re.IGNORECASE)
_FOR = re.compile(r"^(?:para|for)\s+(?=\S)", re.IGNORECASE)
_CONNECTORS = words("que to that de about para")
_EDGES = " \t,;:.-–—"


@attrs.frozen
class Split:
    """A request taken apart: `phrase` is a time to the grammar, `message` is the user's wording."""

    phrase: str
    message: str


@attrs.frozen
class Unclear:
    """Why a request was not taken apart; `phrase` is what might be the time."""

    cause: Cause
    phrase: str = ""
    error: PhraseError | None = None


def split(text: str, error_of: ErrorOf) -> Split | Unclear:
    """Find the time at the start or at the end of `text` and the message in what remains."""
    text = text.strip(_EDGES)
    found = _leading(text, error_of) or _leading(without_connector(text), error_of)
    found = found or _trailing(text, error_of)
    return found or _why_not(text, error_of)


def without_connector(text: str) -> str:
    """Drop a leading `que`, `de que`, `to`, `that`: the message is what follows."""
    text = text.strip(" \t,;:-–—")
    found = _CONNECTOR.match(text)
    return text[found.end() :].lstrip() if found else text


def _spans(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(r"\S+", text)]


def _prefixes(text: str) -> list[tuple[str, str]]:
    """Each leading run of words with the rest, longest first."""
    ends = [end for _, end in _spans(text)[:_MAX_WORDS]]
    return [(text[:end].strip(_EDGES), text[end:]) for end in reversed(ends)]


def suffixes(text: str) -> list[tuple[str, str]]:
    """Return each trailing run of words with what is before it, longest first."""
    starts = [start for start, _ in _spans(text)[-_MAX_WORDS:]]
    return [(text[start:].strip(_EDGES), text[:start]) for start in starts]


def _refused(refused: Unclear | None, phrase: str, error: PhraseError) -> Unclear | None:
    """Remember what the grammar has against the longest phrase: a part of it must not be taken."""
    mild = error.key in (*_UNSPECIFIC, "phrase_no_time") or error.key.startswith("cron_")
    if refused is not None or mild:
        return refused
    return Unclear("phrase", phrase, error)


def _leading(text: str, error_of: ErrorOf) -> Split | Unclear | None:
    refused: Unclear | None = None
    for phrase, rest in _prefixes(text):
        error = error_of(phrase)
        if error is not None:
            refused = _refused(refused, phrase, error)
            continue
        if refused is not None:
            return refused
        following = fold(rest).split()
        if following and following[0].strip(_EDGES) in _JOINERS:
            return Unclear("several", phrase)
        return _settled(phrase, rest, error_of)
    return None


def _trailing(text: str, error_of: ErrorOf) -> Split | Unclear | None:
    day = _leading_day(text, error_of)
    refused: Unclear | None = None
    for phrase, rest in suffixes(text):
        if len(rest) > len(day) and day and error_of(f"{day} {phrase}") is None:
            return refused or _settled(f"{day} {phrase}", rest[len(day) :], error_of)
        error = error_of(phrase)
        if error is not None:
            refused = _refused(refused, phrase, error)
            continue
        if refused is not None:
            return refused
        preceding = fold(rest).split()
        if preceding and preceding[-1] in DANGLING:
            return Unclear("several", phrase)
        return _settled(phrase, rest, error_of)
    return None


def _leading_day(text: str, error_of: ErrorOf) -> str:
    """`mañana comprar pan a las 9`: a day stands first, its time of day may stand last."""
    for day, _ in _prefixes(text):
        error = error_of(day)
        if error is not None and error.key == "phrase_no_time" and text.startswith(day):
            return day
    return ""


def _settled(phrase: str, rest: str, error_of: ErrorOf) -> Split | Unclear:
    """Accept the reading unless a word in the rest might change what the time means."""
    message = without_connector(rest)
    if fold(message) in _CONNECTORS or not any(map(str.isalnum, message)):
        return Unclear("no_message", phrase)
    if _lacks_day(phrase, error_of):
        if _EVERY.search(fold(message)):
            return Unclear("recurring", phrase)
        if _names_day(message) or _ends_with_day(message, error_of):
            return Unclear("day", phrase)
    return Split(_FOR.sub("", phrase, count=1), message)


def _lacks_day(phrase: str, error_of: ErrorOf) -> bool:
    """A mere time of day: a day before it would make sense."""
    return error_of(f"mañana {phrase}") is None


def _names_day(message: str) -> bool:
    """Whether a day stands in the message freely, and not as in `el informe del lunes`."""
    said = [word.strip(_EDGES + "()!?¡¿\"'«»") for word in fold(message).split()]
    for index, word in enumerate(said):
        if not _DAY.fullmatch(word):
            continue
        before = index - 1
        while before >= 0 and said[before] in _ARTICLES:
            before -= 1
        if before < 0 or said[before] not in _PREPOSITIONS:
            return True
    return False


def _ends_with_day(message: str, error_of: ErrorOf) -> bool:
    """`llamar a Luis el 10 de abril`: the message ends with a day that belongs to nothing in it."""
    for phrase, before in suffixes(message)[-_DAY_WORDS:]:
        around = fold(f"{before.split()[-1] if before.split() else ''} {phrase}").split()
        error = error_of(phrase)
        day = error is not None and error.key == "phrase_no_time"
        if day and not any(word in _PREPOSITIONS for word in around[:2]):
            return True
    return False


def _why_not(text: str, error_of: ErrorOf) -> Unclear:
    """No reading: tell the most specific thing that the grammar has against a part of the text."""
    for phrase, _ in [*_prefixes(text), *_prefixes(without_connector(text)), *suffixes(text)]:
        error = error_of(phrase)
        if error is not None and error.key not in _UNSPECIFIC:
            return Unclear("phrase", phrase, error)
    return Unclear("recurring" if _EVERY.search(fold(text)) else "no_time")
