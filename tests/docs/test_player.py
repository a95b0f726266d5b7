"""A page that is not true fails, and says at which line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.checkout import ROOT, make_checkout
from tests.docs.player import PageFault, play

Played = Callable[[str], int]


@pytest.fixture
def played(tmp_path: Path) -> Played:
    checkout = make_checkout(tmp_path / "vivero")

    def play_text(text: str) -> int:
        page = tmp_path / "page.md"
        page.write_text(text)
        return play(page, checkout)

    return play_text


def block(kind: str, text: str, title: str = "") -> str:
    attribute = f' title="{title}"' if title else ""
    return f"```{kind}{attribute}\n{text}\n```\n\n"


def test_a_true_page_is_played_to_its_end(played: Played) -> None:
    page = (
        block("yaml", "a: 1\nb: 2", "mine/x.yaml")
        + block("yaml", "b: 2", "mine/x.yaml (part)")
        + block("diff", "-a: 1\n+a: 3\n b: 2", "mine/x.yaml")
        + block("bash", "cd mine\nword=x")
        + block("bash", "cat $word.yaml; \\\n  false || echo no")
        + block("text", "a: 3\nb: 2\nno")
    )
    assert played(page) == 6


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (block("bash", "true\nfalse"), "page.md:1: .*exit code 1"),
        (block("bash", "echo a") + block("text", "b"), "page.md:5: the page says"),
        (block("bash", "echo 'a") + block("text", "a"), "page.md:1"),
        (block("text", "a"), "no command"),
        (block("", "ls"), "nobody can run"),
        (block("sh", "ls"), "nobody can run"),
        (block("yaml", "a: 1"), "nobody can run"),
        (block("bash", "ls", "somewhere"), "names no terminal"),
        (block("python", "def f(:", "mine/x.py"), "page.md:1"),
        (block("python", "x = 1", "mine/x.py"), "page.md:1: nothing runs mine/x.py"),
        (block("python", "x = 1", "tools/x.py"), "own folders"),
        (block("python", "x = 1", "../x.py"), "own folders"),
        (block("yaml", "a: 1", "mine/x.yaml (part)"), "there is no file"),
        (block("yaml", "name: zzz", "README.md (part)"), "do not stand"),
        (block("diff", "-a\n+b", "pyproject.toml"), "do not stand once"),
    ],
)
def test_an_untrue_page_fails_with_its_line(played: Played, page: str, said: str) -> None:
    with pytest.raises(PageFault, match=f"(?s){said}"):
        played(page)


def test_no_page_can_write_into_the_sources(played: Played) -> None:
    before = (ROOT / "pyproject.toml").read_text()
    with pytest.raises(PageFault):
        played(block("diff", "-[build-system]\n+[x]", "pyproject.toml"))
    assert (ROOT / "pyproject.toml").read_text() == before


STARTED = block("bash", "./dev run", "First terminal")


def test_what_stays_in_the_foreground_is_watched_and_stopped(played: Played) -> None:
    page = (
        STARTED
        + block("text", "…\nCtrl-C lo para.")
        + block("bash", ".venv/bin/agentctl reload devops", "Second terminal")
        + block("text", "devops: recargado (generación 2)")
        + block("text", "… agent devops reloaded successfully …", "First terminal")
        + block("text", "^C\n…\n… stopped code=0", "First terminal")
    )
    assert played(page) == 6


def test_nobody_types_where_something_runs(played: Played) -> None:
    with pytest.raises(PageFault, match="still runs here"):
        played(STARTED + block("bash", "ls", "First terminal"))
