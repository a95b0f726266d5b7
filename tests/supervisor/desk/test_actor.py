"""The two doors: who gets in, who is dropped, and how fast they close."""

from __future__ import annotations

import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

from supervisor.desk.boundary import Limits
from supervisor.desk.server import DEFAULT_PORT, PortTaken, bind_tcp, bind_unix
from supervisor.desk.texts import Texts

OPEN = ("/healthz", "/readyz", "/metrics")
CLOSED = (
    "/",
    "/web/index.html",
    "/api",
    "/api/about",
    "/api/supervision",
    "/api/status",
    "/api/tree",
    "/api/rooms",
    "/api/rooms/%23taller/messages",
    "/api/reminders",
    "/api/cron",
    "/api/events",
    "/nada",
)


@pytest.fixture
async def running(start_api: Any) -> AsyncIterator[Any]:
    async with start_api() as running:
        yield running


@pytest.fixture
async def client(running: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=running.url, trust_env=False) as client:
        yield client


def bearer(running: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {running.token}"}


async def raw(port: int, text: str) -> bytes:
    """Send one request as written; return all that comes until the peer closes."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(text.replace("\n", "\r\n").encode("latin-1"))
        answer = b""
        with trio.fail_after(5):
            async for part in stream:
                answer += part
    return answer


async def peer_closes(stream: trio.SocketStream, seconds: float = 5.0) -> bytes:
    """Return what still arrives before the peer closes; fails when it does not close in time."""
    data = b""
    with trio.fail_after(seconds):
        try:
            while part := await stream.receive_some():
                data += part
        except trio.BrokenResourceError:
            pass
    return data


# -- the token ------------------------------------------------------------------------------------


async def test_only_the_open_three_need_no_token(client: httpx2.AsyncClient) -> None:
    for path in OPEN:
        assert (await client.get(path)).status_code == 200
    for path in CLOSED:
        assert (await client.get(path)).status_code == 401


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer x", "Basic dTpw", "Bearer ñ", "Bearer " + "a" * 43],
)
async def test_a_wrong_token_is_a_401(client: httpx2.AsyncClient, header: str) -> None:
    answer = await client.get("/api/status", headers={"authorization": header.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.json()["errors"] == []


async def test_the_bearer_token_opens(running: Any, client: httpx2.AsyncClient) -> None:
    for path in ("/", "/api/status", "/api/tree"):
        assert (await client.get(path, headers=bearer(running))).status_code == 200


async def test_the_token_becomes_a_cookie_that_opens(
    running: Any, client: httpx2.AsyncClient
) -> None:
    answer = await client.post("/api/session", json={"token": running.token})
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"vivero_{running.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/;" in cookie
    assert "Domain" not in cookie
    (age,) = [part for part in cookie.split("; ") if part.startswith("Max-Age=")]
    assert 7 * 86_400 <= int(age.partition("=")[2]) <= 400 * 86_400
    assert (await client.get("/api/status")).status_code == 200


async def test_a_wrong_token_does_not_disturb_who_has_signed_in(
    running: Any, client: httpx2.AsyncClient
) -> None:
    assert (await client.post("/api/session", json={"token": running.token})).status_code == 204
    answer = await client.post("/api/session", json={"token": "a" * 43})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert (await client.get("/")).status_code == 200
    assert (await client.post("/api/session", json={"token": running.token})).status_code == 204
    assert (await client.get("/")).status_code == 200


async def test_the_cookie_outlives_a_restart_on_the_same_port(start_api: Any) -> None:
    async with start_api() as running, httpx2.AsyncClient(trust_env=False) as client:
        port = running.port
        await client.post(f"{running.url}/api/session", json={"token": running.token})
        cookies = dict(client.cookies)
    async with (
        start_api(port=port) as running,
        httpx2.AsyncClient(trust_env=False, cookies=cookies) as client,
    ):
        assert (await client.get(f"{running.url}/api/status")).status_code == 200


@pytest.mark.parametrize("token", ["", "x", None, 3, ["x"]])
async def test_a_wrong_token_makes_no_cookie(client: httpx2.AsyncClient, token: Any) -> None:
    answer = await client.post("/api/session", json={"token": token})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


async def test_without_the_cookie_the_page_only_signs_in(
    running: Any, client: httpx2.AsyncClient
) -> None:
    answer = await client.get("/")
    assert answer.status_code == 401
    assert "location.hash" in answer.text
    assert running.token not in answer.text
    assert "script-src 'sha256-" in answer.headers["content-security-policy"]


async def test_answers_are_neither_cached_framed_nor_sniffed(
    running: Any, client: httpx2.AsyncClient
) -> None:
    headers = (await client.get("/api/status", headers=bearer(running))).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers


# -- host and origin ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/", "/api/status", "/api/session"])
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1", "[::2]"])
async def test_a_rebound_name_is_refused_everywhere(
    running: Any, client: httpx2.AsyncClient, host: str, path: str
) -> None:
    headers = {"host": f"{host}:{running.port}", **bearer(running)}
    assert (await client.get(path, headers=headers)).status_code == 403


async def test_loopback_names_pass(running: Any, client: httpx2.AsyncClient) -> None:
    for host in ("localhost", "127.0.0.1:1", "127.8.9.1", "[::1]:80"):
        assert (await client.get("/healthz", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
async def test_a_foreign_origin_is_refused_even_with_the_token(
    running: Any, client: httpx2.AsyncClient, origin: str
) -> None:
    headers = {"origin": origin, **bearer(running)}
    room = "/api/rooms/%23taller/messages"
    body = {"text": "hola", "as": "ana"}
    assert (await client.post(room, json=body, headers=headers)).status_code == 403
    assert (await client.get("/healthz", headers=headers)).status_code == 403
    assert running.office.said == []


async def test_our_own_origin_passes(running: Any, client: httpx2.AsyncClient) -> None:
    headers = {"origin": running.url, **bearer(running)}
    assert (await client.get("/api/status", headers=headers)).status_code == 200


async def test_another_sites_page_cannot_embed_us_but_may_link(
    running: Any, client: httpx2.AsyncClient
) -> None:
    image = {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", **bearer(running)}
    assert (await client.get("/api/status", headers=image)).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert (await client.get("/", headers=link)).status_code == 401


async def test_browsers_are_answered_in_their_language_and_programs_in_the_workspaces(
    running: Any, client: httpx2.AsyncClient
) -> None:
    async def error(accept: str, **more: str) -> str:
        answer = await client.get("/nada", headers={"accept-language": accept, **more})
        return str(answer.json()["error"])

    known = bearer(running)
    assert await error("en-GB, en;q=0.9", **known) == "no such thing"
    assert await error("fr", **known) == "no existe"
    assert await error("es", **known) == "no existe"
    assert "missing or wrong token" in await error("en")
    assert "host not allowed" in await error("en", host="evil.example")
    transport = httpx2.AsyncHTTPTransport(uds=str(running.places.socket))
    async with httpx2.AsyncClient(transport=transport, base_url="http://v") as program:
        answer = await program.get("/nada", headers={"accept-language": "en"})
        assert answer.json()["error"] == "no existe"


async def test_web_sockets_are_refused(running: Any) -> None:
    answer = await raw(
        running.port,
        "GET /api/events HTTP/1.1\nHost: localhost\nUpgrade: websocket\nConnection: Upgrade\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Version: 13\n\n",
    )
    assert b" 403 " in answer.partition(b"\r\n")[0]


async def test_http2_spoken_by_knowledge_meets_the_same_guard(running: Any) -> None:
    import h2.connection
    import h2.events

    peer = h2.connection.H2Connection()
    peer.initiate_connection()
    path = (":path", "/api/status")
    peer.send_headers(
        1, [(":method", "GET"), path, (":scheme", "http"), (":authority", "evil")], end_stream=True
    )
    stream = await trio.open_tcp_stream("127.0.0.1", running.port)
    async with stream:
        await stream.send_all(peer.data_to_send())
        with trio.fail_after(5):
            while True:
                for event in peer.receive_data(bytes(await stream.receive_some())):
                    if isinstance(event, h2.events.ResponseReceived):
                        assert (b":status", b"403") in event.headers
                        return


# -- peers that cost ------------------------------------------------------------------------------


async def test_garbage_is_answered_or_dropped_and_others_served(
    running: Any, client: httpx2.AsyncClient
) -> None:
    for junk in ("\n\n\n", "GET\n\n", "\x16\x03\x01\x02", "GET / HTTP/1.1\n\n", "A" * 70_000):
        answer = await raw(running.port, junk + "\n\n")
        assert b" 200 " not in answer
    assert (await client.get("/healthz")).status_code == 200


async def test_a_peer_that_never_ends_its_headers_is_closed(start_api: Any) -> None:
    async with start_api(limits=Limits(header_seconds=0.05)) as running:
        stream = await trio.open_tcp_stream("127.0.0.1", running.port)
        async with stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHost: loc")
            await peer_closes(stream)


async def test_a_body_that_never_ends_is_a_408(start_api: Any) -> None:
    async with start_api(limits=Limits(body_seconds=0.05, linger_seconds=0.05)) as running:
        stream = await trio.open_tcp_stream("127.0.0.1", running.port)
        async with stream:
            await stream.send_all(
                b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{"
            )
            assert b" 408 " in await peer_closes(stream)


@pytest.mark.parametrize("framing", ["Content-Length: 50000000", "Transfer-Encoding: chunked"])
async def test_a_huge_body_is_refused_and_leaves_nothing_behind(
    start_api: Any, framing: str
) -> None:
    limits = Limits(body_bytes=100_000, linger_seconds=0.2, send_seconds=1.0)
    async with start_api(limits=limits) as running:
        stream = await trio.open_tcp_stream("127.0.0.1", running.port)
        head = f"POST /api/session HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n"
        piece = b"a" * 65_536 if "Length" in framing else b"10000\r\n" + b"a" * 65_536 + b"\r\n"

        async def pour() -> None:
            try:
                await stream.send_all(head.encode())
                for _ in range(760):
                    await stream.send_all(piece)
            except trio.BrokenResourceError:
                pass

        async with stream, trio.open_nursery() as nursery:
            nursery.start_soon(pour)
            answer = await peer_closes(stream)
            nursery.cancel_scope.cancel()
        assert b" 413 " in answer
        running.inbox.drained.set()
        with trio.fail_after(1):
            await running.stopped.wait()


async def test_only_who_has_the_token_may_send_more_than_a_token(
    running: Any, client: httpx2.AsyncClient
) -> None:
    answer = await client.post("/api/session", json={"token": "a" * 5000})
    assert answer.status_code == 413


async def test_an_early_refusal_reaches_a_peer_that_is_still_sending(running: Any) -> None:
    body = b"a" * 600_000
    stream = await trio.open_tcp_stream("127.0.0.1", running.port)
    async with stream:
        await stream.send_all(
            b"POST /api/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
            % len(body)
        )
        await stream.send_all(body)
        assert b" 401 " in await peer_closes(stream)


async def test_two_hundred_idle_connections_cost_nobody_anything(
    running: Any, client: httpx2.AsyncClient
) -> None:
    idle = [await trio.open_tcp_stream("127.0.0.1", running.port) for _ in range(200)]
    with trio.fail_after(2):
        assert (await client.get("/healthz")).status_code == 200
    for stream in idle:
        await stream.aclose()


async def test_a_full_door_gives_up_whoever_has_been_idle_longest(start_api: Any) -> None:
    async with start_api(limits=Limits(connections=3)) as running:
        held = []
        for _ in range(3):
            held.append(await trio.open_tcp_stream("127.0.0.1", running.port))
            await trio.testing.wait_all_tasks_blocked(0.01)
        await held[0].send_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await read_until(held[0], b"ok\n")  # now the second is the one that waits longest
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert b" 200 " in await raw(
            running.port, "GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n"
        )
        assert await peer_closes(held[1]) == b""
        for stream in (held[0], held[2]):
            await stream.send_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await read_until(stream, b"ok\n")
        for stream in held:
            await stream.aclose()


async def test_no_request_is_cut_off_for_a_newcomer(start_api: Any) -> None:
    async with start_api(limits=Limits(connections=2)) as running:
        stream = await listen(running.port, running.token)
        await read_until(stream, b"hello")
        slow = await trio.open_tcp_stream("127.0.0.1", running.port)
        head = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"
        await slow.send_all(head + b"{")
        await trio.testing.wait_all_tasks_blocked(0.01)
        newcomer = await trio.open_tcp_stream("127.0.0.1", running.port)
        assert await peer_closes(newcomer) == b""
        transport = httpx2.AsyncHTTPTransport(uds=str(running.places.socket))
        async with httpx2.AsyncClient(transport=transport, base_url="http://v") as client:
            assert (await client.get("/healthz")).status_code == 200
        await slow.send_all(b"}")
        await read_until(slow, b" 401 ")
        running.office.add("@ana", "hola")
        await read_until(stream, b"hola")
        for one in (stream, slow, newcomer):
            await one.aclose()


# -- event streams --------------------------------------------------------------------------------


async def listen(port: int, token: str, query: str = "", **headers: str) -> trio.SocketStream:
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    lines = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in headers.items())
    await stream.send_all(
        f"GET /api/events{query} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {token}\r\n{lines}\r\n".encode()
    )
    return stream


async def read_until(stream: trio.SocketStream, mark: bytes) -> bytes:
    data = b""
    with trio.fail_after(5):
        while mark not in data:
            part = await stream.receive_some()
            assert part, data
            data += part
    return data


async def test_happenings_arrive_with_topic_id_and_data(running: Any, change: Any) -> None:
    stream = await listen(running.port, running.token)
    async with stream:
        head = await read_until(stream, b"event: hello")
        assert b"text/event-stream" in head
        running.office.add("@ana", "hola\nqué tal")
        running.office.publish("supervision", change)
        data = await read_until(stream, b'"reason":"reload"}\n\n')
        assert b"event: rooms/#taller\nid: " in data
        assert b'"text":"hola\\nqu' in data


async def test_a_reader_chooses_its_topics(running: Any, change: Any) -> None:
    stream = await listen(running.port, running.token, "?topics=supervision")
    async with stream:
        await read_until(stream, b"event: hello")
        running.office.add("@ana", "hola")
        running.office.publish("supervision", change)
        data = await read_until(stream, b"event: supervision")
        assert b"hola" not in data


async def test_a_reader_goes_on_where_it_left(running: Any) -> None:
    stream = await listen(running.port, running.token)
    async with stream:
        await read_until(stream, b"event: hello")
        running.office.add("@ana", "uno")
        data = await read_until(stream, b"uno")
    last = data.partition(b"id: ")[2].partition(b"\n")[0].decode()
    running.office.add("@ana", "dos")
    stream = await listen(running.port, running.token, last_event_id=last)
    async with stream:
        data = await read_until(stream, b"dos")
        assert b"uno" not in data
        assert b"event: gap" not in data


async def test_an_id_of_an_earlier_life_is_a_gap(running: Any) -> None:
    running.office.add("@ana", "uno")
    await trio.testing.wait_all_tasks_blocked()
    stream = await listen(running.port, running.token, last_event_id="0badc0de.7")
    async with stream:
        data = await read_until(stream, b"uno")
        assert b"event: gap" in data


async def test_quiet_streams_carry_a_heartbeat(start_api: Any) -> None:
    async with start_api(limits=Limits(heartbeat_seconds=0.01)) as running:
        stream = await listen(running.port, running.token)
        async with stream:
            await read_until(stream, b":" + b" " + b"\n\n")


async def test_a_stalled_reader_is_dropped_and_nobody_waited(start_api: Any) -> None:
    async with start_api(limits=Limits(send_seconds=0.2)) as running:
        stalled = await listen(running.port, running.token)
        lively = await listen(running.port, running.token)
        await read_until(stalled, b"hello")
        await read_until(lively, b"hello")
        text = "x" * 20_000
        with trio.fail_after(10):
            for number in range(600):
                running.office.add("@ana", f"{text}{number}!")
                if number % 20 == 0:
                    await read_until(lively, b"x%d!" % number)
        with trio.fail_after(5):
            while len(running.counted) < 1:
                await trio.testing.wait_all_tasks_blocked(0.05)
        assert running.counted == [("GET", "events", 200)]
        await stalled.aclose()
        await lively.aclose()


async def test_streams_are_limited(start_api: Any) -> None:
    async with start_api(limits=Limits(streams=1)) as running:
        first = await listen(running.port, running.token)
        await read_until(first, b"hello")
        second = await listen(running.port, running.token)
        assert b" 503 " in await read_until(second, b"\r\n\r\n")
        await first.aclose()
        await second.aclose()
        with trio.fail_after(5):
            while ("GET", "events", 200) not in running.counted:
                await trio.testing.wait_all_tasks_blocked(0.01)
        third = await listen(running.port, running.token)
        await read_until(third, b"hello")
        await third.aclose()


# -- starting and stopping ------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["drain", "cancel"])
async def test_a_stop_is_quick_whatever_hangs_on_it(start_api: Any, how: str) -> None:
    async with trio.open_nursery() as nursery:

        async def hold(task_status: trio.TaskStatus[Any]) -> None:
            async with start_api() as running:
                task_status.started(running)
                await trio.sleep_forever()

        running = await nursery.start(hold)
        idle = await trio.open_tcp_stream("127.0.0.1", running.port)
        half = await trio.open_tcp_stream("127.0.0.1", running.port)
        await half.send_all(b"POST /api/reload HTTP/1.1\r\nHost: localhost\r\n")
        kept = httpx2.AsyncClient(base_url=running.url, trust_env=False)
        await kept.get("/healthz")
        live = await listen(running.port, running.token)
        await read_until(live, b"hello")
        stalled = await listen(running.port, running.token)
        await read_until(stalled, b"hello")
        for _ in range(600):
            running.office.add("@ana", "x" * 20_000)
            await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked(0.05)  # the stalled one's socket is full now

        started = trio.current_time()
        if how == "drain":
            running.inbox.drained.set()
            await running.stopped.wait()
        else:
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                while running.places.socket.exists():
                    await trio.lowlevel.checkpoint()
        assert trio.current_time() - started < 0.1
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await kept.aclose()
            for stream in (idle, half, live, stalled):
                await stream.aclose()


async def test_started_means_that_both_doors_listen(running: Any) -> None:
    async with await trio.open_unix_socket(str(running.places.socket)):
        pass
    async with await trio.open_tcp_stream("127.0.0.1", running.port):
        pass
    assert running.announced == [f"{running.url}/#token={running.token}"]


async def test_the_files_are_private_and_the_token_survives(start_api: Any, places: Any) -> None:
    async with start_api() as running:
        token = running.token
        assert len(token) >= 32
        for path in (places.socket, places.url, places.token):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not places.socket.exists()
    assert not places.url.exists()
    async with start_api() as running:
        assert running.token == token


@pytest.mark.parametrize("text", ["", "short", "with space" * 9, "\xff" * 40])
async def test_a_token_unfit_for_use_is_replaced(start_api: Any, places: Any, text: str) -> None:
    places.token.write_text(text, encoding="latin-1")
    async with start_api() as running:
        assert running.token != text
        assert len(running.token) >= 32


async def test_a_stale_socket_is_replaced_and_a_file_is_not(start_api: Any, places: Any) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(places.socket))
    stale.close()
    async with start_api(), await trio.open_unix_socket(str(places.socket)):
        pass
    places.socket.write_text("precious")
    with pytest.raises(FileExistsError):
        bind_unix(places.socket)
    assert places.socket.read_text() == "precious"


def test_a_configured_port_that_is_taken_is_an_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=str(port)):
            bind_tcp("127.0.0.1", port, Texts())


def test_the_default_port_gives_way_to_the_next_free_one() -> None:
    with (
        bind_tcp("127.0.0.1", None, Texts()) as first,
        bind_tcp("127.0.0.1", None, Texts()) as second,
    ):
        assert DEFAULT_PORT <= first.getsockname()[1] < second.getsockname()[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.1", "example.org", "::", ""])
def test_only_loopback_addresses_are_bound(host: str) -> None:
    with pytest.raises(PortTaken):
        bind_tcp(host, 0, Texts())


async def test_a_crash_of_the_feed_ends_the_generation(office: Any, places: Path) -> None:
    from supervisor.desk.actor import Api

    class Broken(type(office)):  # type: ignore[misc]
        def subscribe(self, topic: str) -> Any:
            raise RuntimeError("the bus is gone")

    with pytest.RaisesGroup(RuntimeError, flatten_subgroups=True, allow_unwrapped=True):
        await Api(Broken(), places, port=0).run(None)  # type: ignore[arg-type]
