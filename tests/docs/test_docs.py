"""Each page does what it says: its commands are typed, its files written, its outputs compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.checkout import ROOT, make_checkout
from tests.docs.player import play

PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.e2e
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_the_page_says_is_so(page: Path, tmp_path: Path) -> None:
    fences = sum(line.lstrip().startswith(("```", "~~~")) for line in page.read_text().splitlines())
    played = play(page, make_checkout(tmp_path / "vivero"))
    assert 2 * played == fences, "a block was not run"
