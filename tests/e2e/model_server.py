"""A model server of OpenAI's protocol in a thread: it holds a stream until it is left."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelServer(ThreadingHTTPServer):
    """Holds the first `hold` calls open after one word, for as long as the client stays."""

    daemon_threads = True

    def __init__(self, hold: int) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self._hold = hold
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.holding = threading.Semaphore(0)  # released once for each call that is held now
        self.left = threading.Event()
        self.left_at = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def take(self, request: dict[str, Any]) -> bool:
        """Note a request; say whether it is one to hold."""
        with self._lock:
            self.requests.append(request)
            return len(self.requests) <= self._hold

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle is what these tests are about."""


class _Call(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        held = self.server.take(request)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self._send({"content": "Una "}, None)
        if held:
            self._wait_until_left()
            return
        self._send({"content": "respuesta."}, None)
        self._send({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, delta: dict[str, str], finish: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        self.wfile.write(f"data: {json.dumps({**body, 'choices': [choice]})}\n\n".encode())
        self.wfile.flush()

    def _wait_until_left(self) -> None:
        self.server.holding.release()
        self.connection.settimeout(120)
        try:
            gone = self.connection.recv(1) == b""
        except ConnectionError:
            gone = True
        if gone:
            self.server.left_at = time.monotonic()
            self.server.left.set()

    def log_message(self, *_: object) -> None:
        """Be silent."""


@contextmanager
def model_server(*, hold: int = 0) -> Iterator[ModelServer]:
    server = ModelServer(hold)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
