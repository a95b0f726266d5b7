"""The endpoints of the runtime's HTTP face: each asks the office and encodes its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from config.problems import Problem
from supervisor.desk.boundary import Limits, Receive, Scope, Send, read_body
from supervisor.desk.encoding import BadJson, decode_object, encode, failure, plain
from supervisor.desk.events import EventStream
from supervisor.desk.feed import TOPICS, Feed
from supervisor.desk.office import Office, OfficeError, ReloadReport
from supervisor.desk.page import API_TEXT, POLICY, Asset, is_same
from supervisor.desk.security import cookie_name, same_token
from supervisor.desk.texts import Texts

__all__ = ["Desk"]

_TEXT_LIMIT = 20_000
_LINES_LIMIT = 1_000
_NAME = re.compile(r"[\w.\-=+]{1,64}")
_TXN = re.compile(r"[A-Za-z0-9_-]{8,64}")


class Json(Response):
    """A JSON answer, encoded in the one place."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes of what the office answered."""
        return encode(content)


class Desk:
    """The endpoints. Each asks the office, and says with OfficeError what it cannot do.

    `token` and `port` are those of the TCP door: `/api/session` turns the one into a cookie.
    `assets`: the files of the page by name.
    """

    def __init__(
        self,
        office: Office,
        feed: Feed,
        texts: Texts,
        limits: Limits,
        token: str,
        port: int,
        assets: Mapping[str, Asset],
    ) -> None:
        self._office = office
        self._feed = feed
        self._texts = texts
        self._limits = limits
        self._token = token
        self._port = port
        self._assets = assets
        self._router = Router(self._routes(), redirect_slashes=False)

    def _routes(self) -> list[Route]:
        room = "/api/rooms/{room:path}/messages"
        return [
            Route("/", self.page),
            Route("/web/{name}", self.asset),
            Route("/api", self.contents),
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/metrics", self.metrics),
            Route("/api/session", self.session, methods=["POST"]),
            Route("/api/about", self.about),
            Route("/api/status", self.status),
            Route("/api/tree", self.tree),
            Route("/api/supervision", self.supervision),
            Route("/api/rooms", self.rooms),
            Route(room, self.history, methods=["GET"]),
            Route(room, self.say, methods=["POST"]),
            Route("/api/events", self.events),
            Route("/api/why/{event_id:path}", self.why),
            Route("/api/reminders", self.reminders),
            Route("/api/cron", self.cron_list),
            Route("/api/cron/runs", self.cron_runs),
            Route("/api/cron/run", self.cron_run, methods=["POST"]),
            Route("/api/reload", self.reload_all, methods=["POST"]),
            Route("/api/agents/{id}/reload", self.reload_one, methods=["POST"]),
            Route("/api/agents/{id}/start", self.start, methods=["POST"]),
            Route("/api/agents/{id}/stop", self.stop, methods=["POST"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route one request; starlette's own refusals become OfficeError as well."""
        try:
            scope["app"] = self  # makes starlette raise its refusals instead of writing them
            await self._router(scope, receive, send)
        except HTTPException as error:
            key = "method" if error.status_code == 405 else "not_found"
            raise OfficeError(self._texts(key), error.status_code) from None

    # -- open to all ------------------------------------------------------------------------------

    async def healthz(self, _: Request) -> Response:
        """Answer: the process lives and its loop turns."""
        return Response("ok\n", media_type="text/plain")

    async def readyz(self, _: Request) -> Response:
        """Answer 200 once the tree is up, else 503 and what is awaited."""
        ready = self._office.ready()
        return Json(ready, status_code=200 if ready.ready else 503)

    async def metrics(self, _: Request) -> Response:
        """Answer in the Prometheus text format."""
        return Response(
            await self._office.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    async def session(self, request: Request) -> Response:
        """Turn the token into a cookie that scripts cannot read and other sites cannot send."""
        given = (await self._body(request, {"token"})).get("token")
        if not isinstance(given, str) or not same_token(given, self._token):
            raise OfficeError(self._texts("no_token"), 401)
        answer = Response(status_code=204)
        answer.set_cookie(cookie_name(self._port), given, httponly=True, samesite="strict")
        return answer

    # -- the page ---------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """Answer the page; its files name each other below `/web/`."""
        return self._asset(request, "index.html")

    async def asset(self, request: Request) -> Response:
        """Answer one file of the page: a name that is known, or nothing."""
        return self._asset(request, request.path_params["name"])

    def _asset(self, request: Request, name: str) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            raise OfficeError(self._texts("not_found"), 404)
        headers = {
            "etag": asset.etag,
            "cache-control": "no-cache",
            "content-security-policy": POLICY,
        }
        if is_same(asset.etag, request.headers.get("if-none-match")):
            return Response(status_code=304, headers=headers)
        return Response(asset.data, headers={**headers, "content-type": asset.kind})

    async def contents(self, _: Request) -> Response:
        """Say what exists, for people with curl."""
        return Response(API_TEXT, media_type="text/plain")

    async def about(self, _: Request) -> Response:
        """Answer what the page must know first; `person` is who would speak, "" for nobody."""
        about = await self._office.about()
        usable = _NAME.fullmatch(about.person) and not self._is_agent(about.person)
        return Json(about if usable else attrs.evolve(about, person=""))

    # -- reading ----------------------------------------------------------------------------------

    async def status(self, _: Request) -> Response:
        """Answer `agentctl status`."""
        return Json(await self._office.status())

    async def tree(self, _: Request) -> Response:
        """Answer `agentctl tree`."""
        return Json(await self._office.tree())

    async def supervision(self, _: Request) -> Response:
        """Answer the tree with the state of each agent in it."""
        return Json(await self._office.supervision())

    async def rooms(self, _: Request) -> Response:
        """Answer the list of rooms."""
        return Json(await self._office.rooms())

    async def history(self, request: Request) -> Response:
        """Answer the newest lines of a room, oldest first."""
        limit = self._number(request, "limit", default=50)
        return Json(await self._office.history(self._room(request), limit))

    async def why(self, request: Request) -> Response:
        """Answer what became of an event."""
        return Json(await self._office.why(self._plain_word(request.path_params["event_id"])))

    async def reminders(self, request: Request) -> Response:
        """Answer the reminders of `?room=`, with `?all=1` the past ones too."""
        everything = request.query_params.get("all", "") in ("1", "true")
        room = request.query_params.get("room")
        if room is not None:
            room = self._plain_word(room)
        return Json(await self._office.reminders(room, everything))

    async def cron_list(self, _: Request) -> Response:
        """Answer the schedules."""
        return Json(await self._office.cron_list())

    async def cron_runs(self, request: Request) -> Response:
        """Answer the ledger, of `?schedule=` or of all."""
        schedule = request.query_params.get("schedule")
        if schedule is not None:
            schedule = self._plain_word(schedule)
        return Json(await self._office.cron_runs(schedule))

    # -- doing ------------------------------------------------------------------------------------

    async def say(self, request: Request) -> Response:
        """Post as a local person; `since` is where to start reading events for the answer."""
        body = await self._body(request, {"text", "as", "as_bot", "txn_id"})
        text, sender, as_bot = self._said(body)
        txn_id = self._txn(body)
        since = self._feed.id(self._feed.last)
        line = await self._office.say(self._room(request), text, sender, as_bot, txn_id)
        return Json({**plain(line), "since": since}, status_code=201)

    async def reload_all(self, request: Request) -> Response:
        """Reload the agents of the body's `agents`, or all."""
        ids = (await self._body(request, {"agents"})).get("agents")
        if ids is not None and not (isinstance(ids, list) and all(isinstance(i, str) for i in ids)):
            raise self._bad("agents", "need_ids")
        known = None if ids is None else [self._agent(id) for id in ids]
        return self._report(await self._office.reload(known or None))

    async def reload_one(self, request: Request) -> Response:
        """Reload one agent."""
        return self._report(await self._office.reload([self._agent(request.path_params["id"])]))

    async def start(self, request: Request) -> Response:
        """Start one agent."""
        return Json(await self._office.start(self._agent(request.path_params["id"])))

    async def stop(self, request: Request) -> Response:
        """Stop one agent."""
        return Json(await self._office.stop(self._agent(request.path_params["id"])))

    async def cron_run(self, request: Request) -> Response:
        """Run a schedule now."""
        schedule = (await self._body(request, {"schedule"})).get("schedule")
        if not isinstance(schedule, str) or not schedule:
            raise self._bad("schedule", "need_schedule")
        return Json(await self._office.cron_run(self._plain_word(schedule)))

    # -- listening --------------------------------------------------------------------------------

    async def events(self, request: Request) -> EventStream:
        """Stream server-sent events: `?topics=a,b`, from `?since=` or Last-Event-ID on."""
        if self._feed.readers >= self._limits.streams:
            raise OfficeError(self._texts("too_many"), 503)
        wanted = request.query_params.get("topics") or ",".join(TOPICS)
        since = request.query_params.get("since") or request.headers.get("last-event-id")
        return EventStream(self._feed, self._limits, wanted.split(","), since)

    # -- what comes from outside ------------------------------------------------------------------

    async def _body(self, request: Request, keys: set[str]) -> dict[str, Any]:
        data = await read_body(request.receive, self._limits, self._texts)
        try:
            body = decode_object(data)
        except BadJson:
            raise OfficeError(self._texts("bad_json"), 400) from None
        unknown = sorted(set(body) - keys)
        if unknown:
            raise self._bad(unknown[0], "unknown_key")
        return body

    def _said(self, body: dict[str, Any]) -> tuple[str, str, bool]:
        text, name, as_bot = body.get("text"), body.get("as"), body.get("as_bot", False)
        if not isinstance(text, str) or not _is_sayable(text):
            raise self._bad("text", "need_text", limit=_TEXT_LIMIT)
        if not isinstance(as_bot, bool):
            raise self._bad("as_bot", "need_bool")
        if not isinstance(name, str) or not _NAME.fullmatch(name.removeprefix("@")):
            raise self._bad("as", "bad_name")
        name = name.removeprefix("@")
        if self._is_agent(name):
            raise self._bad("as", "is_agent", name=name)
        return text, f"@{name}", as_bot

    def _is_agent(self, name: str) -> bool:
        return name.casefold() in {id.casefold() for id in self._office.agents()}

    def _txn(self, body: dict[str, Any]) -> str | None:
        txn_id = body.get("txn_id")
        if txn_id is None or (isinstance(txn_id, str) and _TXN.fullmatch(txn_id)):
            return txn_id
        raise self._bad("txn_id", "bad_txn")

    def _room(self, request: Request) -> str:
        return self._plain_word(request.path_params["room"])

    def _plain_word(self, word: str) -> str:
        """Let a name pass; what cannot be anybody's name is not found."""
        if not word or len(word) > 255 or not word.isprintable():
            raise OfficeError(self._texts("not_found"), 404)
        return word

    def _agent(self, id: str) -> str:
        if id not in self._office.agents():
            raise OfficeError(self._texts("unknown_agent", id=ascii(id)[1:-1][:80]), 404)
        return id

    def _number(self, request: Request, name: str, default: int) -> int:
        given = request.query_params.get(name, str(default))
        if (
            given.isascii()
            and given.isdigit()
            and len(given) < 6
            and 1 <= int(given) <= _LINES_LIMIT
        ):
            return int(given)
        raise self._bad(name, "need_number", limit=_LINES_LIMIT)

    def _bad(self, key: str, text: str, **values: object) -> OfficeError:
        message = self._texts(text, **values)
        problem = Problem(file="", line=0, col=0, key=ascii(key)[1:-1][:80], message=message)
        return OfficeError(f"{problem.key}: {message}", 400, (problem,))

    def _report(self, report: ReloadReport) -> Response:
        if not report.failed:
            return Json(report)
        ids = ", ".join(
            result.id if result.errors or not result.error else f"{result.id} ({result.error})"
            for result in report.failed
        )
        errors = [problem for result in report.failed for problem in result.errors]
        body = failure(self._texts("reload_failed", ids=ids), errors)
        return Json({**body, **plain(report)}, status_code=422)


def _is_sayable(text: str) -> bool:
    """Return whether any store and any encoding can carry this text, and it says something."""
    if not text.strip() or len(text) > _TEXT_LIMIT or "\0" in text:
        return False
    return not any("\ud800" <= char <= "\udfff" for char in text)
