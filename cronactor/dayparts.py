"""Pure: the parts of the day, and which hours of the clock each can mean."""

from __future__ import annotations

import attrs

from cronactor.lexicon import Words

__all__ = ["Part", "hour_in", "take_part", "take_plural_part", "usual_hour"]


@attrs.frozen
class Part:
    """A part of the day as it was said: `name` morning, small (hours), noon, afternoon, …"""

    name: str
    said: str


_SPANISH = {"manana": "morning", "madrugada": "small", "tarde": "afternoon", "noche": "night"}
_ENGLISH = {
    "morning": "morning", "afternoon": "afternoon", "evening": "evening", "night": "night",
}  # fmt: skip
_PARTS: tuple[tuple[tuple[str, ...], str], ...] = (
    *(
        ((link, "la", word), name)
        for word, name in _SPANISH.items()
        for link in ("de", "por", "en", "a")
    ),
    *((("de", word), name) for word, name in _SPANISH.items() if word != "manana"),
    (("del", "mediodia"), "noon"),
    (("del", "medio", "dia"), "noon"),
    *((("in", "the", word), name) for word, name in _ENGLISH.items()),
    (("at", "night"), "night"),
    (("am",), "am"),
    (("pm",), "pm"),
)
_PLURALS = {
    **{f"{word}s": name for word, name in _SPANISH.items()},
    **{f"{word}s": name for word, name in _ENGLISH.items()},
}

_BY_PART: dict[str, dict[int, int]] = {
    "am": {h: h for h in range(1, 12)},
    "pm": {12: 12, **{h: h + 12 for h in range(1, 12)}},
    "morning": {h: h for h in range(1, 12)},
    "small": {h: h for h in range(7)},
    "noon": {12: 12, **{h: h + 12 for h in range(1, 4)}},
    "afternoon": {12: 12, **{h: h + 12 for h in range(1, 9)}, **{h: h for h in range(13, 21)}},
    "evening": {**{h: h + 12 for h in range(4, 12)}, **{h: h for h in range(16, 24)}},
    "night": {**{h: h + 12 for h in range(7, 12)}, **{h: h for h in range(19, 24)}},
}
_USUAL = {
    "am": 9, "pm": 17, "morning": 9, "small": 3, "noon": 12, "afternoon": 17, "evening": 19,
    "night": 21,
}  # fmt: skip


def take_part(words: Words, *, bare: bool = False) -> Part | None:
    """Read `de la tarde`, `at night`, `pm`; with `bare` also the part alone: `friday morning`."""
    for sequence, name in _PARTS:
        if words.take(*sequence):
            return Part(name, " ".join(sequence).replace("manana", "mañana"))
    word = words.peek() or ""
    if bare and word in _ENGLISH and words.take(word):
        return Part(_ENGLISH[word], word)
    return None


def take_plural_part(words: Words, *, every: bool = False) -> Part | None:
    """Read `mañanas`, `nights`; with `every` before it also `mañana`, `night`."""
    word = words.peek() or ""
    name = _PLURALS.get(word)
    if every:
        name = name or _SPANISH.get(word) or _ENGLISH.get(word)
    return Part(name, word) if name is not None and words.take(word) else None


def hour_in(part: Part, hour: int) -> int | None:
    """Return the hour from 0 to 23 that `hour` means in that part; None when it has no such."""
    return _BY_PART[part.name].get(hour)


def usual_hour(part: Part | None) -> int:
    """Return an hour to suggest for a part of the day."""
    return 9 if part is None else _USUAL[part.name]
