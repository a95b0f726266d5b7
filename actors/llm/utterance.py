"""Pure: a message's text made comparable, and stripped of names and courtesies around its core."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["DANGLING", "core", "fold", "language_of", "matches", "words"]


def words(text: str) -> frozenset[str]:
    """Return the set of the words in a list written as one text."""
    return frozenset(text.split())


MAX_LENGTH = 8000
"""What is longer is cut; a reminder may have half of it, so nothing cut is ever kept."""

_COURTESIES = (
    "por favor", "porfa", "please", "oye", "oiga", "hey", "eh", "a ver", "ok", "vale", "bueno",
    "hola", "buenas", "buenos dias", "buenas tardes", "buenas noches", "hi", "hello",
    "good morning", "good afternoon", "good evening",
    "me puedes", "me podrias", "puedes", "podrias", "quieres", "quiero que", "necesito que",
    "can you", "could you", "would you", "will you", "i want you to", "i need you to",
)  # fmt: skip
_ANY_COURTESY = "|".join(sorted(_COURTESIES, key=len, reverse=True))
_LEADING = re.compile(rf"[¿¡\s]*(?:{_ANY_COURTESY})(?:\s*[,;:.!-]+\s*|\s+)(?=\S)")
_ASKING = re.compile(
    r"[¿\s]*(?:¿|(?:me )?(?:puedes|podrias|quieres)\b|(?:can|could|would|will) you\b)"
)
_TRAILING = re.compile(r"(?:\s*,\s*|\s+)(?:por favor|porfa|please)[\s.!?]*$")

_SPANISH = words(
    "el la los las que de del y en por para un una es con no mi me se al lo como cuando donde "
    "hola gracias favor quiero puedes haz hazme dime pon borra tengo hay"
)
_ENGLISH = words(
    "the is to of and in an my me you i what when where how please it for on do can not with this "
    "that are be hello thanks make tell give want"
)

DANGLING = words(
    "de del para por of for from sobre about desde hasta until till antes despues before after a "
    "al at y e o u and or entre between el la los las the un una que to sin with con"
)
"""Words that promise another one: a text that ends with them is not complete."""


@lru_cache(maxsize=128)
def fold(text: str) -> str:
    """Lower case without accents, character by character, so that positions stay."""
    return "".join(map(_fold_character, text))


def _fold_character(character: str) -> str:
    if character in "´`’‘":
        return "'"
    base = unicodedata.normalize("NFD", character)[0].lower()
    return base if len(base) == 1 else character


def core(text: str, names: Iterable[str], *, courtesies: bool = True) -> str:
    """Return what a message asks, without mentions of this agent (`names`) and without courtesies.

    The wording that stays is the user's own. A message of nothing but courtesies keeps its last;
    with `courtesies` false all of them stay.
    """
    text = " ".join(unicodedata.normalize("NFC", text[:MAX_LENGTH]).split())
    listed = sorted({fold(name) for name in names if name.strip()}, key=len, reverse=True)
    called = "|".join(map(re.escape, listed)) or "(?!)"
    # `@name` may be followed by anything, a bare name only by a pause or by more text.
    address = re.compile(rf"\s*(?:@(?:{called})(?::[\w.:-]+)?|(?:{called})(?=[\s,:;]))[\s,:;.!-]*")
    ending = re.compile(rf"\s*(?:(?<=\s)@|[,;]\s*@?)(?:{called})[\s.!?]*$")
    before = None
    while before != text:
        before = text
        text = _as_statement(_without_start(address, text))
        if courtesies:
            text = _without_start(_LEADING, text)
        for pattern in (ending, _TRAILING) if courtesies else (ending,):
            found = pattern.search(fold(text))
            if found and _complete(text[: found.start()]):
                text = text[: found.start()]
    return text.strip()


def _without_start(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.match(fold(text))
    return text[found.end() :] if found and found.end() < len(text) else text


def _as_statement(text: str) -> str:
    """`¿puedes recordarme …?`: the question mark is the courtesy's, not the message's."""
    if text.endswith("?") and text.count("?") == 1 and _ASKING.match(fold(text)):
        return text.lstrip("¿ ").rstrip("? ") or text
    return text


def _complete(text: str) -> bool:
    """Whether something is left, and not something like `dar las gracias a`."""
    left = fold(text).split()
    return bool(left) and left[-1] not in DANGLING


def matches(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    """Return the match of the first pattern that fits the folded `text` as a whole."""
    folded = fold(text)
    return next((found for pattern in patterns if (found := pattern.fullmatch(folded))), None)


def language_of(text: str, default: str) -> str:
    """Return "es" or "en" by the common words in `text`; `default` when they do not decide."""
    said = re.findall(r"[a-z']+", fold(text))
    spanish, english = (sum(word in known for word in said) for known in (_SPANISH, _ENGLISH))
    if spanish == english:
        return default
    return "es" if spanish > english else "en"
