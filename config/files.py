"""Reading text files that people wrote: bounded, regular files only, every failure one sentence."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

__all__ = ["MAX_BYTES", "UnreadableError", "file_fault", "read_text"]

MAX_BYTES = 1_000_000

_REASONS = {
    errno.ENOENT: "the file does not exist",
    errno.ENOTDIR: "the file does not exist (part of its path is not a folder)",
    errno.EACCES: "the file cannot be read: give this user permission to read it",
    errno.EPERM: "the file cannot be read: give this user permission to read it",
    errno.ELOOP: "the file is a symbolic link that leads back to itself",
    errno.ENAMETOOLONG: "the file's path is too long",
}
_NOT_TEXT = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|[\ufffe\uffff]")


class UnreadableError(Exception):
    """Why a file could not be read, and at which line and column (from 1) of it."""

    def __init__(self, message: str, line: int = 1, col: int = 1) -> None:
        super().__init__(message)
        self.message, self.line, self.col = message, line, col


def read_text(path: str | Path, limit: int = MAX_BYTES) -> str:
    """Return the text of a UTF-8 file of at most `limit` bytes, without its byte order mark.

    Raises UnreadableError for anything else: no such file, a folder, a pipe, too large, not UTF-8,
    control characters. Never blocks on a pipe.
    """
    try:
        raw = _read_bytes(path, limit)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"the file cannot be read: {error.strerror}")
        raise UnreadableError(reason) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        byte = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        raise UnreadableError(f"{byte}: save the file as UTF-8", *_position(before)) from None
    if found := _NOT_TEXT.search(text):
        sign = f"the character U+{ord(found.group()):04X} is not text"
        raise UnreadableError(f"{sign}: remove it", *_position(text[: found.start()]))
    return text


def file_fault(path: Path, folders: Iterable[Path]) -> str | None:
    """Return why `path` is no readable text inside one of `folders` (links followed), else None."""
    if not any(_is_inside(path, folder) for folder in folders):
        return "the path leads out of the workspace: name a file inside it"
    try:
        read_text(path)
    except UnreadableError as error:
        return error.message
    return None


def _is_inside(path: Path, folder: Path) -> bool:
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([real, root]) == root


def _read_bytes(path: str | Path, limit: int) -> bytes:
    # O_NONBLOCK: opening a pipe without a writer would wait for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise UnreadableError("this is a folder: a file is needed here")
        if not stat.S_ISREG(mode):
            raise UnreadableError("this is not a regular file")
        with open(handle, "rb", closefd=False) as file:
            raw = file.read(limit + 1)
    finally:
        os.close(handle)
    if len(raw) > limit:
        raise UnreadableError(f"the file is larger than {limit} bytes")
    return raw


def _position(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - before.rfind("\n")
