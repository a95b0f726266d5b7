"""A hostile machine around a real supervisor: other sites, other peers, and what they send.

One process for the whole file. A reader of events that never reads stands at its door from the
beginning, and has been dropped by the end.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import resource
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import attrs
import psutil
import pytest

from supervisor.desk.api import Desk
from supervisor.desk.boundary import Limits
from supervisor.desk.feed import Feed
from supervisor.desk.page import read_assets
from supervisor.desk.security import cookie_name
from supervisor.desk.texts import Texts
from tests.e2e.process import (
    Supervisor,
    make_workspace,
    replaying,
    supervisor,
    supervisor_yaml,
    until,
)

pytestmark = [pytest.mark.e2e, pytest.mark.promise("P7")]

ROOM = "/api/rooms/%23taller/messages"
OPEN = {"/healthz", "/readyz", "/metrics"}
EVIL = "http://evil.example"
FLOOD = 20  # messages: more than the buffers between two processes hold
ESC, CSI = "\x1b[31m\x1b]0;mine\x07", "\x9b31m"
SCRIPT = f"""\
- {{match: rompe, rounds: [[crash: {json.dumps(f"malo {ESC}{CSI} <b>")}]]}}
- rounds: [[text: "Recibido."]]
"""


@attrs.frozen
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@attrs.frozen
class Gate:
    """The TCP door of a running supervisor, spoken to byte by byte."""

    house: Supervisor
    port: int
    token: str

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"{cookie_name(self.port)}={self.token}"}

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)

    def head(self, method: str, target: str, headers: Mapping[str, str]) -> bytes:
        given = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", **headers}
        lines = [f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def ask(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer:
        length = {"Content-Length": str(len(body))} if body else {}
        with self.connect() as peer:
            peer.sendall(self.head(method, target, {**length, **(headers or {})}) + body)
            return read_answer(peer, method)

    def follow(self) -> socket.socket:
        """Open a stream of events and read its first one."""
        peer = socket.socket()
        peer.settimeout(10)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(("127.0.0.1", self.port))
        peer.sendall(self.head("GET", "/api/events?topics=rooms/*", self.cookie))
        read_until(peer, b"event: hello")
        return peer

    def process(self) -> psutil.Process:
        return psutil.Process(self.house.pid)


def read_answer(peer: socket.socket, method: str = "GET") -> Answer:
    answer = http.client.HTTPResponse(peer, method=method)
    with contextlib.closing(answer):
        answer.begin()
        headers = {key.lower(): value for key, value in answer.getheaders()}
        if headers.get("content-type", "").startswith("text/event-stream"):
            return Answer(answer.status, headers, b"")
        return Answer(answer.status, headers, answer.read())


def read_until(peer: socket.socket, mark: bytes) -> bytes:
    data = b""
    while mark not in data:
        part = peer.recv(65_536)
        assert part, data[-500:]
        data += part
    return data


def peak_bytes(pid: int) -> int:
    """The most memory the process ever held, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    text = supervisor_yaml(rooms={"#taller": "[asistente]"}, web={"port": 0})
    files = {"supervisor.yaml": text, **replaying(SCRIPT)}
    workspace = make_workspace(tmp_path_factory.mktemp("hostile") / "w", files)
    with supervisor(workspace, "--log-format", "text", ready=False) as house:
        until(lambda: (house.client.answers() and ready(house)) or None, 30, house.tail)
        url = (workspace / "run/web.url").read_text()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)\n", url)
        assert found
        yield Gate(house, int(found[1]), found[2])


def ready(house: Supervisor) -> bool:
    return {"asistente": 1}.items() <= house.generations().items()


@pytest.fixture(scope="module", autouse=True)
def stalled(gate: Gate) -> Iterator[socket.socket]:
    """A stream of events whose reader takes nothing, with more on its way than buffers hold."""
    with gate.follow() as reader:
        with gate.follow() as lively:
            for number in range(FLOOD):
                flood(gate, number)
                read_until(lively, b" %d." % number)
        yield reader


def flood(gate: Gate, number: int) -> None:
    """Say what takes 56 kB, and needs no answer."""
    body = {"text": f"{'🌱' * 14_000} {number}.", "as": "ana", "as_bot": True}
    gate.house.client.post("rooms", "#taller", "messages", body=body)


# -- who gets in ----------------------------------------------------------------------------------


def endpoints() -> list[tuple[str, str]]:
    """(method, path) of every route that the app has, its parameters filled in."""
    desk = Desk(None, Feed(), Texts(), Limits(), "", 0, {})  # type: ignore[arg-type]
    found = []
    for route in desk.routes():
        path = route.path.replace("{room:path}", "%23taller").replace("{id}", "asistente")
        path = path.replace("{event_id:path}", "local-1")
        names = sorted(read_assets()) if "{name}" in path else [""]
        paths = [path.replace("{name}", name) for name in names]
        assert not any("{" in path for path in paths), path
        found += [(method, path) for path in paths for method in sorted(route.methods or ())]
    return found


def test_the_list_of_endpoints_is_the_apps(gate: Gate) -> None:
    found = endpoints()
    assert len(found) > 30
    assert {("GET", "/"), ("POST", "/api/session"), ("GET", "/web/index.html")} <= set(found)


def test_every_endpoint_and_file_wants_the_token(gate: Gate) -> None:
    wrong = {"Authorization": f"Bearer {'a' * 43}", "Cookie": f"vivero_{gate.port}={'a' * 43}"}
    for method, path in endpoints():
        answer = gate.ask(method, path, wrong)
        assert answer.status == (200 if path in OPEN else 401), (method, path)
        assert gate.token.encode() not in answer.body
        assert "set-cookie" not in answer.headers
        if not path.startswith("/web/"):
            assert gate.ask(method, path).status == answer.status, (method, path)
        if method == "GET":
            assert gate.ask("GET", path, gate.cookie).status != 401, path
    assert gate.ask("GET", "/", {"Cookie": f"vivero_1={gate.token}"}).status == 401
    assert ready(gate.house)  # nobody was stopped or reloaded


def test_another_site_gets_nothing_of_any_endpoint_even_with_the_cookie(gate: Gate) -> None:
    for method, path in endpoints():
        if not path.startswith("/web/") or path == "/web/index.html":
            answer = gate.ask(method, path, {**gate.cookie, "Origin": EVIL})
            assert answer.status == 403, (method, path)
    assert ready(gate.house)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "evil.example", "X-Forwarded-Host": "127.0.0.1", "Origin": EVIL},
        {"Host": "evil.example", "Origin": "http://127.0.0.1"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_another_site_and_another_name_neither_read_nor_post(
    gate: Gate, headers: dict[str, str]
) -> None:
    stop = "/api/agents/asistente/stop"
    for method, path in (("GET", "/"), ("GET", "/healthz"), ("GET", ROOM), ("POST", stop)):
        answer = gate.ask(method, path, {**gate.cookie, **headers})
        assert answer.status == 403, (method, path)
        assert not any(key.startswith("access-control") for key in answer.headers)
    said = json.dumps({"text": "de otro sitio", "as": "eva"}).encode()
    assert gate.ask("POST", ROOM, {**gate.cookie, **headers}, said).status == 403
    assert gate.ask("OPTIONS", ROOM, headers).status == 403
    token = json.dumps({"token": gate.token}).encode()
    answer = gate.ask("POST", "/api/session", headers, token)
    assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    assert ready(gate.house) and gate.house.said("#taller", "@eva") == []


def test_our_own_page_may_post(gate: Gate) -> None:
    own = {"Origin": f"http://127.0.0.1:{gate.port}", "Sec-Fetch-Site": "same-origin"}
    said = json.dumps({"text": "de casa", "as": "berta"}).encode()
    assert gate.ask("POST", ROOM, {**gate.cookie, **own}, said).status == 201
    assert gate.house.said("#taller", "@berta") == ["de casa"]


# -- where paths lead -----------------------------------------------------------------------------

UP = ("../../../../../../etc/passwd", "../page.py", "../../../run/web.token")
ODD = (
    *(prefix + path for prefix in ("/web/", "/", "/api/rooms/") for path in UP),
    *("/web/" + quote(path, safe="") for path in UP),
    *("/web/" + quote(quote(path, safe=""), safe="") for path in UP),
    *("/web/" + path.replace("/", "\\") for path in UP),
    *("/web/" + quote(path.replace("/", "\\"), safe="") for path in UP),
    *(f"/api/rooms/{quote(path, safe='')}/messages" for path in UP),
    *(f"/api/why/{quote(path, safe='')}" for path in UP),
    "/web//etc/passwd",
    "/web/%2fetc%2fpasswd",
    "/web/file:///etc/passwd",
    "/web/index.html%00",
    "/web/index.html%00.js",
    "/web/%00",
    "/web/%c0%ae%c0%ae%c0%afetc%c0%afpasswd",
    "/web/%ff",
    "/web/index.html/",
    "/web/./index.html",
    "/web",
    "/web/",
    "/web/__init__.py",
    "//web/index.html",
    "/WEB/index.html",
    "/api/rooms/%00/messages",
    "/api/rooms/%1b%5b2J/messages",
    "/api/agents/..%2f..%2fasistente/reload",
)


def test_no_path_leads_out_of_the_page(gate: Gate) -> None:
    for path in ODD:
        answer = gate.ask("GET", path, gate.cookie)
        assert answer.status in (400, 404), (path, answer)
        for secret in (b"root:", b"import ", gate.token.encode()):
            assert secret not in answer.body, path
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", answer.body), path


@pytest.mark.parametrize("target", ["/web/\x00", "/web/\x1b[2J", "/web/ index.html", "/web/\xff"])
def test_raw_bytes_in_a_path_are_refused(gate: Gate, target: str) -> None:
    assert gate.ask("GET", target, gate.cookie).status in (400, 404)


def test_an_open_path_opens_no_other(gate: Gate) -> None:
    for path in (
        "/healthz/../api/status",
        "/healthz%2f..%2fapi%2fstatus",
        "/healthz;/api/status",
        "/api/session/../status",
        "//api/status",
        "/api%2fstatus",
        "/api/status?/healthz",
        f"http://127.0.0.1:{gate.port}/api/status",
        "http://evil.example/healthz/api/status",
    ):
        answer = gate.ask("GET", path)
        assert answer.status in (400, 401), (path, answer.status)


# -- what people read -----------------------------------------------------------------------------


def test_what_strangers_write_is_data_in_the_browser_and_harmless_in_a_terminal(
    gate: Gate,
) -> None:
    tag, bidi = "<img src=x onerror=alert(1)>", "\u202egnp.exe"
    for name in ("<b>ana</b>", f"ana{ESC}", "ana bot", "../ana", f"ana{CSI}", bidi):
        body = json.dumps({"text": "hola", "as": name}).encode()
        assert gate.ask("POST", ROOM, gate.cookie, body).status == 400
    for text in (ESC, CSI, "a\x00b"):
        body = json.dumps({"text": text, "as": "ana"}).encode()
        answer = gate.ask("POST", ROOM, gate.cookie, body)
        assert answer.status == 400
        assert_harmless(answer.body.decode())
    said = gate.house.say("#taller", f"rompe {tag} {bidi}", "dora")
    gate.house.wait_slot(said, "dead_letter")

    shown = gate.ask("GET", f"{ROOM}?limit=20", gate.cookie)
    assert shown.headers["content-type"] == "application/json"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")
    assert tag in [line["text"] for line in json.loads(shown.body)][-2]
    history = ("history", "#taller", "--limit", "5")
    for words in (history, (*history, "--json"), ("why", said["event_id"]), ("status",)):
        done = gate.house.ctl(*words)
        assert done.returncode == 0
        assert_harmless(done.stdout + done.stderr)
    refused = gate.house.ctl("say", "#taller", f"x{ESC}{CSI}{bidi}")
    assert refused.returncode == 1
    assert_harmless(refused.stdout + refused.stderr)
    until(lambda: "malo" in logged(gate) or None, 5, lambda: logged(gate)[-2000:])
    assert_harmless(logged(gate))


def logged(gate: Gate) -> str:
    return "\n".join(entry["raw"].rstrip("\n") for entry in gate.house.log)


def assert_harmless(text: str) -> None:
    found = re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert not found, (found, text[-1000:])


def test_a_stranger_can_not_make_up_series_of_metrics(gate: Gate) -> None:
    for number in range(20):
        gate.ask("ODD" + chr(ord("A") + number), "/api/status")
    lines = gate.ask("GET", "/metrics").body.decode().splitlines()
    assert not [line for line in lines if "ODD" in line]


# -- peers that cost ------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["Content-Length: 104857600", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("path", ["/api/session", ROOM])
def test_a_hundred_megabytes_are_refused_early_and_never_held(
    gate: Gate, framing: str, path: str
) -> None:
    before = peak_bytes(gate.house.pid)
    chunk = b"a" * 65_536
    piece = chunk if "Length" in framing else b"10000\r\n" + chunk + b"\r\n"
    key, value = framing.split(": ")
    sent = 0
    with gate.connect() as peer:
        peer.sendall(gate.head("POST", path, {**gate.cookie, key: value}))
        with contextlib.suppress(ConnectionError):
            while sent < 100 << 20:
                peer.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    if peer.recv(1, socket.MSG_PEEK):
                        break
                peer.settimeout(5)
                peer.sendall(piece)
                sent += len(chunk)
        peer.settimeout(5)
        assert read_answer(peer).status == 413
    assert sent < 32 << 20
    assert peak_bytes(gate.house.pid) - before < 16 << 20


def test_a_thousand_idle_connections_keep_nobody_out_and_leave_nothing(gate: Gate) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, 2048)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"only {hard} descriptors may be opened here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    process = gate.process()
    live = gate.follow()
    before, memory = process.num_fds(), process.memory_info().rss
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        stack.enter_context(live)
        for number in range(1000):
            peer = stack.enter_context(gate.connect())
            if number % 3 == 0:
                peer.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        started = time.monotonic()
        page = gate.ask("GET", "/", gate.cookie)
        waited = time.monotonic() - started
        assert page.status == 200 and b"<html" in page.body
        assert waited < Limits().header_seconds / 2  # not only once they are gone
        assert process.num_fds() <= before + Limits().connections
        assert process.memory_info().rss - memory < 64 << 20
        gate.house.say("#taller", "sigue ahí", "carla")
        read_until(live, "sigue ahí".encode())
    limit = Limits().header_seconds / 2
    until(lambda: process.num_fds() < before or None, limit, lambda: str(process.num_fds()))
    assert gate.ask("GET", "/", gate.cookie).status == 200


def test_a_reader_that_takes_nothing_is_dropped_and_others_miss_nothing(
    gate: Gate, stalled: socket.socket
) -> None:
    """The other one's every message had arrived before the next was said: see the fixture."""
    until(lambda: "slow reader dropped" in logged(gate) or None, 12, lambda: logged(gate)[-2000:])
    until(lambda: gate.house.metric("vivero_event_streams") == 0 or None, 5, lambda: "one is left")
    stalled.settimeout(5)
    with contextlib.suppress(ConnectionError):
        while stalled.recv(1 << 20):
            pass  # what was on its way; then the end


def test_a_stop_waits_for_none_of_them(gate: Gate) -> None:
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(gate.follow())
        for _ in range(50):
            stack.enter_context(gate.connect()).sendall(b"POST /api/session HTTP/1.1\r\nHost: l")
        for number in range(FLOOD):
            flood(gate, number)
        started = time.monotonic()
        assert gate.house.stop() == 0
        assert time.monotonic() - started < 2.0
        assert reader.fileno() >= 0
    assert_harmless(logged(gate))
    assert gate.token not in logged(gate)
    assert "Traceback" not in logged(gate)
