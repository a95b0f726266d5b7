"""Pure: how people name the working days, the weekend and the units by which things come back."""

from __future__ import annotations

__all__ = ["OF_MONTH", "UNIT_PHRASES", "WEEKDAY_NAMES", "WEEKEND_NAMES"]

WEEKDAY_NAMES = (
    ("entre", "semana"),
    ("todos", "los", "dias", "laborables"),
    ("todos", "los", "dias", "habiles"),
    ("todos", "los", "dias", "laborales"),
    ("todos", "los", "dias", "de", "trabajo"),
    ("todos", "los", "dias", "de", "entre", "semana"),
    ("los", "dias", "laborables"),
    ("los", "dias", "habiles"),
    ("los", "dias", "laborales"),
    ("los", "dias", "de", "trabajo"),
    ("los", "dias", "de", "entre", "semana"),
    ("cada", "dia", "laborable"),
    ("cada", "dia", "habil"),
    ("cada", "dia", "laboral"),
    ("cada", "dia", "de", "entre", "semana"),
    ("every", "weekday"),
    ("each", "weekday"),
    ("on", "weekdays"),
    ("weekdays",),
    ("every", "workday"),
    ("every", "working", "day"),
    ("every", "work", "day"),
    ("every", "business", "day"),
    ("on", "workdays"),
    ("on", "working", "days"),
    ("on", "business", "days"),
)
WEEKEND_NAMES = (
    ("todos", "los", "fines", "de", "semana"),
    ("los", "fines", "de", "semana"),
    ("cada", "fin", "de", "semana"),
    ("todos", "los", "findes"),
    ("los", "findes"),
    ("cada", "finde"),
    ("every", "weekend"),
    ("each", "weekend"),
    ("on", "weekends"),
    ("on", "the", "weekends"),
    ("weekends",),
)

_UNITS = {
    "day": "cada dia|todos los dias|diariamente|diario|a diario|every day|everyday|each day|daily|"
    "cada 1 dia|cada un dia|every 1 day|every single day|todos los santos dias|al dia",
    "week": "cada semana|todas las semanas|semanalmente|every week|each week|weekly|"
    "de cada semana|of every week|of each week|a la semana",
    "month": "cada mes|todos los meses|mensualmente|every month|each month|monthly|de cada mes|"
    "de todos los meses|of every month|of each month|in every month|in each month|al mes",
    "year": "cada ano|todos los anos|anualmente|every year|each year|yearly|annually|"
    "de cada ano|de todos los anos|of every year|of each year|al ano",
}  # fmt: skip
UNIT_PHRASES = tuple(
    (tuple(phrase.split()), unit)
    for unit, phrases in _UNITS.items()
    for phrase in phrases.split("|")
)
OF_MONTH = (("del", "mes"), ("de", "mes"), ("of", "the", "month"))
