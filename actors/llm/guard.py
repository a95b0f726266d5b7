"""Deadlines around any provider: each one that runs out becomes one typed ModelError."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import attrs
import trio

from actors.llm.protocol import (
    Finished,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelRequest,
    Provider,
    TextDelta,
)

__all__ = ["Deadlines", "GuardedProvider", "guarded"]

_WHY: Final[dict[ModelErrorKind, str]] = {
    "connect": "no connection within {:g} s",
    "first_token": "no first token within {:g} s",
    "idle": "the stream stalled for {:g} s",
    "total": "not done within {:g} s",
}


@attrs.frozen
class Deadlines:
    """How long each phase of a round may take, in seconds.

    `first_token` counts from the connection (for SDKs that connect late: from the request's start),
    `idle` from the event before, `total` from the start.
    """

    connect: float = 10.0
    first_token: float = 60.0
    idle: float = 30.0
    total: float = 300.0


def guarded(provider: Provider, deadlines: Deadlines) -> GuardedProvider:
    """Return `provider` under `deadlines`; a stream that does not end well is a ModelError."""
    return GuardedProvider(provider, deadlines)


class GuardedProvider:
    """A provider whose streams always end: with `Finished`, a ModelError, or a cancel."""

    def __init__(self, provider: Provider, deadlines: Deadlines) -> None:
        self._provider = provider
        self._deadlines = deadlines

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """Open a round. Time that the caller spends between events counts for `total` alone.

        A ModelError carries the text that had arrived.
        """
        watch = _Watch(self._deadlines, trio.current_time())
        kind, deadline = watch.next_deadline("connect")
        # This scope must enclose the whole block: a provider may open a nursery on entry.
        with trio.CancelScope(deadline=deadline) as scope:
            async with self._provider.stream(request) as events:
                scope.deadline = float("inf")
                yield watch.over(events)
        if scope.cancelled_caught:
            raise watch.ran_out(kind)

    async def aclose(self) -> None:
        """Close the provider inside."""
        await self._provider.aclose()


class _Watch:
    """One stream's deadlines and the text it has given so far; iterates over the events.

    A class and not an async generator: a consumer may stop anywhere, and nothing is left suspended.
    """

    def __init__(self, deadlines: Deadlines, started: float) -> None:
        self._deadlines = deadlines
        self._started = started
        self._text = ""
        self._phase: ModelErrorKind = "first_token"
        self._finished = False
        self._events: AsyncIterator[ModelEvent]

    def over(self, events: AsyncIterator[ModelEvent]) -> _Watch:
        self._events = events
        return self

    def next_deadline(self, kind: ModelErrorKind) -> tuple[ModelErrorKind, float]:
        """Return what runs out first, the phase or the whole, and when."""
        phase = trio.current_time() + getattr(self._deadlines, kind)
        total = self._started + self._deadlines.total
        return (kind, phase) if phase <= total else ("total", total)

    def ran_out(self, kind: ModelErrorKind) -> ModelError:
        seconds = getattr(self._deadlines, kind)
        return ModelError(kind, _WHY[kind].format(seconds), partial_text=self._text)

    def __aiter__(self) -> _Watch:
        return self

    async def __anext__(self) -> ModelEvent:
        if self._finished:
            raise StopAsyncIteration
        event = await self._step()
        self._phase = "idle"
        self._finished = isinstance(event, Finished)
        if isinstance(event, TextDelta):
            self._text += event.text
        return event

    async def _step(self) -> ModelEvent:
        kind, deadline = self.next_deadline(self._phase)
        try:
            with trio.CancelScope(deadline=deadline):
                return await anext(self._events)
        except StopAsyncIteration:
            why = "the stream ended without a finish reason"
            raise ModelError("protocol", why, partial_text=self._text) from None
        except ModelError as error:
            error.partial_text = error.partial_text or self._text
            raise
        raise self.ran_out(kind)
