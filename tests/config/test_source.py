"""A later check can point at what it means."""

from __future__ import annotations

from config.document import parse
from config.source import Source

TEXT = """\
timezone: Mars/Olympus
schedules:
  - name: uno
    cron: "99 * * * *"
  - name: dos
    action: {kind: x}
"""
SOURCE = Source("f.yaml", parse(TEXT, "f.yaml").root)


def where(*path: str | int, key: bool = False) -> tuple[int, int]:
    problem = SOURCE.problem(*path, message="no", key=key)
    return problem.line, problem.col


def test_a_problem_points_at_the_value() -> None:
    assert str(SOURCE.problem("schedules", 0, "cron", message="no such minute")) == (
        "f.yaml:4:11: schedules[0].cron: no such minute"
    )


def test_a_problem_can_point_at_the_key() -> None:
    assert where("schedules", 0, "cron", key=True) == (4, 5)
    assert where("timezone", key=True) == (1, 1)


def test_what_is_not_in_the_file_points_at_its_nearest_ancestor() -> None:
    assert where("schedules", 1, "cron") == (5, 5)
    assert where("schedules", 7, "cron") == (3, 3)
    assert where("timezone", "deeper", 3) == (1, 11)
    assert where("nothing") == (1, 1)
    assert where("schedules", 1, "action", "message") == (6, 13)


def test_a_source_without_a_tree_points_at_the_top() -> None:
    assert str(Source("f").problem("a", message="no")) == "f:1:1: a: no"
