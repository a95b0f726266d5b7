"""Anthropic's messages: the SDK makes the request, the stream is read and checked here."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import Any, Final

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

__all__ = ["AnthropicProvider"]

_FINISH: Final = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}
_DEFAULT_MAX_TOKENS: Final = 4096


class AnthropicProvider(HttpProvider):
    """Streams messages; never retries by itself, the turn does."""

    def load(self) -> Any:
        """Import the SDK and make a client. Raises ModelError when either is impossible."""
        try:
            import anthropic
            import httpx2
        except ImportError as error:
            text = f"install the extra `vivero[anthropic]` (./dev setup does): {error}"
            raise ModelError("refused", text, retryable=False) from None
        try:
            return anthropic.AsyncAnthropic(
                api_key=self.settings.api_key,
                base_url=self.settings.base_url,
                max_retries=0,
                timeout=httpx2.Timeout(None, connect=self.settings.connect_seconds),
            )
        except anthropic.AnthropicError as error:
            raise ModelError("refused", str(error), retryable=False) from None

    async def open(self, client: Any, request: ModelRequest, stack: AsyncExitStack) -> Any:
        """Ask for a streamed message."""
        create = client.messages.with_streaming_response.create
        try:
            response = await stack.enter_async_context(create(**self._body(request)))
        except TypeError as error:  # how this SDK says that there is no key
            raise ModelError("refused", str(error), retryable=False) from None
        return response.http_response

    def translator(self) -> _Events:
        """Return an empty assembler."""
        return _Events()

    def explain(self, error: Exception, *, connected: bool) -> ModelError | None:
        """Translate what the SDK raises."""
        import anthropic

        return as_model_error(anthropic, error, connected=connected)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        settings = self.settings
        system = "\n\n".join(m.content for m in request.messages if m.role == "system")
        body: dict[str, Any] = {
            "model": request.model or settings.model,
            "messages": _messages([m for m in request.messages if m.role != "system"]),
            "system": system or None,
            "stream": True,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens or _DEFAULT_MAX_TOKENS,
        }
        if request.tools:
            body["tools"] = [
                {
                    "name": spec.name,
                    "description": spec.description,
                    "input_schema": dict(spec.parameters),
                }
                for spec in request.tools
            ]
        return {key: value for key, value in body.items() if value is not None}


def _messages(messages: list[ChatMessage]) -> list[dict[str, Any]]:
    """Merge neighbours of one role, and begin with a user: both are the API's rules."""
    merged: list[dict[str, Any]] = []
    if messages and messages[0].role == "assistant":
        merged.append({"role": "user", "content": [{"type": "text", "text": "…"}]})
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"].extend(blocks)
        elif blocks:
            merged.append({"role": role, "content": blocks})
    return merged


def _blocks(message: ChatMessage) -> list[dict[str, Any]]:
    if message.role == "tool":
        block = {"type": "tool_result", "tool_use_id": message.tool_call_id or ""}
        return [{**block, "content": message.content}]
    text = spoken(message)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)})
    return blocks


def _input(call: ToolCall) -> dict[str, Any]:
    """The API wants an object; what never was one was refused, and goes as text."""
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": call.arguments}


class _Events:
    """Puts a message's events together."""

    def __init__(self) -> None:
        self._calls: dict[int, ToolCall] = {}
        self._reason: str | None = None
        self._usage = Usage()

    @property
    def complete(self) -> bool:
        return self._reason is not None

    def feed(self, event: ServerEvent) -> list[ModelEvent]:
        data = json_object(event)
        try:
            return self._event(data)
        except (TypeError, KeyError, AttributeError) as error:
            raise ModelError("protocol", f"an event of unknown shape: {error!r}") from None

    def _event(self, data: dict[str, Any]) -> list[ModelEvent]:
        match data.get("type"):
            case "error":
                raise ModelError("http", f"the server reports: {error_text(data['error'])}")
            case "message_start":
                self._count(data["message"].get("usage") or {})
            case "content_block_start" if data["content_block"]["type"] == "tool_use":
                block = data["content_block"]
                self._calls[data["index"]] = ToolCall(block["id"], block["name"], "")
            case "content_block_delta":
                return self._delta(data["index"], data["delta"])
            case "message_delta":
                self._count(data.get("usage") or {})
                self._stop(data["delta"].get("stop_reason"))
            case "message_stop":
                return self.end()
        return []

    def _delta(self, index: int, delta: dict[str, Any]) -> list[ModelEvent]:
        if delta["type"] == "text_delta" and delta["text"]:
            return [TextDelta(delta["text"] + "")]
        if delta["type"] == "input_json_delta":
            call = self._calls[index]
            self._calls[index] = attrs.evolve(
                call, arguments=call.arguments + delta["partial_json"]
            )
        return []

    def _count(self, usage: dict[str, Any]) -> None:
        self._usage = Usage(
            usage.get("input_tokens") or self._usage.prompt_tokens,
            usage.get("output_tokens") or self._usage.completion_tokens,
        )

    def _stop(self, reason: str | None) -> None:
        if reason == "refusal":
            raise ModelError("refused", "the model refused to answer", retryable=False)
        self._reason = reason or self._reason

    def end(self) -> list[ModelEvent]:
        if self._reason is None:
            return []
        calls = [ToolCallRequested(call) for call in self._calls.values()]
        reason = "tool_calls" if calls else _FINISH.get(self._reason, self._reason)
        return [*calls, Finished(reason, self._usage)]
