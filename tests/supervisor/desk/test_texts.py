"""Every text exists in both languages with the same places to fill."""

from __future__ import annotations

import string

import pytest

from supervisor.desk.texts import _TEXTS, Texts


@pytest.mark.parametrize("key", sorted(_TEXTS))
def test_both_languages_take_the_same_values(key: str) -> None:
    spanish, english = (
        {name for _, name, _, _ in string.Formatter().parse(text) if name} for text in _TEXTS[key]
    )
    assert spanish == english


def test_an_unknown_locale_reads_as_spanish() -> None:
    assert Texts("xx")("nothing") == Texts("es")("nothing") == "nada"
    assert Texts("en")("nothing") == "nothing"


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        Texts()("no such key")
