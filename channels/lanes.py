"""Who is speaking: the serial lane (an actor, or one room or task of it) that code runs in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["current_lane", "lane"]

current_lane: ContextVar[str] = ContextVar("current_lane", default="")
"""The lane of the running task; "" (nobody) takes no part in cycle refusal."""


@contextmanager
def lane(name: str) -> Iterator[None]:
    """Run the block, and the tasks started in it, as lane `name` (say "asistente/#taller")."""
    token = current_lane.set(name)
    try:
        yield
    finally:
        current_lane.reset(token)
