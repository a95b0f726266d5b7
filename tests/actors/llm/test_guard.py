"""Deadlines: every stream ends with `Finished`, one typed error, or a cancel from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio

from actors.llm.guard import Deadlines, guarded
from actors.llm.protocol import (
    Finished,
    ModelError,
    ModelEvent,
    ModelRequest,
    TextDelta,
    complete,
)
from tests.actors.llm.requests import request

LIMITS = Deadlines(connect=1, first_token=6, idle=3, total=20)
Wait = float
Part = Wait | ModelEvent | Exception


@attrs.define
class Staged:
    """Plays a list: numbers are waits, events are given, exceptions raised."""

    parts: Sequence[Part]
    connecting: float = 0.0
    closing: float = 0.0
    closed: list[str] = attrs.field(factory=list)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep(self.connecting)
                yield _Play(list(self.parts))
            finally:
                self.closed.append("closed")
                nursery.cancel_scope.cancel()

    async def aclose(self) -> None:
        self.closed.append("provider")


class _Play:
    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts

    def __aiter__(self) -> _Play:
        return self

    async def __anext__(self) -> ModelEvent:
        while self.parts:
            part = self.parts.pop(0)
            if isinstance(part, Exception):
                raise part
            if not isinstance(part, (int, float)):
                return part
            await trio.sleep(part)
        raise StopAsyncIteration


HELLO, WORLD, END = TextDelta("hello"), TextDelta(" world"), Finished("stop")


async def run(*parts: Part, **options: Any) -> tuple[Any, float, Staged]:
    staged = Staged(parts, **options)
    start = trio.current_time()
    try:
        result: Any = await complete(guarded(staged, LIMITS), request("hola"))
    except* ModelError as group:
        (result,) = group.exceptions
    return result, trio.current_time() - start, staged


async def test_a_good_stream_passes_unchanged(autojump_clock: object) -> None:
    output, took, staged = await run(5.9, HELLO, 2.9, WORLD, 2.9, END, connecting=0.9)
    assert (output.text, output.finish) == ("hello world", END)
    assert took == pytest.approx(12.6)
    assert staged.closed == ["closed"]


@pytest.mark.parametrize(
    ("kind", "after", "partial", "parts", "connecting"),
    [
        ("connect", 1, "", [HELLO, END], 2),
        ("first_token", 6, "", [7, HELLO, END], 0),
        ("idle", 5, "hello", [2, HELLO, 4, END], 0),
        ("total", 20, "hello" * 10, [2, HELLO] * 20, 0),
    ],
)
async def test_each_deadline_is_its_own_typed_error_with_the_partial_text(
    autojump_clock: object,
    kind: str,
    after: float,
    partial: str,
    parts: list[Part],
    connecting: float,
) -> None:
    error, took, staged = await run(*parts, connecting=connecting)
    assert isinstance(error, ModelError)
    assert (error.kind, error.retryable) == (kind, True)
    assert took == pytest.approx(after)
    assert len(error.partial_text) >= len(partial) - 5
    assert partial.startswith(error.partial_text)
    assert staged.closed == ["closed"]


async def test_a_stream_without_a_finish_reason_is_an_error(autojump_clock: object) -> None:
    error, _, _ = await run(HELLO)
    assert (error.kind, error.partial_text) == ("protocol", "hello")
    assert "without a finish reason" in error.message


async def test_an_empty_stream_is_an_error(autojump_clock: object) -> None:
    error, _, _ = await run()
    assert error.kind == "protocol"


async def test_a_providers_own_error_gets_the_partial_text(autojump_clock: object) -> None:
    error, _, _ = await run(HELLO, ModelError("http", "503"))
    assert (error.kind, error.partial_text) == ("http", "hello")


async def test_what_is_no_model_error_passes_as_it_is(autojump_clock: object) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await run(HELLO, ZeroDivisionError())
    assert caught.group_contains(ZeroDivisionError)


async def test_nothing_follows_the_end(autojump_clock: object) -> None:
    provider = guarded(Staged([END, HELLO]), LIMITS)
    async with provider.stream(request("hola")) as events:
        assert [event async for event in events] == [END]


async def test_a_cancel_from_outside_goes_through_and_closes(autojump_clock: object) -> None:
    staged = Staged([HELLO, 2, END])
    with trio.move_on_after(1) as scope:
        await complete(guarded(staged, LIMITS), request("hola"))
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(1)
    assert staged.closed == ["closed"]


async def test_time_the_caller_takes_is_not_the_streams_idle_time(autojump_clock: object) -> None:
    seen: list[str] = []

    async def slowly(delta: str) -> None:
        seen.append(delta)
        await trio.sleep(8)

    provider = guarded(Staged([HELLO, WORLD, END]), LIMITS)
    output = await complete(provider, request("hola"), slowly)
    assert seen == ["hello", " world"]
    assert output.text == "hello world"


async def test_closing_closes_the_provider_inside() -> None:
    staged = Staged([])
    await guarded(staged, LIMITS).aclose()
    assert staged.closed == ["provider"]


@pytest.mark.parametrize("text", ["", " NO_REPLY\n", "NO_REPLY", "`NO_REPLY`", "NO_REPLY."])
async def test_no_reply_is_recognised(autojump_clock: object, text: str) -> None:
    output, _, _ = await run(*([TextDelta(text)] if text else []), END)
    assert output.is_no_reply


async def test_an_answer_is_not_no_reply(autojump_clock: object) -> None:
    output, _, _ = await run(TextDelta("NO_REPLY is what I say"), END)
    assert not output.is_no_reply
