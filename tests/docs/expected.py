"""Pure: what a page says a command prints, as a pattern; what differs each time may differ.

`…` stands for any text within a line, a line of nothing else for any lines. Dates, times of day,
lengths of time, ids, process ids and ports (on the page, numbers of four digits and more), and the
width of columns may be others than on the page. `/home/ana/vivero` is the reader's copy of the
repository.
"""

from __future__ import annotations

import re

__all__ = ["HOME", "pattern", "tidy"]

HOME = "/home/ana/vivero"
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_VARIABLE = (
    rf"(?:{_DAYS}) \d{{1,2}} [A-Z][a-z]+ \d{{4}}",  # Monday 30 November 2026
    r"(?:today|tomorrow) \d{4}-\d\d-\d\d",
    r"\d{4}-\d\d-\d\d",
    r"\d\d:\d\d(?::\d\d)?",
    r"\d+(?:\.\d+)? ?(?:s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?",  # 13 h 9 min, 0.85s
    r"(?<=_s=)\d+(?:\.\d+)?",
    r"\blocal-\d+",
    r"\br[0-9a-z]{5}(?=\]|\s{2}| room=| audit=)",  # a reminder's id
    r"\d{4,}",
    r"[+-]\d\d:\d\d(?=\")",
)
_TOKENS = re.compile("|".join([*(f"({part})" for part in _VARIABLE), "(…)", r"(\s{2,})"]))
_ELISION, _GAP = len(_VARIABLE) + 1, len(_VARIABLE) + 2


def tidy(output: str) -> str:
    """Return an output without the empty lines around it, each line ended."""
    return output.strip("\n") + "\n" if output.strip("\n") else ""


def pattern(text: str, home: str = HOME) -> re.Pattern[str]:
    """Return a pattern for whole lines of an output; `home` replaces the reader's folder."""
    lines = text.replace(HOME, home).strip("\n").split("\n")
    return re.compile("".join(map(_line_pattern, lines)))


def _line_pattern(line: str) -> str:
    if line.strip() == "…":
        return r"(?:[^\n]*\n)*?"
    return _line(line.rstrip()) + r"[ \t]*\n"


def _line(text: str) -> str:
    parts, at = [], 0
    for found in _TOKENS.finditer(text):
        parts += [re.escape(text[at : found.start()]), _part(found)]
        at = found.end()
    return "".join([*parts, re.escape(text[at:])])


def _part(found: re.Match[str]) -> str:
    if found.lastindex == _ELISION:
        return r"[^\n]*?"
    if found.lastindex == _GAP:
        return r"[ ]+" if found.start() else re.escape(found[0])
    if found[0].isdigit():
        return r"\d+"
    return _VARIABLE[(found.lastindex or 1) - 1]
