"""The OpenAI provider against a real server on the loopback: every way a stream can end."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import trio

from actors.llm.guard import Deadlines, guarded
from actors.llm.openai import OpenAIProvider
from actors.llm.protocol import (
    ChatMessage,
    Finished,
    ModelError,
    ModelOutput,
    ModelRequest,
    ToolCall,
    Usage,
    complete,
)
from actors.llm.wire import ModelSettings
from tests.actors.llm.model_server import ModelServer, model_server
from tests.actors.llm.requests import called, request

pytest.importorskip("openai")

SOON = Deadlines(connect=5, first_token=5, idle=5, total=10)


def chunk(text: str | None = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    if text is not None:
        delta["content"] = text
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def tool(index: int | None, arguments: str, id: str | None = None, name: str | None = None) -> Any:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    part = {"index": index, "function": function} | ({"id": id} if id else {})
    return chunk(tool_calls=[part])


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
DONE = "[DONE]"
GOOD = (chunk("Ho"), chunk("la"), chunk(finish="stop"), USAGE, DONE)


async def ask(
    server: ModelServer,
    req: ModelRequest | None = None,
    deadlines: Deadlines = SOON,
    **settings: Any,
) -> ModelOutput:
    provider = OpenAIProvider(ModelSettings("gpt-x", base_url=f"{server.url}/v1", **settings))
    try:
        return await complete(guarded(provider, deadlines), req or request("hola"))
    finally:
        await provider.aclose()


async def failing(server: ModelServer, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(server, **options)
    return caught.value


async def test_a_stream_becomes_text_a_finish_and_its_usage() -> None:
    async with model_server(*GOOD) as server:
        output = await ask(server)
    assert output == ModelOutput("Hola", (), Finished("stop", Usage(7, 3)))


async def test_what_is_sent_is_the_request() -> None:
    async with model_server(*GOOD) as server:
        asked = request("hola", *called("current_time", "Son las 3."), tools=("current_time",))
        await ask(server, asked, temperature=0.5, max_tokens=9, api_key="secreta")
        (body,) = server.requests
        assert server.paths == ["/v1/chat/completions"]
        assert server.headers[0]["authorization"] == "Bearer secreta"
    assert body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 9,
        "messages": [
            {"role": "system", "content": "Sé amable."},
            {"role": "user", "content": "ana: hola"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "call_1_1",
                        "type": "function",
                        "function": {"name": "current_time", "arguments": "{}"},
                    }
                ],
            },
            {"role": "tool", "content": "Son las 3.", "tool_call_id": "call_1_1"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "current_time",
                    "description": "current_time",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }


async def test_tool_calls_are_put_together() -> None:
    parts = (
        chunk("Miro. "),
        tool(0, "", "a", "create_reminder"),
        tool(0, '{"mess'),
        tool(1, "", "b", "current_time"),
        tool(0, 'age": 1}'),
        chunk(finish="tool_calls"),
        DONE,
    )
    async with model_server(*parts) as server:
        output = await ask(server)
    assert output.text == "Miro. "
    assert output.calls == (
        ToolCall("a", "create_reminder", '{"message": 1}'),
        ToolCall("b", "current_time", ""),
    )
    assert output.finish == Finished("tool_calls", None)


async def test_whole_calls_under_one_index_stay_apart_and_get_ids() -> None:
    parts = (
        tool(0, "{}", "a", "one"),
        tool(0, "{}", "b", "two"),
        chunk(finish="stop"),
    )
    async with model_server(*parts) as server:
        assert [call.name for call in (await ask(server)).calls] == ["one", "two"]
    async with model_server(tool(None, "{}", None, "one"), chunk(finish="stop")) as server:
        assert (await ask(server)).calls == (ToolCall("call_1", "one", "{}"),)


async def test_events_may_be_cut_anywhere_and_end_lines_as_they_like() -> None:
    whole = "".join(
        f": ping\r\n\r\ndata: {text}\r\n\r\n"
        for text in (
            '{"choices": [{"delta": {"content": "ñandú"}}]}',
            '{"choices": [{"delta": {}, "finish_reason": "stop"}]}',
            "[DONE]",
        )
    ).encode()
    async with model_server(*(whole[n : n + 1] for n in range(len(whole)))) as server:
        assert (await ask(server)).text == "ñandú"


async def test_a_finish_without_done_or_close_is_good_enough() -> None:
    async with model_server(chunk("Hola"), chunk(finish="stop"), 60.0) as server:
        with trio.fail_after(4):
            assert (await ask(server)).text == "Hola"


async def test_a_cut_after_the_finish_does_no_harm() -> None:
    async with model_server(chunk("Hola"), chunk(finish="length"), cut=True) as server:
        assert (await ask(server)).finish == Finished("length", None)


async def test_several_rounds_share_a_client() -> None:
    async with model_server(*GOOD) as server:
        provider = OpenAIProvider(ModelSettings("x", base_url=server.url))
        for _ in range(3):
            assert (await complete(provider, request("hola"))).text == "Hola"
        await provider.aclose()
        await provider.aclose()
        assert (len(server.requests), server.connections) == (3, 1)


@pytest.mark.parametrize(
    ("parts", "options", "kind", "told", "partial"),
    [
        ((chunk("Ho"),), {}, "protocol", "without a finish reason", "Ho"),
        ((chunk("Ho"), DONE), {}, "protocol", "without a finish reason", "Ho"),
        ((), {}, "protocol", "without a finish reason", ""),
        ((chunk("Ho"),), {"cut": True}, "protocol", "", "Ho"),
        ((chunk("Ho"), '{"choices": ['), {}, "protocol", "broken JSON", "Ho"),
        (("[1]",), {}, "protocol", "not a JSON object", ""),
        (({"choices": [7]},), {}, "protocol", "unknown shape", ""),
        (({"choices": 7},), {}, "protocol", "unknown shape", ""),
        ((chunk("Ho"), chunk(tool_calls=7)), {}, "protocol", "unknown shape", "Ho"),
        (({"choices": [{"delta": {"content": [1]}}]},), {}, "protocol", "unknown shape", ""),
        ((tool(0, "{}"), chunk(finish="stop")), {}, "protocol", "without a name", ""),
        ((b"<html>Hola</html>",), {"kind": "text/html; charset=x"}, "protocol", "text/html", ""),
        ((b"{}",), {"kind": "application/json"}, "protocol", "application/json", ""),
        ((b"<html>Hola</html>",), {}, "protocol", "without a finish reason", ""),
        ((chunk("Ho"), {"error": {"message": "overloaded"}}), {}, "http", "overloaded", "Ho"),
        ((chunk("Ho"), {"error": "overloaded"}), {}, "http", "overloaded", "Ho"),
        ((b"data: " + b"x" * 5_000_000,), {}, "protocol", "longer than", ""),
        ((b"{}",), {"status": 500, "kind": "application/json"}, "http", "HTTP 500", ""),
        ((b"<html>",), {"status": 502, "kind": "text/html"}, "http", "HTTP 502", ""),
        ((b"{}",), {"status": 429, "kind": "application/json"}, "http", "HTTP 429", ""),
        ((b"{}",), {"status": 401, "kind": "application/json"}, "refused", "HTTP 401", ""),
        ((b"{}",), {"status": 400, "kind": "application/json"}, "refused", "HTTP 400", ""),
        ((b"{}",), {"status": 404, "kind": "application/json"}, "refused", "HTTP 404", ""),
        ((chunk("Ho"), chunk(finish="content_filter")), {}, "refused", "content filter", "Ho"),
    ],
)
async def test_every_way_to_break_is_one_typed_error(
    parts: tuple[Any, ...], options: dict[str, Any], kind: str, told: str, partial: str
) -> None:
    async with model_server(*parts, **options) as server:
        error = await failing(server)
        assert (error.kind, error.partial_text) == (kind, partial)
        assert told in error.message
        assert error.retryable is (kind != "refused")
        assert len(server.requests) == 1


async def test_nobody_there_is_a_connect_error() -> None:
    async with model_server() as server:
        pass
    error = await failing(server)
    assert (error.kind, error.retryable) == ("connect", True)


async def test_a_server_that_takes_no_connections_is_a_connect_error() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        error = await failing(ModelServer(port=full.getsockname()[1]), connect_seconds=0.3)
    assert (error.kind, error.retryable) == ("connect", True)


async def test_a_stall_before_the_first_token_ends_at_its_deadline() -> None:
    async with model_server(60.0) as server:
        error = await failing(server, deadlines=Deadlines(first_token=1.0))
        assert error.kind == "first_token"
        await left_soon(server)


async def test_silence_instead_of_headers_ends_at_its_deadline() -> None:
    async with model_server(before_headers=60.0) as server:
        error = await failing(server, deadlines=Deadlines(first_token=1.0))
        assert error.kind == "first_token"
        await left_soon(server)


async def test_a_stall_between_tokens_ends_at_its_deadline_with_what_was_said() -> None:
    async with model_server(chunk("Ho"), 60.0) as server:
        error = await failing(server, deadlines=Deadlines(idle=0.3))
        assert (error.kind, error.partial_text) == ("idle", "Ho")
        await left_soon(server)


async def test_an_endless_trickle_ends_at_the_total() -> None:
    trickle = [part for _ in range(400) for part in (chunk("x"), 0.02)]
    async with model_server(*trickle) as server:
        error = await failing(server, deadlines=Deadlines(total=2.5))
        assert error.kind == "total"
        assert error.partial_text.startswith("xxx")


async def left_soon(server: ModelServer) -> None:
    with trio.fail_after(1):
        await server.left.wait()


@pytest.mark.promise("P4", "P6")
@pytest.mark.parametrize("where", ["before_headers", "between_tokens", "while_the_caller_works"])
async def test_the_server_sees_a_cancel_as_a_disconnect_at_once(where: str) -> None:
    options = {"before_headers": 60.0} if where == "before_headers" else {}
    async with model_server(chunk("Ho"), 60.0, **options) as server:
        provider = OpenAIProvider(ModelSettings("x", base_url=server.url))
        started = trio.Event()

        async def on_delta(text: str) -> None:
            started.set()
            if where == "while_the_caller_works":
                await trio.sleep_forever()

        async def turn() -> None:
            await complete(guarded(provider, SOON), request("hola"), on_delta)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(turn)
            if where == "before_headers":
                await server.asked.wait()
            else:
                await started.wait()
            cancelled_at = trio.current_time()
            nursery.cancel_scope.cancel()
        await left_soon(server)
        assert server.left_at - cancelled_at < 0.25
        await provider.aclose()


async def test_a_cancelled_round_leaves_the_client_usable() -> None:
    async with model_server(chunk("Ho"), 0.3, chunk(finish="stop"), USAGE, DONE) as server:
        provider = OpenAIProvider(ModelSettings("x", base_url=server.url))
        with trio.move_on_after(0.1):
            await complete(provider, request("hola"))
        assert (await complete(provider, request("hola"))).text == "Ho"
        await provider.aclose()


async def test_leaving_after_the_first_word_closes_the_call() -> None:
    async with model_server(chunk("Ho"), 60.0) as server:
        provider = OpenAIProvider(ModelSettings("x", base_url=server.url))
        async with provider.stream(request("hola")) as events:
            assert (await anext(events)) is not None
        await left_soon(server)
        await provider.aclose()


async def test_without_a_key_and_a_server_of_ones_own_it_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(ModelError) as caught:
        await complete(OpenAIProvider(ModelSettings("x")), request("hola"))
    assert caught.value.kind == "refused"


async def test_a_nameless_message_is_sent_bare() -> None:
    async with model_server(*GOOD) as server:
        await ask(server, request(ChatMessage("user", "hola")))
        assert server.requests[0]["messages"][-1] == {"role": "user", "content": "hola"}


def test_a_key_is_never_printed() -> None:
    assert "secreta" not in repr(ModelSettings("x", api_key="secreta"))
