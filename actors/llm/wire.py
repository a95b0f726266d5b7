"""What HTTP providers share: a stream that may be left anywhere and is closed for good.

HTTP clients hand out a nest of async generators. Dropping it halfway would leave the inner ones to
the garbage collector; one more read under a cancelled scope unwinds them all at once.
"""

from __future__ import annotations

import abc
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

import attrs
import structlog
import trio

from actors.llm.protocol import ChatMessage, Finished, ModelError, ModelEvent, ModelRequest

__all__ = [
    "HttpProvider",
    "ModelSettings",
    "ServerEvent",
    "Translator",
    "as_model_error",
    "error_text",
    "json_object",
    "spoken",
]

_log = structlog.get_logger("llm")

_CLOSE_SECONDS: Final = 2.0
_COURTESY_SECONDS: Final = 2.0
_LAST_BYTES_SECONDS: Final = 0.1
_MAX_EVENT: Final = 4_000_000
_PASSING: Final = (408, 409, 425, 429)


@attrs.frozen
class ServerEvent:
    """One server-sent event; `name` is empty where the server names none."""

    name: str
    data: str


class Translator(Protocol):
    """Turns a server's events into the protocol's."""

    @property
    def complete(self) -> bool:
        """The finish reason is in; what may still come (usage, an end mark) is a courtesy."""
        ...

    def feed(self, event: ServerEvent) -> list[ModelEvent]:
        """Translate one event; `Finished` in the list ends the round. Raises ModelError."""
        ...

    def end(self) -> list[ModelEvent]:
        """Nothing more will come: give what was held back, and `Finished` if complete."""
        ...


@attrs.frozen
class ModelSettings:
    """Where a model is and how to sample it; `connect_seconds` bounds the TCP and TLS set-up."""

    model: str
    api_key: str | None = attrs.field(default=None, repr=False)
    base_url: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    connect_seconds: float = 10.0


class HttpProvider(abc.ABC):
    """What SDK-backed providers share: a client made late, off the loop, and closed for good."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._lock = trio.Lock()
        self._client: Any = None

    @abc.abstractmethod
    def load(self) -> Any:
        """Import the SDK and make its client; runs in a worker thread. Raises ModelError."""

    @abc.abstractmethod
    async def open(self, client: Any, request: ModelRequest, stack: AsyncExitStack) -> Any:
        """Make the request; `stack` closes the HTTP response that is returned."""

    @abc.abstractmethod
    def translator(self) -> Translator:
        """Return a fresh translator for one round."""

    @abc.abstractmethod
    def explain(self, error: Exception, *, connected: bool) -> ModelError | None:
        """Translate an error of the SDK; None for what it does not know."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """Open a round; the request is made at the first read. Leaving the block closes it."""
        reading = _Reading(self, request)
        try:
            yield reading
        finally:
            await reading.aclose()

    async def client(self) -> Any:
        """Return the client, made at the first call. A cancel leaves the import to its thread."""
        async with self._lock:
            if self._client is None:
                self._client = await trio.to_thread.run_sync(self.load, abandon_on_cancel=True)
            return self._client

    async def aclose(self) -> None:
        """Give the connections back. Takes at most two seconds, also under cancel."""
        client, self._client = self._client, None
        if client is not None:
            with trio.CancelScope(deadline=trio.current_time() + _CLOSE_SECONDS, shield=True):
                await client.close()


class _Reading:
    """One round over HTTP: opens at the first read, iterates over model events, closes for good."""

    def __init__(self, provider: HttpProvider, request: ModelRequest) -> None:
        self._provider = provider
        self._request = request
        self._translator = provider.translator()
        self._stack = AsyncExitStack()
        self._chunks: AsyncIterator[bytes] | None = None
        self._lines = _Lines()
        self._ready: deque[ModelEvent] = deque()
        self._ended = False
        self._finished = False

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> ModelEvent:
        while not self._ready:
            if self._ended:
                raise StopAsyncIteration
            await self._read()
        return self._ready.popleft()

    async def _read(self) -> None:
        try:
            chunk = await self._next_chunk()
            for event in self._lines.feed(chunk) if chunk is not None else ():
                self._take(self._translator.feed(event))
        except ModelError:
            raise
        except Exception as error:
            if not self._translator.complete:
                raise self._explained(error) from error
            chunk = None
        if chunk is None:
            self._take(self._translator.end())
            self._ended = True

    def _take(self, events: Iterable[ModelEvent]) -> None:
        for event in events:
            if not self._ended:
                self._ready.append(event)
                self._ended = self._finished = isinstance(event, Finished)

    async def _next_chunk(self) -> bytes | None:
        """Return the next bytes, or None at the end; a complete answer waits for no courtesies."""
        if self._chunks is None:
            client = await self._provider.client()
            response = await self._provider.open(client, self._request, self._stack)
            _refuse_pages(response)
            self._chunks = response.aiter_bytes()
        patience = _COURTESY_SECONDS if self._translator.complete else float("inf")
        with trio.move_on_after(patience):
            return await anext(self._chunks, None)
        return None

    def _explained(self, error: Exception) -> ModelError:
        known = self._provider.explain(error, connected=self._chunks is not None)
        return known or ModelError("protocol", f"{type(error).__name__}: {error}")

    async def aclose(self) -> None:
        """Close the response in whatever state. Takes at most two seconds, also under cancel."""
        chunks, self._chunks, self._ended = self._chunks, None, True
        with trio.CancelScope(deadline=trio.current_time() + _CLOSE_SECONDS, shield=True):
            if chunks is not None:
                await _unwind(chunks, _LAST_BYTES_SECONDS if self._finished else 0)
            try:
                await self._stack.aclose()
            except Exception as error:
                _log.info("model_stream_close_failed", error=repr(error))


async def _unwind(chunks: AsyncIterator[bytes], seconds: float) -> None:
    """Read to the end for so long (then the connection can be used again), and then cancelled."""
    with trio.move_on_after(seconds):
        try:
            async for _ in chunks:
                pass
        except Exception as error:
            _log.debug("model_stream_left", error=repr(error))


class _Lines:
    """Bytes in, server-sent events out."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        self._buffer += chunk
        if len(self._buffer) > _MAX_EVENT:
            raise ModelError("protocol", f"one event is longer than {_MAX_EVENT} bytes")
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = bytearray(rest)
        events = (self._line(line.rstrip(b"\r").decode("utf-8", "replace")) for line in lines)
        return [event for event in events if event is not None]

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            event = ServerEvent(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None


def _refuse_pages(response: Any) -> None:
    """A proxy's page or a plain JSON body with status 200 is not a stream."""
    kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind in ("text/html", "application/json", "application/xhtml+xml"):
        raise ModelError("protocol", f"the server answered {kind} instead of an event stream")


def json_object(event: ServerEvent) -> dict[str, Any]:
    """Read an event's data as a JSON object; anything else is a ModelError."""
    try:
        value = json.loads(event.data)
    except (ValueError, RecursionError) as error:
        raise ModelError("protocol", f"broken JSON in the stream: {error}") from None
    if not isinstance(value, dict):
        raise ModelError("protocol", "an event of the stream is not a JSON object")
    return value


def as_model_error(sdk: Any, error: Exception, *, connected: bool) -> ModelError | None:
    """Translate the errors that the openai and anthropic SDKs share; None for others."""
    if isinstance(error, sdk.APIStatusError):
        status = error.status_code
        passing = status >= 500 or status in _PASSING
        text = f"HTTP {status}: {error.message}"
        return ModelError("http" if passing else "refused", text, retryable=passing)
    if isinstance(error, sdk.APIConnectionError):
        cause = error.__cause__ or error
        text = f"{error.message} ({type(cause).__name__}: {cause})"
        return ModelError("protocol" if connected else "connect", text)
    return None


def error_text(error: Any) -> str:
    """Return the text of an error object inside a stream."""
    return str(error.get("message") or error) if isinstance(error, dict) else str(error)


def spoken(message: ChatMessage) -> str:
    """Return a message's text as a model should hear it: in a room, who speaks is part of it."""
    if message.role == "user" and message.name:
        return f"{message.name}: {message.content}"
    return message.content
