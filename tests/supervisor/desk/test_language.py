"""The language of a browser: the header's own rules, and no header that can hurt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.desk.language import preferred

KNOWN = ("es", "en")


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("es", "es"),
        ("en-GB,en;q=0.9", "en"),
        ("ES-mx", "es"),
        ("fr-FR, fr;q=0.9, en;q=0.8, es;q=0.7", "en"),
        ("en;q=0.1, es;q=0.2", "es"),
        ("en, es", "en"),
        ("en;q=0, es;q=0.001", "es"),
        ("en ; q = 0.5 , es;Q=0.6", "es"),
        ("en;q=0", None),
        ("fr", None),
        ("*", None),
        ("", None),
        (None, None),
        ("english", None),
        ("en;q=", None),
        ("en;q=nan", None),
        ("en;q=inf, es;q=0.1", "es"),
        ("en;q=7, es;q=0.1", "es"),
        ("en;level=1, es;q=0.1", "es"),
    ],
)
def test_the_weightiest_known_language_wins(header: str | None, language: str | None) -> None:
    assert preferred(header, KNOWN) == language


@given(st.text(max_size=3000))
def test_any_header_gives_a_known_language_or_none(header: str) -> None:
    assert preferred(header, KNOWN) in (*KNOWN, None)


tags = st.sampled_from(["es", "en", "fr", "es-AR", "en-US", "de", "*"])


@given(st.lists(st.tuples(tags, st.integers(0, 1000)), max_size=8))
def test_nothing_known_outweighs_what_is_chosen(parts: list[tuple[str, int]]) -> None:
    header = ", ".join(f"{tag};q={weight / 1000:.3f}" for tag, weight in parts)
    weights: dict[str, int] = {}
    for tag, weight in parts:
        language = tag.partition("-")[0]
        if language in KNOWN and weight > weights.get(language, 0):
            weights[language] = weight
    chosen = preferred(header, KNOWN)
    assert (chosen is None) == (not weights)
    assert chosen is None or weights[chosen] == max(weights.values())


@given(st.sampled_from(KNOWN), st.lists(st.sampled_from(["fr", "de-AT", "pt;q=0.9"]), max_size=4))
def test_languages_we_do_not_have_change_nothing(language: str, others: list[str]) -> None:
    assert preferred(", ".join([*others, f"{language};q=0.1"]), KNOWN) == language
