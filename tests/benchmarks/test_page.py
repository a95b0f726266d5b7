"""The page's benchmark: a steady flood, medians of paired rounds, what it says unmeasured."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from benchmarks import page, report
from benchmarks.flooded import Round
from benchmarks.load import BURST, TICK_SECONDS, Source
from benchmarks.page import FACTOR, SLACK_MS, Pair, judge


def a_round(milliseconds: float, seconds: float = 2.0) -> Round:
    return Round((milliseconds,) * 100, seconds, seconds / 4, round(5_000 * seconds))


def pairs(*measured: tuple[float, float]) -> list[Pair]:
    return [Pair(a_round(a), a_round(b), 9_000) for a, b in measured]


@pytest.mark.parametrize("rate", [300.0, 5_000.0])
async def test_the_source_publishes_at_its_rate_in_order(
    autojump_clock: MockClock, rate: float
) -> None:
    published: list[int] = []
    source = Source(rate, published.append)
    with trio.move_on_after(10):
        await source.run()
    assert source.sent == pytest.approx(10 * rate, abs=2 * rate * TICK_SECONDS + 1)
    assert published == list(range(source.sent))


async def test_a_source_that_was_held_up_does_not_make_up_for_all_of_it(
    mock_clock: MockClock,
) -> None:
    source = Source(5_000.0, lambda number: None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(source.run)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(60)
        await trio.testing.wait_all_tasks_blocked()
        assert source.sent == BURST
        nursery.cancel_scope.cancel()


def test_the_budget_is_judged_by_the_median_of_the_ratios_within_pairs() -> None:
    just = FACTOR * 10 + SLACK_MS
    row = judge(pairs((10, just - 1), (100, 100), (10, just - 1e-6), (10, 90), (1, 90)))
    assert row.met is True
    assert row.value == pytest.approx(90)
    assert judge(pairs((10, just + 0.1), (10, 90), (100, 100))).met is False


def test_the_note_says_what_the_figure_rests_on() -> None:
    note = judge(pairs((10, 12), (10, 12))).note
    for text in ("without 10.0 ms", "1.00", "2 pairs", "100 answers", "25 %", "5,000 events/s"):
        assert text in note
    assert "4,500/s read" in note


def test_without_chromium_the_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "CHROMIUM", Path("/nowhere/chromium"))
    (row,) = page.rows(quick=True)
    assert row.met is None
    assert "/nowhere/chromium" in row.note
    assert "not measured" in report.table([row])
    assert not math.isnan(row.value or 0.0)
