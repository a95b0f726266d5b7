"""`agentctl`: the command line over the API; what each command asks, prints and exits with."""

from __future__ import annotations

import getpass
import math
import os
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

import click

from supervisor.desk import views
from supervisor.desk.caller import Caller, Command, Front, Section, caller
from supervisor.desk.client import Client, NoAnswer, NoSupervisor, Refused
from supervisor.desk.render import clean, tree_lines

__all__ = ["agentctl", "main"]

_RELOAD_SECONDS = 300.0
_RUN_SECONDS = 600.0
_LINE = ("room", "sender", "text", "event_id", "ts")


def main() -> NoReturn:
    """Run the command line; the console script."""
    agentctl.main(prog_name="agentctl")
    raise SystemExit(0)  # not reached: click's main ends with sys.exit


@click.group(cls=Front)
def agentctl() -> None:
    """The command line of a running supervisor."""


@agentctl.group(cls=Section)
def cron() -> None:
    """Schedules."""


# -- looking ------------------------------------------------------------------------------------


@agentctl.command(cls=Command)
@caller
def status(me: Caller) -> None:
    """Show every agent."""
    found = me.client.get("status")
    if not me.print_json({key: value for key, value in found.items() if key != "problems"}):
        me.say(views.status(found, _now(), me.texts))


@agentctl.command(cls=Command)
@caller
def tree(me: Caller) -> None:
    """Show the supervision tree."""
    me.show(me.client.get("tree"), lambda found: "\n".join(tree_lines(found)))


@agentctl.command(cls=Command)
@click.argument("room")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@caller
def history(me: Caller, room: str, limit: int) -> None:
    """Show what was said in a room."""
    lines = me.client.get("rooms", room, "messages", limit=limit)
    if not me.print_json([_bare(line) for line in lines]) and lines:
        me.say(views.history(lines, _now()))


@agentctl.command(cls=Command)
@click.argument("event_id")
@caller
def why(me: Caller, event_id: str) -> None:
    """Tell what became of a message."""
    found = me.client.get("why", event_id)
    me.show(found, lambda found: views.why(found, _now(), me.texts))


@agentctl.command(cls=Command)
@click.option("--room")
@click.option("--all", "everything", is_flag=True)
@caller
def reminders(me: Caller, room: str | None, everything: bool) -> None:
    """List reminders."""
    found = me.client.get("reminders", room=room, all="1" if everything else None)
    me.show(found, lambda found: views.reminders(found, _now(), me.texts))


@agentctl.command(cls=Command)
@click.option("--user", metavar="@name")
@click.option("--room")
@click.argument("zone", required=False)
@caller
def timezone(me: Caller, user: str | None, room: str | None, zone: str | None) -> None:
    """Show or set a time zone."""
    if zone is None:
        found = me.client.get("timezone", user=user, room=room)
    else:
        body = {"user": user, "room": room, "timezone": None if zone == "-" else zone}
        given = {key: value for key, value in body.items() if key == "timezone" or value}
        found = me.client.post("timezone", body=given)
    me.show(found, lambda found: views.zone(found, me.texts))


@cron.command("list", cls=Command)
@caller
def cron_list(me: Caller) -> None:
    """List schedules."""
    me.show(me.client.get("cron"), lambda found: views.schedules(found, _now(), me.texts))


@cron.command("runs", cls=Command)
@click.argument("schedule", required=False)
@caller
def cron_runs(me: Caller, schedule: str | None) -> None:
    """Show past occurrences."""
    found = me.client.get("cron", "runs", schedule=schedule)
    me.show(found, lambda found: views.runs(found, _now(), me.texts))


@cron.command("run", cls=Command)
@click.argument("schedule")
@caller
def cron_run(me: Caller, schedule: str) -> int:
    """Run a schedule now."""
    run = me.client.post("cron", "run", body={"schedule": schedule}, seconds=_RUN_SECONDS)
    me.show(run, lambda run: views.runs([run], _now(), me.texts))
    return 1 if run["outcome"] in ("failed", "skipped") else 0


def _number(_: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan", param=parameter)
    return value


# -- doing --------------------------------------------------------------------------------------


@agentctl.command(cls=Command)
@click.argument("ids", metavar="[ID|'*']", nargs=-1)
@caller
def reload(me: Caller, ids: tuple[str, ...]) -> None:
    """Reload agents, or all."""
    wanted = () if "*" in ids else ids
    if not me.client.answers():
        _reload_by_signal(me, wanted)
        return
    try:
        found = _ask_reload(me, wanted)
    except Refused as refused:  # say what was reloaded all the same, then what was not
        done = [one for one in refused.body.get("results", ()) if one["outcome"] != "failed"]
        if done and not me.json:
            me.say(views.reloads(done, me.texts))
        raise
    me.show(found["results"], lambda results: views.reloads(results, me.texts))


def _ask_reload(me: Caller, wanted: Sequence[str]) -> Any:
    if len(wanted) == 1:
        return me.client.post("agents", wanted[0], "reload", seconds=_RELOAD_SECONDS)
    body = {"agents": list(wanted)} if wanted else {}
    return me.client.post("reload", body=body, seconds=_RELOAD_SECONDS)


def _reload_by_signal(me: Caller, ids: Sequence[str]) -> None:
    from supervisor.desk.signalling import reload_by_signal

    pid = reload_by_signal(me.workspace, ids)
    if pid is None:
        raise NoSupervisor
    if not me.print_json([{"id": id, "outcome": "requested"} for id in ids or ("*",)]):
        me.say(me.texts("signalled", pid=pid))


@agentctl.command(cls=Command)
@click.argument("id")
@caller
def start(me: Caller, id: str) -> None:
    """Start an agent."""
    _switch(me, id, "start")


@agentctl.command(cls=Command)
@click.argument("id")
@caller
def stop(me: Caller, id: str) -> None:
    """Stop an agent."""
    _switch(me, id, "stop")


def _switch(me: Caller, id: str, verb: str) -> None:
    found = me.client.post("agents", id, verb, seconds=_RELOAD_SECONDS)
    values = {key: clean(found[key]) for key in ("id", "state", "generation")}
    me.show(found, lambda _: me.texts("is_now", **values))


@agentctl.command(cls=Command)
@click.argument("room")
@click.argument("text", nargs=-1, required=True)
@click.option("--as", "name", help="@name")
@click.option("--as-bot", is_flag=True)
@click.option("--wait", type=click.FloatRange(0, 86_400), callback=_number, metavar="SECONDS")
@caller
def say(
    me: Caller, room: str, text: tuple[str, ...], name: str | None, as_bot: bool, wait: float | None
) -> int:
    """Say something in a room."""
    body = {"text": " ".join(text), "as": name or _user(), "as_bot": as_bot}
    line = me.client.post("rooms", room, "messages", body=body, seconds=30.0)
    if wait is None:
        if not me.print_json([_bare(line)]):
            me.say(clean(line["event_id"]))
        return 0
    heard = _hear(me, line, time.monotonic() + wait)
    if not heard:
        me.complain(me.texts("nothing_said", seconds=wait))
    me.print_json(heard)
    return 0 if heard else 1


def _hear(me: Caller, asked: dict[str, Any], until: float) -> list[dict[str, Any]]:
    """Print, and return, what agents say in that room after the line, until the time has come."""
    heard = []
    for topic, line in _follow(me, me.client, asked["since"], until):
        if topic.startswith("rooms/") and line["room"] == asked["room"] and line["agent"]:
            if line["kind"] not in ("message", "notice"):
                continue
            heard.append(_bare(line))
            if not me.json:
                me.say(views.said(line))
    return heard


def _follow(me: Caller, client: Client, since: str, until: float) -> Any:
    """Yield (topic, data) of the event stream, across a restart of the supervisor."""
    while time.monotonic() < until:
        try:
            for event in client.events(since, ["rooms/*"], until):
                if event.type == "gap" and event.id.partition(".")[0] == since.partition(".")[0]:
                    me.complain(me.texts("missed_some"))
                since = event.id
                if event.type not in ("gap", "hello"):
                    yield event.type, event.data
        except (NoSupervisor, NoAnswer):
            pass
        time.sleep(max(0.0, min(0.2, until - time.monotonic())))


def _bare(line: dict[str, Any]) -> dict[str, Any]:
    return {key: line[key] for key in _LINE}


def _now() -> datetime:
    return datetime.now().astimezone()


def _user() -> str:
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):  # nobody in the user database, as in some containers
        return "anon"


# -- without a supervisor -----------------------------------------------------------------------


@agentctl.command(cls=Command)
@click.argument("phrase", nargs=-1, required=True)
@click.option("--tz", metavar="ZONE")
@click.option("--now", metavar="ISO")
@click.option("--locale", metavar="L")
@caller
def when(
    me: Caller, phrase: tuple[str, ...], tz: str | None, now: str | None, locale: str | None
) -> int:
    """Read a phrase of time."""
    from supervisor.desk.offline import failed, lines_of

    clockwork = me.clockwork(tz, locale)
    if phrase == ("-",):
        for line in lines_of(sys.stdin):
            me.put_json(clockwork.when(line, now))
        return 0
    answer = clockwork.when(" ".join(phrase), now)
    me.put_json(answer)
    return 1 if failed(answer) else 0


@cron.command("next", cls=Command)
@click.argument("expr", nargs=-1, required=True)
@click.option("--tz", metavar="ZONE")
@click.option("--after", metavar="ISO")
@click.option("--count", type=click.IntRange(1, 1000), default=1, show_default=True)
@caller
def cron_next(
    me: Caller, expr: tuple[str, ...], tz: str | None, after: str | None, count: int
) -> int:
    """Show when a cron expression fires."""
    from supervisor.desk.offline import failed, lines_of

    clockwork = me.clockwork(tz, None)
    if expr == ("-",):
        for line in lines_of(sys.stdin):
            me.put_json(clockwork.next_line(line, after, count))
        return 0
    answer = clockwork.next(" ".join(expr), clockwork.zone, after, count)
    me.put_json(answer)
    return 1 if failed(answer) else 0


if __name__ == "__main__":
    main()
