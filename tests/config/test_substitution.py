"""`${VAR}` as in a shell, and never a value in an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.substitution import SubstitutionError, substitute

ENV = {"HOST": "example.org", "EMPTY": "", "SECRET": "sk-live", "BAD": "a\udcffb"}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${HOST}", "example.org"),
        ("https://${HOST}/${HOST}", "https://example.org/example.org"),
        ("${NO:-x y}", "x y"),
        ("${NO:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("${HOST:-x}", "example.org"),
        ("$${HOST}", "${HOST}"),
        ("$HOST and $ and 5$", "$HOST and $ and 5$"),
    ],
)
def test_references_are_replaced(text: str, result: str) -> None:
    assert substitute(text, ENV) == result


@pytest.mark.parametrize(
    "text", ["${", "${}", "${1X}", "${HOST", "${HOST:x}", "${A:-${B}}", "${HO ST}"]
)
def test_a_broken_reference_says_how_to_write_it(text: str) -> None:
    with pytest.raises(SubstitutionError, match=r"write \$\{NAME\}"):
        substitute(text, ENV)


def test_an_unset_variable_is_named_and_no_value_is_shown() -> None:
    with pytest.raises(SubstitutionError, match="variable NOPE is not set") as caught:
        substitute("${SECRET}${NOPE}", ENV)
    assert "sk-live" not in str(caught.value)


def test_a_variable_that_is_no_text_is_refused_without_showing_it() -> None:
    with pytest.raises(SubstitutionError, match="BAD is not UTF-8 text"):
        substitute("${BAD}", ENV)


@given(st.text().filter(lambda text: "${" not in text))
def test_text_without_references_stays(text: str) -> None:
    assert substitute(text, {}) == text


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
def test_what_a_variable_holds_is_not_replaced_again(text: str) -> None:
    assert substitute("${V}", {"V": "${HOST}" + text}) == "${HOST}" + text


@given(st.text("${}:-AB \n"))
def test_any_text_is_replaced_or_refused(text: str) -> None:
    try:
        substitute(text, {"A": "1"})
    except SubstitutionError as error:
        assert "${" in str(error)
