"""A real HTTP server on 127.0.0.1 that streams what a test tells it, and notes when it is left."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import h11
import trio

Part = bytes | float | str | dict[str, Any]
"""bytes are sent as they are, numbers are waits, text is an event's data, a dict its JSON."""


@attrs.define
class ModelServer:
    parts: Sequence[Part] = ()
    status: int = 200
    kind: str = "text/event-stream"
    event_names: bool = False
    before_headers: float = 0.0
    cut: bool = False  # close without ending the body
    port: int = 0
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    paths: list[str] = attrs.field(factory=list)
    headers: list[dict[str, str]] = attrs.field(factory=list)
    connections: int = 0
    asked: trio.Event = attrs.field(factory=trio.Event)
    left: trio.Event = attrs.field(factory=trio.Event)
    left_at: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        connection = h11.Connection(h11.SERVER)
        try:
            while await self._exchange(stream, connection):
                connection.start_next_cycle()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._is_left()

    def _is_left(self) -> None:
        if not self.left.is_set():
            self.left_at = trio.current_time()
            self.left.set()

    async def _exchange(self, stream: trio.SocketStream, connection: h11.Connection) -> bool:
        body = b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some(65536))
            elif isinstance(event, h11.Request):
                self.paths.append(event.target.decode())
                self.headers.append({k.decode(): v.decode() for k, v in event.headers})
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return False
        self.requests.append(json.loads(body))
        self.asked.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, stream, nursery.cancel_scope)
            await self._respond(stream, connection)
            nursery.cancel_scope.cancel()
        return not self.cut and not self.left.is_set()

    async def _watch(self, stream: trio.SocketStream, scope: trio.CancelScope) -> None:
        try:
            gone = await stream.receive_some(1) == b""
        except trio.BrokenResourceError:
            gone = True
        if gone:
            self._is_left()
            scope.cancel()

    async def _respond(self, stream: trio.SocketStream, connection: h11.Connection) -> None:
        await trio.sleep(self.before_headers)
        head = h11.Response(status_code=self.status, headers=[("Content-Type", self.kind)])
        await stream.send_all(connection.send(head) or b"")
        for part in self.parts:
            if isinstance(part, float):
                await trio.sleep(part)
                continue
            await stream.send_all(connection.send(h11.Data(self._encoded(part))) or b"")
        if not self.cut:
            await stream.send_all(connection.send(h11.EndOfMessage()) or b"")

    def _encoded(self, part: bytes | str | dict[str, Any]) -> bytes:
        if isinstance(part, bytes):
            return part
        data = json.dumps(part) if isinstance(part, dict) else part
        name = f"event: {part['type']}\n" if self.event_names and isinstance(part, dict) else ""
        return f"{name}data: {data}\n\n".encode()


@asynccontextmanager
async def model_server(*parts: Part, **options: Any) -> AsyncIterator[ModelServer]:
    """Serve `parts` to every request until the block ends."""
    server = ModelServer(parts, **options)
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        server.port = listeners[0].socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, server.serve, listeners)
        yield server
        nursery.cancel_scope.cancel()
