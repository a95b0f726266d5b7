"""What every model offers: messages and tool specs in, text deltas and tool calls out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal, Protocol

import attrs

from tools.tool import ToolSpec

__all__ = [
    "NO_REPLY",
    "ChatMessage",
    "Finished",
    "ModelError",
    "ModelErrorKind",
    "ModelEvent",
    "ModelOutput",
    "ModelRequest",
    "Provider",
    "Role",
    "TextDelta",
    "ToolCall",
    "ToolCallRequested",
    "TurnContext",
    "Usage",
    "complete",
    "turn_messages",
]

NO_REPLY: Final = "NO_REPLY"
"""The whole answer of a model that has nothing to say; it is never sent to a room."""

Role = Literal["system", "user", "assistant", "tool"]
ModelErrorKind = Literal["connect", "first_token", "idle", "total", "http", "protocol", "refused"]


@attrs.frozen
class ToolCall:
    """A call that the model asks for; `arguments` is JSON text, not yet checked by anyone."""

    id: str
    name: str
    arguments: str


@attrs.frozen
class ChatMessage:
    """One message of a conversation; `content` is the bare text.

    `name`: who wrote a user message (a room has many users). `tool_calls`: of an assistant message.
    `tool_call_id`: which call a tool message answers.
    """

    role: Role
    content: str
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@attrs.frozen
class TurnContext:
    """The facts of the turn, for providers that compute instead of predict; real LLMs ignore them.

    `agents`: every agent's id and description, this one included. `user`: who wrote, as the room
    knows them. `now`, `received_at`: seconds since the epoch. `addressed`: the message mentions
    this agent, replies to it, or was given to it alone (a delegated task). `display_name`: how
    people may call it besides its id. `reply_to`: the event that the message replies to.
    """

    agent: str
    agents: Mapping[str, str]
    room: str | None
    user: str | None
    locale: str
    timezone: str
    now: float
    received_at: float
    sender_is_bot: bool = False
    addressed: bool = False
    display_name: str | None = None
    reply_to: str | None = None


@attrs.frozen
class ModelRequest:
    """One round: the conversation so far and the tools on offer.

    The last user message is the turn's; assistant and tool messages after it are this turn's
    earlier rounds. `attempt` is the turn's attempt (1, 2, ...).
    """

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]
    context: TurnContext
    attempt: int = 1


def turn_messages(request: ModelRequest) -> tuple[ChatMessage | None, tuple[ChatMessage, ...]]:
    """Return the turn's user message (None: there is none) and this turn's rounds after it."""
    for index in range(len(request.messages) - 1, -1, -1):
        if request.messages[index].role == "user":
            return request.messages[index], request.messages[index + 1 :]
    return None, request.messages


@attrs.frozen
class Usage:
    """Tokens that the server counted."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@attrs.frozen
class TextDelta:
    """The next piece of the answer's text."""

    text: str


@attrs.frozen
class ToolCallRequested:
    """A complete tool call."""

    call: ToolCall


@attrs.frozen
class Finished:
    """The round is done: "stop", "tool_calls" or "length". Always the last event."""

    reason: str
    usage: Usage | None = None


ModelEvent = TextDelta | ToolCallRequested | Finished


class ModelError(Exception):
    """The one error of every provider.

    `kind`: connect, first_token, idle and total are deadlines that ran out (connect also: nobody
    there); http is a status that may pass; protocol is an answer that makes no sense or stops
    halfway; refused is a status or a filter that will not pass. `partial_text`: what was said.
    """

    def __init__(
        self, kind: ModelErrorKind, message: str, *, partial_text: str = "", retryable: bool = True
    ) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind: ModelErrorKind = kind
        self.message = message
        self.partial_text = partial_text
        self.retryable = retryable


class Provider(Protocol):
    """A model behind whatever wire it is behind. Safe to use from many turns at once."""

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Open one round; the events come in order and end with `Finished`.

        Raises ModelError, on entry or between events. Leaving the block, or a cancel, closes the
        call for the server too.
        """
        ...

    async def aclose(self) -> None:
        """Give connections back. Idempotent; takes at most two seconds."""
        ...


@attrs.frozen
class ModelOutput:
    """A whole round: what was said, which calls are asked for, and why it ended."""

    text: str
    calls: tuple[ToolCall, ...]
    finish: Finished

    @property
    def is_no_reply(self) -> bool:
        """The model has nothing to say (and asks for no tool)."""
        return not self.calls and self.text.strip(" \n\t.`*\"'") in ("", NO_REPLY)


async def complete(
    provider: Provider,
    request: ModelRequest,
    on_delta: Callable[[str], Awaitable[None]] | None = None,
) -> ModelOutput:
    """Run one round to its end; `on_delta` is awaited with each delta.

    Raises ModelError (with the partial text). A cancel closes the call and goes through.
    """
    text = ""
    calls: list[ToolCall] = []
    async with provider.stream(request) as events:
        async for event in events:
            match event:
                case TextDelta(text=delta):
                    text += delta
                    if on_delta is not None:
                        await on_delta(delta)
                case ToolCallRequested(call=call):
                    calls.append(call)
                case Finished():
                    return ModelOutput(text, tuple(calls), event)
    raise ModelError("protocol", "the stream ended without a finish reason", partial_text=text)
