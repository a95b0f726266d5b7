"""What a supervisor is told about a child: how to make it, when to restart it, how long to wait."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import attrs
import trio

from channels.mailbox import Inbox, MailboxSpec
from supervisor.policy import Backoff, Exhausted, Intensity, Restart, Rules

__all__ = ["Actor", "ChildSpec"]

_INTENSITY, _BACKOFF, _MAILBOX = Intensity(), Backoff(), MailboxSpec()


class Actor(Protocol):
    """Owns its state, receives from one mailbox, lives for one generation."""

    async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[Any]) -> None:
        """Call `task_status.started()` when ready, then work until `inbox` is drained.

        A cancel may come at any checkpoint; cleanup after it must be shielded and bounded.
        """
        ...


@attrs.frozen
class ChildSpec:
    """One child of a supervisor.

    `factory` makes a fresh actor for each generation. `address`: its name on the bus; None: it
    cannot be reached there. `start_timeout`: seconds until ready. `grace`: seconds between drain
    and cancel.

    Raises ValueError for what could not work, also when the backoff defeats the restart limit.
    """

    name: str
    factory: Callable[[], Actor]
    address: str | None = None
    restart: Restart = Restart.PERMANENT
    intensity: Intensity = _INTENSITY
    backoff: Backoff = _BACKOFF
    start_timeout: float = 10.0
    grace: float = 5.0
    mailbox: MailboxSpec = _MAILBOX
    exhausted: Exhausted = Exhausted.ESCALATE

    def __attrs_post_init__(self) -> None:
        if not self.name or "/" in self.name:
            raise ValueError(f"a child's name is not empty and has no '/': {self.name!r}")
        if not 0 < self.start_timeout < math.inf:
            raise ValueError(f"start_timeout must be positive and finite: {self.start_timeout}")
        if not 0 <= self.grace < math.inf:
            raise ValueError(f"grace must be finite and not negative: {self.grace}")
        self.rules  # noqa: B018 - building the rules checks them

    @property
    def rules(self) -> Rules:
        """The child's restart policy."""
        return Rules(self.restart, self.intensity, self.backoff, self.exhausted)
