"""The host's zone, wherever the host keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.zone import host_zone


@pytest.mark.parametrize(
    ("tz", "zone"),
    [
        ("Europe/Madrid", "Europe/Madrid"),
        (":Europe/Madrid", "Europe/Madrid"),
        ("/usr/share/zoneinfo/posix/Asia/Tokyo", "Asia/Tokyo"),
        ("<-03>3", "UTC"),
        ("Mars/Olympus", "UTC"),
        ("../../etc/passwd", "UTC"),
        ("", "UTC"),
    ],
)
def test_the_environment_comes_first_when_it_names_a_zone(
    tmp_path: Path, tz: str, zone: str
) -> None:
    assert host_zone({"TZ": tz}, tmp_path) == zone


def test_then_the_file_then_the_link(tmp_path: Path) -> None:
    (tmp_path / "localtime").symlink_to("/usr/share/zoneinfo/America/Lima")
    assert host_zone({}, tmp_path) == "America/Lima"
    (tmp_path / "timezone").write_text("America/Bogota\n")
    assert host_zone({}, tmp_path) == "America/Bogota"
    (tmp_path / "timezone").write_bytes(b"\xff\0")
    assert host_zone({"TZ": "nonsense"}, tmp_path) == "America/Lima"


def test_a_host_that_says_nothing_is_on_utc(tmp_path: Path) -> None:
    (tmp_path / "localtime").write_bytes(b"TZif")
    assert host_zone({}, tmp_path) == "UTC"
