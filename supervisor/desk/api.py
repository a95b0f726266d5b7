"""The endpoints of the runtime's HTTP face: each asks the office and encodes its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from supervisor.desk.asked import Asked
from supervisor.desk.boundary import Limits, Receive, Scope, Send
from supervisor.desk.encoding import encode, failure, plain
from supervisor.desk.events import EventStream
from supervisor.desk.feed import TOPICS, Feed
from supervisor.desk.office import Office, OfficeError, ReloadReport
from supervisor.desk.page import API_TEXT, POLICY, Asset, is_same
from supervisor.desk.security import cookie_name, same_token
from supervisor.desk.texts import Texts

__all__ = ["Desk"]

_COOKIE_SECONDS = 90 * 86_400
_TOKEN_BYTES = 4096  # of the one body that is read from whoever sends it


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
        self._asked = Asked(office, limits, texts)
        self._router = Router(self.routes(), redirect_slashes=False)

    def routes(self) -> list[Route]:
        """Return every endpoint; on TCP `Guard` stands before all of them."""
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
            Route("/api/timezone", self.timezone, methods=["GET"]),
            Route("/api/timezone", self.set_timezone, methods=["POST"]),
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
        given = (await self._asked.body(request, {"token"}, _TOKEN_BYTES)).get("token")
        if not isinstance(given, str) or not same_token(given, self._token):
            raise OfficeError(self._texts("no_token"), 401)
        answer = Response(status_code=204)
        name = cookie_name(self._port)
        answer.set_cookie(name, given, _COOKIE_SECONDS, httponly=True, samesite="strict")
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
        speaks = self._asked.may_speak(about.person)
        return Json(about if speaks else attrs.evolve(about, person=""))

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
        limit = self._asked.number(request, "limit", default=50)
        return Json(await self._office.history(self._asked.room(request), limit))

    async def why(self, request: Request) -> Response:
        """Answer what became of an event."""
        return Json(await self._office.why(self._asked.word(request.path_params["event_id"])))

    async def reminders(self, request: Request) -> Response:
        """Answer the reminders of `?room=`, with `?all=1` the past ones too."""
        everything = request.query_params.get("all", "") in ("1", "true")
        room = request.query_params.get("room")
        if room is not None:
            room = self._asked.word(room)
        return Json(await self._office.reminders(room, everything))

    async def timezone(self, request: Request) -> Response:
        """Answer the time zone that counts for `?user=`, in `?room=`, or for a room."""
        asked = {key: request.query_params.get(key) for key in ("user", "room")}
        return Json(await self._office.timezone(*self._asked.whose(asked)))

    async def cron_list(self, _: Request) -> Response:
        """Answer the schedules."""
        return Json(await self._office.cron_list())

    async def cron_runs(self, request: Request) -> Response:
        """Answer the ledger, of `?schedule=` or of all."""
        schedule = request.query_params.get("schedule")
        if schedule is not None:
            schedule = self._asked.word(schedule)
        return Json(await self._office.cron_runs(schedule))

    # -- doing ------------------------------------------------------------------------------------

    async def say(self, request: Request) -> Response:
        """Post as a local person; `since` is where to start reading events for the answer."""
        said = await self._asked.said(request)
        since = self._feed.id(self._feed.last)
        line = await self._office.say(
            self._asked.room(request), said.text, said.sender, said.as_bot, said.txn_id
        )
        return Json({**plain(line), "since": since}, status_code=201)

    async def reload_all(self, request: Request) -> Response:
        """Reload the agents of the body's `agents`, or all."""
        ids = (await self._asked.body(request, {"agents"})).get("agents")
        if ids is not None and not (isinstance(ids, list) and all(isinstance(i, str) for i in ids)):
            raise self._asked.bad("agents", "need_ids")
        known = None if ids is None else [self._asked.agent(id) for id in ids]
        return self._report(await self._office.reload(known or None))

    async def reload_one(self, request: Request) -> Response:
        """Reload one agent."""
        agent = self._asked.agent(request.path_params["id"])
        return self._report(await self._office.reload([agent]))

    async def start(self, request: Request) -> Response:
        """Start one agent."""
        return Json(await self._office.start(self._asked.agent(request.path_params["id"])))

    async def stop(self, request: Request) -> Response:
        """Stop one agent."""
        return Json(await self._office.stop(self._asked.agent(request.path_params["id"])))

    async def cron_run(self, request: Request) -> Response:
        """Run a schedule now."""
        schedule = (await self._asked.body(request, {"schedule"})).get("schedule")
        if not isinstance(schedule, str) or not schedule:
            raise self._asked.bad("schedule", "need_schedule")
        return Json(await self._office.cron_run(self._asked.word(schedule)))

    async def set_timezone(self, request: Request) -> Response:
        """Set the time zone of the body's `user` or `room`; `timezone: null` forgets it."""
        body = await self._asked.body(request, {"user", "room", "timezone"})
        user, room = self._asked.whose(body)
        if user and room:
            raise self._asked.bad("room", "one_of_two")
        zone = body.get("timezone", "")
        if zone is not None and (not isinstance(zone, str) or not zone.strip()):
            raise self._asked.bad("timezone", "need_zone")
        return Json(await self._office.set_timezone(user, room, zone and zone.strip()))

    # -- listening --------------------------------------------------------------------------------

    async def events(self, request: Request) -> EventStream:
        """Stream server-sent events: `?topics=a,b`, from `?since=` or Last-Event-ID on."""
        if self._feed.readers >= self._limits.streams:
            raise OfficeError(self._texts("too_many"), 503)
        wanted = request.query_params.get("topics") or ",".join(TOPICS)
        since = request.query_params.get("since") or request.headers.get("last-event-id")
        return EventStream(self._feed, self._limits, wanted.split(","), since)

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
