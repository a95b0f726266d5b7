"""The host's own time zone as an IANA name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["host_zone"]


def host_zone(environ: Mapping[str, str] | None = None, etc: Path = Path("/etc")) -> str:
    """Return the zone that $TZ, /etc/timezone or the link /etc/localtime names, else "UTC"."""
    for name in _candidates(os.environ if environ is None else environ, etc):
        if _exists(name):
            return name
    return "UTC"


def _candidates(environ: Mapping[str, str], etc: Path) -> Iterator[str]:
    yield _name(environ.get("TZ", "").removeprefix(":"))
    with contextlib.suppress(OSError):
        yield (etc / "timezone").read_text(encoding="ascii", errors="replace").strip()
    yield _name(os.path.realpath(etc / "localtime"))


def _name(path: str) -> str:
    """`/usr/share/zoneinfo/posix/Europe/Madrid` -> `Europe/Madrid`; a plain name stays."""
    name = path.rpartition("/zoneinfo/")[2]
    return name.removeprefix("posix/").removeprefix("right/")


def _exists(name: str) -> bool:
    if not name or name.startswith("/"):
        return False
    from zoneinfo import ZoneInfo  # not needed by those who only read a written-out zone

    try:
        ZoneInfo(name)
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return False
    except KeyError:
        return False
    return True
