"""Wall time as a value that is handed in: nothing below the launcher reads the host clock."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["SystemClock", "WallClock"]


class WallClock(Protocol):
    """Where the current civil time comes from."""

    def now(self) -> float:
        """Return seconds since the Unix epoch (UTC). Never blocks, never raises."""
        ...


class SystemClock:
    """The host's real-time clock; it may step backwards (NTP, suspend)."""

    def now(self) -> float:
        """Return seconds since the Unix epoch (UTC)."""
        return time.time()
