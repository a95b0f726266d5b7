"""A table of phrases, most of it by another hand than the parser's: every answer is right."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from cronactor.phrases import At, Cron, PhraseError, parse
from cronactor.schedule import parse_cron
from tests.cronactor.phrasebook import BAD, EN, ES, NEUTRAL, NOW, PHRASES, ZONE, Expected
from tests.cronactor.phrasebook_more import MORE


def wanted(expected: Expected) -> object:
    if isinstance(expected, str) and expected != "error":
        return datetime.fromisoformat(expected).replace(tzinfo=ZoneInfo(ZONE)).timestamp()
    return expected


def answer(phrase: str) -> object:
    try:
        when = parse(phrase, NOW, ZONE)
    except PhraseError as error:
        assert error.say("es") != error.say("en")
        return "error"
    if isinstance(when, At):
        return when.instant
    if isinstance(when, Cron):
        assert parse_cron(when.expr).text == when.expr
        return ("cron", when.expr)
    return ("every", when.seconds)


@pytest.mark.parametrize(("phrase", "expected"), [*PHRASES, *MORE])
def test_a_phrase_of_the_table_has_its_right_answer(phrase: str, expected: Expected) -> None:
    assert answer(phrase) == wanted(expected)


def test_the_table_is_as_large_as_promised_in_both_languages() -> None:
    assert len({phrase for phrase, _ in (*PHRASES, *MORE)}) >= 500
    assert min(len(ES), len(EN), len(BAD)) >= 100 and len(NEUTRAL) >= 10
