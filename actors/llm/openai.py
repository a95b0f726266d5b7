"""OpenAI's chat completions, and every server that speaks them: Ollama, vLLM, llama.cpp.

The SDK is imported in a worker thread at the first call: it takes a second that no other agent
should feel. It makes the request; the stream is read here, so that every way it can break is typed.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import attrs

from actors.llm.protocol import (
    ChatMessage,
    Finished,
    ModelError,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolCallRequested,
    Usage,
)
from actors.llm.wire import (
    HttpProvider,
    ServerEvent,
    as_model_error,
    error_text,
    json_object,
    spoken,
)

__all__ = ["OpenAIProvider"]


class OpenAIProvider(HttpProvider):
    """Streams chat completions; never retries by itself, the turn does."""

    def load(self) -> Any:
        """Import the SDK and make a client. Raises ModelError when either is impossible."""
        try:
            import httpx2
            import openai
        except ImportError as error:
            text = f"install the extra `vivero[openai]` (./dev setup does): {error}"
            raise ModelError("refused", text, retryable=False) from None
        settings = self.settings
        try:
            return openai.AsyncOpenAI(
                # Local servers want no key, the SDK insists on one.
                api_key=settings.api_key or ("unused" if settings.base_url else None),
                base_url=settings.base_url,
                max_retries=0,
                timeout=httpx2.Timeout(None, connect=settings.connect_seconds),
            )
        except openai.OpenAIError as error:
            raise ModelError("refused", str(error), retryable=False) from None

    async def open(self, client: Any, request: ModelRequest, stack: AsyncExitStack) -> Any:
        """Ask for a streamed completion."""
        create = client.chat.completions.with_streaming_response.create
        response = await stack.enter_async_context(create(**self._body(request)))
        return response.http_response

    def translator(self) -> _Chunks:
        """Return an empty assembler."""
        return _Chunks()

    def explain(self, error: Exception, *, connected: bool) -> ModelError | None:
        """Translate what the SDK raises."""
        import openai

        return as_model_error(openai, error, connected=connected)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        settings = self.settings
        body: dict[str, Any] = {
            "model": request.model or settings.model,
            "messages": [_message(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": spec.name,
                        "description": spec.description,
                        "parameters": dict(spec.parameters),
                    },
                }
                for spec in request.tools
            ]
        return {key: value for key, value in body.items() if value is not None}


def _message(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": spoken(message)}
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


@attrs.define
class _Call:
    index: Any
    id: str = ""
    name: str = ""
    arguments: str = ""


class _Chunks:
    """Puts chat completion chunks together; holds the end back until the usage is in."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._reason: str | None = None
        self._usage: Usage | None = None

    @property
    def complete(self) -> bool:
        return self._reason is not None

    def feed(self, event: ServerEvent) -> list[ModelEvent]:
        if event.data.strip() == "[DONE]":
            return self.end()
        chunk = json_object(event)
        if chunk.get("error"):
            raise ModelError("http", f"the server reports: {error_text(chunk['error'])}")
        try:
            return self._chunk(chunk)
        except (TypeError, KeyError, AttributeError, IndexError) as error:
            raise ModelError("protocol", f"a chunk of unknown shape: {error!r}") from None

    def _chunk(self, chunk: dict[str, Any]) -> list[ModelEvent]:
        usage = chunk.get("usage")
        if usage:
            self._usage = Usage(
                usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
            )
        events: list[ModelEvent] = []
        for choice in (chunk.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            text = delta.get("content") or delta.get("refusal") or ""
            if text:
                events.append(TextDelta(_checked(text)))
            for part in delta.get("tool_calls") or ():
                self._part(part)
            self._reason = choice.get("finish_reason") or self._reason
        if self._reason == "content_filter":
            raise ModelError("refused", "stopped by the content filter", retryable=False)
        return events + (self.end() if self._reason and self._usage else [])

    def _part(self, part: dict[str, Any]) -> None:
        """Add a piece of a call. Some servers send whole calls that all carry index 0."""
        index, given = part.get("index"), part.get("id") or ""
        last = next((call for call in reversed(self._calls) if call.index == index), None)
        if last is None or (given and last.id and given != last.id):
            last = _Call(index, given)
            self._calls.append(last)
        function = part.get("function") or {}
        last.id = last.id or given
        last.name = last.name or function.get("name") or ""
        last.arguments += function.get("arguments") or ""

    def end(self) -> list[ModelEvent]:
        if self._reason is None:
            return []
        calls = [self._called(number, call) for number, call in enumerate(self._calls, start=1)]
        return [*calls, Finished("tool_calls" if calls else self._reason, self._usage)]

    def _called(self, number: int, call: _Call) -> ToolCallRequested:
        if not call.name:
            raise ModelError("protocol", "a tool call without a name")
        return ToolCallRequested(ToolCall(call.id or f"call_{number}", call.name, call.arguments))


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text expected, got {type(text).__name__}")
    return text
