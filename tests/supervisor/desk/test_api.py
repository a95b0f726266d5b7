"""The endpoints, asked through a real socket: what they answer, refuse and never show."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

from supervisor.desk.boundary import Limits
from supervisor.desk.office import OfficeError, Readiness, ReloadReport, ReloadResult

ROOM = "/api/rooms/%23taller/messages"


@pytest.fixture
async def running(start_api: Any) -> AsyncIterator[Any]:
    async with start_api() as running:
        yield running


@pytest.fixture
async def client(running: Any) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.AsyncHTTPTransport(uds=str(running.places.socket))
    async with httpx2.AsyncClient(transport=transport, base_url="http://vivero") as client:
        yield client


async def test_status_has_the_documented_shape(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/api/status")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "pid": 4711,
        "started": "2026-04-10T13:00:00+00:00",
        "workspace": "/w",
        "problems": [],
        "agents": [
            {
                "id": "asistente",
                "state": "running",
                "generation": 3,
                "restarts": 1,
                "mailbox": 2,
                "turns": [{"room": "#taller", "age_s": 12.5}],
                "last_error": "KeyError: 'x'",
            },
            {
                "id": "devops",
                "state": "quarantined",
                "generation": 6,
                "restarts": 5,
                "mailbox": 0,
                "turns": [],
                "last_error": None,
            },
        ],
    }


async def test_tree_is_nested(client: httpx2.AsyncClient) -> None:
    tree = (await client.get("/api/tree")).json()
    assert set(tree) == {"name", "state", "generation", "children"}
    assert tree["children"][1]["children"][0]["name"] == "asistente"


async def test_instants_keep_their_own_zone(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/reminders")).json()[0]["next"] == "2026-04-11T09:00:00+02:00"
    schedule = (await client.get("/api/cron")).json()[0]
    assert schedule["last"] == {"scheduled": "2026-04-06T09:00:00+02:00", "outcome": "fired"}


async def test_queries_reach_the_office(running: Any, client: httpx2.AsyncClient) -> None:
    await client.get("/api/reminders", params={"room": "#taller", "all": "1"})
    await client.get("/api/cron/runs", params={"schedule": "asistente/lunes"})
    assert ("reminders", "#taller", True) in running.office.calls
    assert ("cron_runs", "asistente/lunes") in running.office.calls
    await client.get("/api/timezone", params={"user": "ana", "room": "#taller"})
    assert ("timezone", "@ana", "#taller") in running.office.calls
    await client.post(
        "/api/timezone", json={"user": "@ana:example.org", "timezone": " Asia/Tokyo "}
    )
    assert ("set_timezone", "@ana:example.org", None, "Asia/Tokyo") in running.office.calls
    await client.post("/api/timezone", json={"room": "#taller", "timezone": None})
    assert ("set_timezone", None, "#taller", None) in running.office.calls


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"timezone": "UTC"}, "user"),
        ({"user": "@ana", "room": "#taller", "timezone": "UTC"}, "room"),
        ({"user": 7, "timezone": "UTC"}, "user"),
        ({"user": "@a b", "timezone": "UTC"}, "user"),
        ({"user": "@ana"}, "timezone"),
        ({"user": "@ana", "timezone": ["UTC"]}, "timezone"),
        ({"user": "@ana", "timezone": "UTC", "zone": "x"}, "zone"),
    ],
)
async def test_whose_zone_and_which_must_be_said(
    running: Any, client: httpx2.AsyncClient, body: dict[str, Any], key: str
) -> None:
    answer = await client.post("/api/timezone", json=body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["key"] == key
    assert (await client.get("/api/timezone")).status_code == 400
    assert not [call for call in running.office.calls if call[0] == "set_timezone"]


async def test_say_returns_the_admitted_line(running: Any, client: httpx2.AsyncClient) -> None:
    answer = await client.post(ROOM, json={"text": "hola", "as": "ana"})
    assert answer.status_code == 201
    assert answer.json()["event_id"] == "$e1"
    assert running.office.said == [("#taller", "hola", "@ana", False)]
    history = (await client.get(ROOM)).json()
    assert [(line["sender"], line["text"]) for line in history] == [("@ana", "hola")]


@pytest.mark.parametrize("name", ["asistente", "@asistente", "Asistente", "DEVOPS"])
async def test_nobody_speaks_for_an_agent(
    running: Any, client: httpx2.AsyncClient, name: str
) -> None:
    answer = await client.post(ROOM, json={"text": "hola", "as": name})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["key"] == "as"
    assert running.office.said == []


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff",
        b'{"text": NaN}',
        b"[" * 5000,
        b'{"text": ""}',
        b'{"text": "  ", "as": "ana"}',
        b'{"text": 3, "as": "ana"}',
        b'{"text": "a", "as": ""}',
        b'{"text": "a", "as": "a b"}',
        b'{"text": "a", "as": "@@ana"}',
        b'{"text": "a", "as": "ana", "as_bot": "yes"}',
        b'{"text": "a", "as": "ana", "sender": "x"}',
        b'{"text": "\\ud800", "as": "ana"}',
        b'{"text": "a", "as": "ana", "txn_id": "short"}',
        b'{"text": "a", "as": "ana", "txn_id": ""}',
        b'{"text": "a", "as": "ana", "txn_id": 12345678}',
        b'{"text": "a", "as": "ana", "txn_id": "with space"}',
        b'{"text": "a", "as": "ana", "txn_id": "a12345678\\n"}',
        b'{"text": "a\\u0000", "as": "ana"}',
        b'{"text": "a\\u001b[31m", "as": "ana"}',
        b'{"text": "' + "🌱".encode() * 15_001 + b'", "as": "ana"}',
        b'{"text": "' + b"a" * 20_001 + b'", "as": "ana"}',
    ],
)
async def test_a_bad_message_is_a_400_with_errors(
    running: Any, client: httpx2.AsyncClient, body: bytes
) -> None:
    answer = await client.post(ROOM, content=body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error", "errors"}
    assert running.office.said == []


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "", "1e2", "９"])
async def test_a_bad_limit_is_a_400(client: httpx2.AsyncClient, limit: str) -> None:
    answer = await client.get(ROOM, params={"limit": limit})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["key"] == "limit"


@pytest.mark.parametrize(
    "path",
    [
        "/api/rooms/%23otra/messages",
        "/api/rooms/..%2F..%2Fetc%2Fpasswd/messages",
        "/api/rooms/%00/messages",
        "/api/rooms/%1b%5b2J/messages",
        "/api/rooms/" + "a" * 300 + "/messages",
        "/api/why/$nada",
        "/api/nada",
        "/api/status/",
        "/etc/passwd",
        "/static/../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
    ],
)
async def test_what_is_not_there_is_a_404(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.json()["errors"] == []


async def test_a_wrong_method_is_a_405(client: httpx2.AsyncClient) -> None:
    assert (await client.post("/api/status")).status_code == 405
    assert (await client.get("/api/agents/asistente/stop")).status_code == 405


async def test_agents_are_started_stopped_and_reloaded(
    running: Any, client: httpx2.AsyncClient
) -> None:
    for verb in ("start", "stop", "reload"):
        assert (await client.post(f"/api/agents/asistente/{verb}")).status_code == 200
        assert (await client.post(f"/api/agents/nadie/{verb}")).status_code == 404
    assert [call[:2] for call in running.office.calls] == [
        ("start", "asistente"),
        ("stop", "asistente"),
        ("reload", ["asistente"]),
    ]


async def test_reload_without_ids_means_all_and_an_unknown_id_reloads_nothing(
    running: Any, client: httpx2.AsyncClient
) -> None:
    assert (
        await client.post("/api/reload", json={"agents": ["asistente", "x"]})
    ).status_code == 404
    assert (await client.post("/api/reload", json={"agents": "asistente"})).status_code == 400
    assert running.office.calls == []
    results = (await client.post("/api/reload")).json()["results"]
    assert [result["id"] for result in results] == ["asistente", "devops"]
    assert running.office.calls == [("reload", None, "")]


async def test_a_reload_that_fails_lists_every_problem(
    running: Any, client: httpx2.AsyncClient, problem: Any
) -> None:
    failed = ReloadResult("asistente", "failed", 3, "config", (problem,))
    running.office.report = ReloadReport((failed, ReloadResult("devops", "reloaded", 2)))
    answer = await client.post("/api/reload")
    assert answer.status_code == 422
    body = answer.json()
    assert body["errors"] == [
        {
            "file": "agents/asistente/config.yaml",
            "line": 3,
            "col": 5,
            "key": "llm.provider",
            "message": "no existe",
        }
    ]
    assert [result["outcome"] for result in body["results"]] == ["failed", "reloaded"]


async def test_cron_run_wants_a_known_schedule(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/cron/run", json={"schedule": "asistente/lunes"})
    assert answer.json()["outcome"] == "fired"
    assert (await client.post("/api/cron/run", json={"schedule": "x"})).status_code == 404
    assert (await client.post("/api/cron/run", json={})).status_code == 400


async def test_readiness_is_a_503_until_the_tree_is_up(
    running: Any, client: httpx2.AsyncClient
) -> None:
    running.office.readiness = Readiness(False, ("agents",))
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "waiting": ["agents"]}
    running.office.readiness = Readiness(True)
    assert (await client.get("/readyz")).status_code == 200
    assert (await client.get("/healthz")).text == "ok\n"


async def test_metrics_and_the_list_of_what_exists_are_text(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/metrics")).text.startswith("vivero_turns_total")
    contents = await client.get("/api")
    assert contents.headers["content-type"].startswith("text/plain")
    assert "/api/status" in contents.text


async def test_supervision_shows_each_agent_in_its_place(client: httpx2.AsyncClient) -> None:
    tree = (await client.get("/api/supervision")).json()
    keys = "path name agent state generation restarts mailbox last_error turns children"
    assert list(tree) == keys.split()
    (agent,) = tree["children"]
    assert (agent["path"], agent["agent"]) == ("root/agents/asistente", "asistente")
    assert agent["turns"] == [{"room": "#taller", "age_s": 12.5}]


@pytest.mark.parametrize(
    ("account", "person"),
    [("ana", "ana"), ("", ""), ("devops", ""), ("DevOps", ""), ("a b", ""), ("CORP\\ana", "")],
)
async def test_about_names_a_person_only_if_that_person_may_speak(
    running: Any, client: httpx2.AsyncClient, account: str, person: str
) -> None:
    running.office.person = account
    assert (await client.get("/api/about")).json() == {
        "version": "0.1.0",
        "workspace": "/w",
        "timezone": "Europe/Madrid",
        "locale": "es",
        "person": person,
    }


async def test_a_message_sent_again_is_said_once(running: Any, client: httpx2.AsyncClient) -> None:
    body = {"text": "hola", "as": "ana", "txn_id": "a-retry_1"}
    answers = [await client.post(ROOM, json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert [answer.json()["event_id"] for answer in answers] == ["$e1", "$e1"]
    assert len(running.office.said) == 1


async def test_no_traceback_ever_leaves(running: Any, client: httpx2.AsyncClient) -> None:
    running.office.error = RuntimeError("secreto interno")
    answer = await client.get("/api/status")
    assert answer.status_code == 500
    assert "secreto" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.json()["errors"] == []
    assert (await client.get("/api/tree")).status_code == 200


async def test_an_exception_group_is_an_internal_error_too(
    running: Any, client: httpx2.AsyncClient
) -> None:
    running.office.error = ExceptionGroup("x", [ValueError("secreto")])
    answer = await client.get("/api/status")
    assert answer.status_code == 500
    assert "secreto" not in answer.text


async def test_what_the_office_refuses_passes_with_its_status(
    running: Any, client: httpx2.AsyncClient
) -> None:
    running.office.error = OfficeError("todavía no", 503)
    answer = await client.get("/api/status")
    assert (answer.status_code, answer.json()) == (503, {"error": "todavía no", "errors": []})


async def test_errors_speak_the_workspace_language(start_api: Any) -> None:
    async with start_api(locale="en") as running:
        transport = httpx2.AsyncHTTPTransport(uds=str(running.places.socket))
        async with httpx2.AsyncClient(transport=transport, base_url="http://v") as client:
            assert (await client.get("/nada")).json()["error"] == "no such thing"


async def test_a_body_over_the_limit_is_a_413(start_api: Any) -> None:
    async with start_api(limits=Limits(body_bytes=1000)) as running:
        transport = httpx2.AsyncHTTPTransport(uds=str(running.places.socket))
        async with httpx2.AsyncClient(transport=transport, base_url="http://v") as client:
            body = json.dumps({"text": "a" * 2000, "as": "ana"})
            assert (await client.post(ROOM, content=body)).status_code == 413
            assert (await client.get("/api/tree")).status_code == 200


async def test_every_request_is_counted_by_its_endpoint(
    running: Any, client: httpx2.AsyncClient
) -> None:
    await client.get("/api/tree")
    await client.get(ROOM)
    await client.get("/api/unknown/path")
    await trio.testing.wait_all_tasks_blocked()
    assert running.counted == [("GET", "tree", 200), ("GET", "history", 200), ("GET", "other", 404)]


async def test_requests_run_side_by_side(running: Any, client: httpx2.AsyncClient) -> None:
    async def ask() -> None:
        assert (await client.get("/api/tree")).status_code == 200

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask)
