"""What a docstring says about a tool and its arguments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tools.docstrings import describe


def test_google_style_arguments_are_read_and_programmers_sections_dropped() -> None:
    found = describe(
        """Water the plants.

        They like it.

        Args:
            where: the room,
                or the garden.
            litres (float): how much.

        Returns:
            str: nothing of interest.
        """,
        {"where", "litres"},
    )
    assert found.text == "Water the plants.\n\nThey like it."
    assert found.arguments == {"where": "the room, or the garden.", "litres": "how much."}


def test_plain_lines_name_arguments_only_when_they_are_arguments() -> None:
    found = describe(
        """Water the plants. Note: not the cactus.
        where: the room
        `litres`: how much
        """,
        {"where", "litres"},
    )
    assert found.text == "Water the plants. Note: not the cactus."
    assert found.arguments == {"where": "the room", "litres": "how much"}


def test_sphinx_style_is_read_too() -> None:
    found = describe("Water.\n\n:param where: the room", {"where"})
    assert (found.text, found.arguments) == ("Water.", {"where": "the room"})


def test_prose_after_plain_arguments_stays_prose() -> None:
    found = describe("Water.\nwhere: the room\n\nMore to say.", {"where"})
    assert found.text == "Water.\n\nMore to say."


def test_nothing_is_nothing() -> None:
    assert describe(None, ()).text == ""


@given(st.text(), st.sets(st.text(min_size=1), max_size=3))
def test_no_docstring_makes_it_raise(text: str, names: set[str]) -> None:
    describe(text, names)
