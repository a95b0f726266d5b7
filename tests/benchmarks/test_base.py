"""The benchmark table judges what it says: paired ratios, missed budgets, absent contenders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.__main__ import MODULES, main
from benchmarks.base import Row, compared, interleaved


def test_contenders_take_turns_and_each_pass_begins_with_another() -> None:
    order: list[str] = []

    def contender(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = interleaved({n: lambda n=n: contender(n) for n in "abc"}, passes=2)
    assert "".join(order) == "abc" + "abc" + "bca"
    assert samples == {"a": [4.0, 9.0], "b": [5.0, 7.0], "c": [6.0, 8.0]}


def row(required: float, absent: tuple[str, ...] = ()) -> Row:
    samples = {"bus": [10.0, 20.0, 90.0], "other": [5.0, 10.0, 30.0]}
    return compared(
        "work", "msg/s", samples, ours="bus", required={"other": required}, absent=absent
    )


def test_a_ratio_is_the_median_of_the_ratios_within_passes() -> None:
    assert row(2.0).value == 20.0
    assert row(2.0).baselines[0].ratio == 2.0
    assert row(2.0).met is True
    assert row(2.1).met is False


def test_a_budget_against_something_absent_is_not_judged() -> None:
    samples = {"bus": [10.0], "other": [5.0]}
    asked = {"other": 2.0, "gone": 10.0}
    judged = compared("work", "msg/s", samples, ours="bus", required=asked, absent=["gone"])
    assert judged.met is None
    assert "gone: not installed" in report.table([judged])
    missed = compared("work", "msg/s", samples, ours="bus", required={"other": 3.0, "gone": 10.0})
    assert missed.met is False


def test_the_table_names_what_was_missed() -> None:
    assert "MISSED" in report.table([row(3.0)])
    assert "MISSED" not in report.table([row(1.0)])


def test_saving_one_module_keeps_the_rows_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS_MD", tmp_path / "RESULTS.md")
    monkeypatch.setattr(report, "RESULTS_JSON", tmp_path / "results.json")
    report.save({"one": [Row("first", 1.0, "s", note="a remark")]})
    report.save({"two": [row(2.0)]})
    page = (tmp_path / "RESULTS.md").read_text()
    assert all(text in page for text in ("## one", "first", "a remark", "## two", "2 ×", "cores"))
    assert json.loads((tmp_path / "results.json").read_text()).keys() == {"one", "two"}


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert MODULES[0] in capsys.readouterr().err
