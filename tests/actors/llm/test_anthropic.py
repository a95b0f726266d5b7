"""The Anthropic provider against a real server on the loopback."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors.llm.anthropic import AnthropicProvider
from actors.llm.guard import Deadlines, guarded
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

pytest.importorskip("anthropic")

SOON = Deadlines(connect=5, first_token=5, idle=5, total=10)
START = {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}
STOP = {"type": "message_stop"}
PING = {"type": "ping"}


def delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def text(said: str, index: int = 0) -> dict[str, Any]:
    return delta(index, type="text_delta", text=said)


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def end(reason: str) -> dict[str, Any]:
    usage = {"output_tokens": 3}
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


GOOD = (START, begin(0, type="text", text=""), PING, text("Ho"), text("la"), end("end_turn"), STOP)


async def ask(
    server: ModelServer, req: ModelRequest | None = None, deadlines: Deadlines = SOON
) -> ModelOutput:
    settings = ModelSettings("claude-x", api_key="secreta", base_url=server.url)
    provider = AnthropicProvider(settings)
    try:
        return await complete(guarded(provider, deadlines), req or request("hola"))
    finally:
        await provider.aclose()


def serving(*parts: Any, **options: Any) -> Any:
    return model_server(*parts, event_names=True, **options)


async def test_a_stream_becomes_text_a_finish_and_its_usage() -> None:
    async with serving(*GOOD) as server:
        output = await ask(server)
    assert output == ModelOutput("Hola", (), Finished("stop", Usage(7, 3)))


async def test_tool_calls_are_put_together() -> None:
    parts = (
        START,
        text("Miro. "),
        begin(1, type="tool_use", id="a", name="create_reminder", input={}),
        delta(1, type="input_json_delta", partial_json='{"mess'),
        delta(1, type="input_json_delta", partial_json='age": 1}'),
        {"type": "content_block_stop", "index": 1},
        begin(2, type="tool_use", id="b", name="current_time", input={}),
        end("tool_use"),
        STOP,
    )
    async with serving(*parts) as server:
        output = await ask(server)
    assert output.calls == (
        ToolCall("a", "create_reminder", '{"message": 1}'),
        ToolCall("b", "current_time", ""),
    )
    assert output.finish.reason == "tool_calls"


async def test_what_is_sent_has_the_apis_own_shape() -> None:
    call = ToolCall("c1", "one", '{"a": 1}'), ToolCall("c2", "two", "nonsense")
    asked = request(
        "hola",
        ChatMessage("assistant", "Miro.", tool_calls=call),
        ChatMessage("tool", "uno", tool_call_id="c1"),
        ChatMessage("tool", "dos", tool_call_id="c2"),
        *called("current_time", "Son las 3.", "c3"),
        tools=("current_time",),
    )
    async with serving(*GOOD) as server:
        await ask(server, asked)
        (body,) = server.requests
        assert server.paths == ["/v1/messages"]
        sent = server.headers[0]
        assert "secreta" in sent.get("x-api-key", sent.get("authorization", ""))
    assert body["system"] == "Sé amable."
    assert body["max_tokens"] == 4096
    assert body["tools"] == [
        {
            "name": "current_time",
            "description": "current_time",
            "input_schema": {"type": "object", "properties": {}},
        }
    ]
    assert [message["role"] for message in body["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    said, results = body["messages"][1]["content"], body["messages"][2]["content"]
    assert said == [
        {"type": "text", "text": "Miro."},
        {"type": "tool_use", "id": "c1", "name": "one", "input": {"a": 1}},
        {"type": "tool_use", "id": "c2", "name": "two", "input": {"arguments": "nonsense"}},
    ]
    assert results == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "uno"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "dos"},
    ]


async def test_a_conversation_that_an_agent_began_still_starts_with_a_user() -> None:
    asked = request(ChatMessage("assistant", "Buenos días."), "hola")
    async with serving(*GOOD) as server:
        await ask(server, asked)
        assert server.requests[0]["messages"][0]["role"] == "user"


@pytest.mark.parametrize(
    ("parts", "options", "kind", "told", "partial"),
    [
        ((START, text("Ho")), {}, "protocol", "without a finish reason", "Ho"),
        ((START, text("Ho")), {"cut": True}, "protocol", "", "Ho"),
        ((START, text("Ho"), STOP), {}, "protocol", "without a finish reason", "Ho"),
        ((START, text("Ho"), "{"), {}, "protocol", "broken JSON", "Ho"),
        ((START, {"type": "content_block_delta"}), {}, "protocol", "unknown shape", ""),
        ((begin(1),), {}, "protocol", "unknown shape", ""),
        ((b"<html>",), {"kind": "text/html"}, "protocol", "text/html", ""),
        (
            (START, text("Ho"), {"type": "error", "error": {"message": "overloaded"}}),
            {},
            "http",
            "overloaded",
            "Ho",
        ),
        ((b"{}",), {"status": 529, "kind": "application/json"}, "http", "HTTP 529", ""),
        ((b"{}",), {"status": 401, "kind": "application/json"}, "refused", "HTTP 401", ""),
        ((START, text("Ho"), end("refusal"), STOP), {}, "refused", "refused to answer", "Ho"),
    ],
)
async def test_every_way_to_break_is_one_typed_error(
    parts: tuple[Any, ...], options: dict[str, Any], kind: str, told: str, partial: str
) -> None:
    async with serving(*parts, **options) as server:
        with pytest.raises(ModelError) as caught:
            await ask(server)
        assert (caught.value.kind, caught.value.partial_text) == (kind, partial)
        assert told in caught.value.message
        assert len(server.requests) == 1


async def test_a_cut_answer_is_told_as_such() -> None:
    async with serving(START, text("Ho"), end("max_tokens"), STOP) as server:
        assert (await ask(server)).finish.reason == "length"


async def test_nobody_there_is_a_connect_error() -> None:
    async with serving() as server:
        pass
    with pytest.raises(ModelError) as caught:
        await ask(server)
    assert caught.value.kind == "connect"


async def test_without_a_key_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    async with serving(*GOOD) as server:
        provider = AnthropicProvider(ModelSettings("x", base_url=server.url))
        with pytest.raises(ModelError) as caught:
            await complete(provider, request("hola"))
        await provider.aclose()
    assert (caught.value.kind, caught.value.retryable) == ("refused", False)


@pytest.mark.promise("P4", "P6")
async def test_the_server_sees_a_cancel_as_a_disconnect_at_once() -> None:
    async with serving(START, text("Ho"), 60.0) as server:
        provider = AnthropicProvider(ModelSettings("x", api_key="secreta", base_url=server.url))
        started = trio.Event()

        async def on_delta(said: str) -> None:
            started.set()

        async def turn() -> None:
            await complete(guarded(provider, SOON), request("hola"), on_delta)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(turn)
            await started.wait()
            cancelled_at = trio.current_time()
            nursery.cancel_scope.cancel()
        with trio.fail_after(1):
            await server.left.wait()
        assert server.left_at - cancelled_at < 0.25
        await provider.aclose()
