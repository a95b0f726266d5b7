"""The blocking client against servers that misbehave."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from supervisor.desk.client import Client, NoAnswer, NoSupervisor, Refused

Serve = Callable[[bytes], Client]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server that answers every connection with these bytes and closes."""
    path = tmp_path / "s"
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(path))
    door.listen()
    threads: list[threading.Thread] = []

    def start(answer: bytes) -> Client:
        def run() -> None:
            while True:
                try:
                    peer, _ = door.accept()
                except OSError:
                    return
                with peer:
                    peer.recv(65_536)
                    peer.sendall(answer)

        threads.append(threading.Thread(target=run))
        threads[0].start()
        return Client(path)

    yield start
    door.shutdown(socket.SHUT_RDWR)
    door.close()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
    ],
)
def test_what_is_no_answer_is_said_so(serve: Serve, answer: bytes) -> None:
    with pytest.raises(NoAnswer):
        serve(answer).get("status")


def test_a_refusal_carries_its_body(serve: Serve) -> None:
    body = b'{"error": "no", "errors": []}'
    client = serve(b"HTTP/1.1 404 x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    with pytest.raises(Refused) as caught:
        client.get("status")
    assert (caught.value.status, str(caught.value)) == (404, "no")
    with pytest.raises(Refused):
        list(client.events(None, ["x"], time.monotonic() + 5))


def test_events_are_read_until_the_stream_ends(serve: Serve) -> None:
    client = serve(
        b"HTTP/1.1 200 OK\r\n\r\nevent: hello\nid: a.0\ndata: {}\n\n"
        b': \n\nid: a.1\nevent: rooms/#a\ndata: {"x": 1}\n\nevent: half'
    )
    events = list(client.events(None, ["rooms/*"], time.monotonic() + 5))
    assert [(event.type, event.id, event.data) for event in events] == [
        ("hello", "a.0", {}),
        ("rooms/#a", "a.1", {"x": 1}),
    ]


def test_nobody_there(tmp_path: Path) -> None:
    client = Client(tmp_path / "nothing")
    with pytest.raises(NoSupervisor):
        client.get("status")
    with pytest.raises(NoSupervisor):
        Client(tmp_path / "nothing" / "deeper").post("reload")
    assert not client.answers()


@pytest.mark.parametrize("backlog", [0, 10])
def test_a_server_that_never_answers_is_given_up(tmp_path: Path, backlog: int) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "s"))
        door.listen(backlog)
        client = Client(tmp_path / "s")
        assert not client.answers(0.05)
        with pytest.raises(NoAnswer, match="timeout"):
            client.get("status", seconds=0.05)
        if backlog:
            assert list(client.events(None, ["x"], time.monotonic() + 0.05)) == []


def test_names_cannot_leave_their_place_in_the_path() -> None:
    from supervisor.desk.client import _target

    target = _target(("rooms", "../#a?x=1&b/", "messages"), {"limit": 5, "room": None})
    assert target == "/api/rooms/..%2F%23a%3Fx%3D1%26b%2F/messages?limit=5"
