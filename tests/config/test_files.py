"""Reading what people wrote: text or one sentence."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.files import MAX_BYTES, UnreadableError, file_fault, read_text


def fault(path: Path) -> UnreadableError:
    with pytest.raises(UnreadableError) as caught:
        read_text(path)
    return caught.value


def test_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfma\xc3\xb1ana\r\n")
    assert read_text(path) == "mañana\r\n"


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    assert "does not exist" in fault(tmp_path / "a").message
    (tmp_path / "file").touch()
    assert "does not exist" in fault(tmp_path / "file" / "a").message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "folder" in fault(tmp_path).message


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in fault(tmp_path / "pipe").message


def test_a_device_is_refused() -> None:
    assert "not a regular file" in fault(Path("/dev/zero")).message


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "leads back to itself" in fault(tmp_path / "a").message


@pytest.mark.parametrize(
    ("number", "words"), [(errno.EACCES, "permission"), (errno.EIO, "Input/output error")]
)
def test_what_the_system_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    assert words in fault(tmp_path / "a").message


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    for path in (tmp_path, Path("/dev/zero"), tmp_path / "none"):
        fault(path)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_large_file_is_refused_and_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(MAX_BYTES * 1000)
    assert "larger than" in fault(tmp_path / "a").message


def test_bytes_that_are_no_text_have_a_position(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for raw in (b"\xc3\xb1: 1\nab\xff", b"\xc3\xb1: 1\nab\0", b"\xc3\xb1: 1\nab\x1b[0m"):
        path.write_bytes(raw)
        error = fault(path)
        assert (error.line, error.col) == (2, 3), raw


@given(raw=st.binary(max_size=200))
def test_any_bytes_are_text_or_an_error_inside_the_file(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-bytes"
    path.write_bytes(raw)
    try:
        assert "\0" not in read_text(path)
    except UnreadableError as error:
        assert 1 <= error.line <= raw.count(b"\n") + 1
        assert error.col >= 1


def test_a_path_out_of_the_folders_is_refused_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "in" / "link").symlink_to("../secret")
    (tmp_path / "in" / "fine").write_text("x")
    folders = [tmp_path / "in"]
    assert file_fault(tmp_path / "in" / "fine", folders) is None
    for bad in ("../secret", "link", "/etc/hostname"):
        assert "out of the workspace" in (file_fault(tmp_path / "in" / bad, folders) or "")
    assert "does not exist" in (file_fault(tmp_path / "in" / "no", folders) or "")
