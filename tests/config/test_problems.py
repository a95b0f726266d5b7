"""How a fault reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from config.problems import ConfigError, Problem, did_you_mean, dotted, printable


def test_a_problem_reads_as_file_line_column_key_message() -> None:
    assert str(Problem("a.yaml", 3, 5, "rooms[0].id", "is missing")) == (
        "a.yaml:3:5: rooms[0].id: is missing"
    )


def test_a_problem_of_the_whole_file_has_no_key() -> None:
    assert str(Problem("a.yaml", 1, 1, "", "the file is empty")) == "a.yaml:1:1: the file is empty"


def test_an_error_reads_as_one_line_a_problem() -> None:
    problems = [Problem("a", 1, 1, "x", "no"), Problem("a", 2, 1, "y", "no")]
    error = ConfigError(problems)
    assert error.problems == tuple(problems)
    assert str(error) == "a:1:1: x: no\na:2:1: y: no"


def test_a_near_word_is_suggested_whatever_its_case() -> None:
    assert did_you_mean("Timezon", ["timezone", "locale"]) == " (did you mean 'timezone'?)"
    assert did_you_mean("zzz", ["timezone", "locale"]) == ""


def test_a_path_reads_with_dots_and_brackets() -> None:
    assert dotted(("rooms", 0, "id")) == "rooms[0].id"
    assert dotted(()) == ""


@given(st.text())
def test_what_is_printed_fits_on_one_line_of_a_terminal(text: str) -> None:
    shown = printable(text, 20)
    assert shown.isprintable()
    shown.encode()
