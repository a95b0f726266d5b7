"""What agentctl shows of each answer: the API's JSON in, aligned text out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from supervisor.desk.render import age, clean, local_time, paragraph, relative, table, there
from supervisor.desk.texts import Texts

__all__ = ["history", "reloads", "reminders", "runs", "schedules", "status", "why", "zone"]

Answer = Mapping[str, Any]


def status(found: Answer, now: datetime, texts: Texts) -> str:
    """Return one line for the supervisor, one an agent, one a problem."""
    up = (now - datetime.fromisoformat(found["started"])).total_seconds()
    shown = [
        texts("supervisor", pid=found["pid"], age=age(up), workspace=clean(found["workspace"])),
        texts("no_agents"),
        *(f"! {clean(problem)}" for problem in found["problems"]),
    ]
    if found["agents"]:
        keys = ("agent", "state", "generation", "restarts", "mailbox", "turns", "last_error")
        shown[1] = table([texts(key) for key in keys], [_agent_row(a) for a in found["agents"]])
    return "\n".join(shown)


def _agent_row(agent: Answer) -> list[object]:
    turns = ", ".join(f"{turn['room']} ({age(turn['age_s'])})" for turn in agent["turns"])
    numbers = [agent[key] for key in ("generation", "restarts", "mailbox")]
    return [agent["id"], agent["state"], *numbers, turns or None, agent["last_error"]]


def history(lines: Iterable[Answer], now: datetime) -> str:
    """Return the lines of a room, one paragraph each, with the id that `why` takes at its end."""
    return "\n".join(
        f"{local_time(line['ts'], now)}  {said(line)}  [{clean(line['event_id'])}]"
        for line in lines
    )


def said(line: Answer) -> str:
    """Return one message as `who: text`."""
    return paragraph(line["agent"] or line["sender"], line["text"])


def why(found: Answer, now: datetime, texts: Texts) -> str:
    """Return the event, what made an agent say it, and its answer slots."""
    event = found["event"]
    shown = [f"{local_time(event['ts'], now)}  {clean(event['room'])}  {said(event)}"]
    if found["cause"]:
        shown.append(_cause(found["cause"], texts))
    keys = ("agent", "state", "rule", "reason", "attempt", "hop")
    rows = [
        [*(slot[key] for key in keys), ", ".join(slot["answers"]) or None]
        for slot in found["slots"]
    ]
    titles = [texts(key) for key in (*keys, "answers")]
    return "\n".join([*shown, table(titles, rows) if rows else texts("no_slots")])


def _cause(cause: Answer, texts: Texts) -> str:
    about, name = cause["event"], cause["name"] or ""
    line = texts(f"because {cause['kind']}", name=clean(name))
    if about:
        line += f" {clean(about['event_id'])}  {said(about).splitlines()[0]}"
    return f"{line}  ({texts('rule')}: {clean(cause['rule'])})" if cause["rule"] else line


def reminders(found: Iterable[Answer], now: datetime, texts: Texts) -> str:
    """Return the table of reminders."""
    rows = [
        [
            *(one[key] for key in ("id", "room", "user", "message")),
            one["cron"] or (texts("once") if one["kind"] == "once" else one["kind"]),
            relative(one["next"], now, texts),
            one["timezone"],
            one["state"],
        ]
        for one in found
    ]
    keys = ("room", "user", "message", "when", "next", "zone", "state")
    return table(["id", *map(texts, keys)], rows) if rows else texts("nothing")


def zone(found: Answer, texts: Texts) -> str:
    """Return the zone, and whose it is."""
    return texts("zone_line", timezone=found["timezone"], source=texts(f"zone {found['source']}"))


def schedules(found: Iterable[Answer], now: datetime, texts: Texts) -> str:
    """Return the table of schedules."""
    rows = [
        [
            *(one[key] for key in ("id", "cron", "timezone")),
            relative(one["next"], now, texts),
            one["last"] and there(one["last"]["scheduled"], now),
            one["last"] and one["last"]["outcome"],
        ]
        for one in found
    ]
    keys = ("schedule", "cron", "zone", "next", "last", "outcome")
    return table([texts(key) for key in keys], rows) if rows else texts("nothing")


def runs(found: Sequence[Answer], now: datetime, texts: Texts) -> str:
    """Return the table of occurrences."""
    rows = [
        [
            run["schedule"],
            there(run["scheduled"], now),
            _took(run),
            *(run[key] for key in ("outcome", "reason", "event_id")),
        ]
        for run in found
    ]
    keys = ("schedule", "scheduled_for", "took", "outcome", "reason")
    return table([*map(texts, keys), "event_id"], rows) if rows else texts("nothing")


def _took(run: Answer) -> str | None:
    if not run["started"] or not run["finished"]:
        return None
    ends = [datetime.fromisoformat(run[key]) for key in ("started", "finished")]
    return f"{(ends[1] - ends[0]).total_seconds():.1f} s"


def reloads(results: Iterable[Answer], texts: Texts) -> str:
    """Return one sentence an agent."""
    return "\n".join(_reload_line(result, texts) for result in results)


def _reload_line(result: Answer, texts: Texts) -> str:
    values = {key: clean(result[key]) for key in ("id", "generation", "error")}
    line = texts(result["outcome"], **values)
    shown = result["outcome"] == "failed" or not result["error"]
    return line if shown else f"{line} ({values['error']})"
