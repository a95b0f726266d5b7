"""`when` and `cron next`: phrases and cron expressions read without any supervisor."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import attrs

from config.workspace import Workspace
from supervisor.desk.encoding import iso
from supervisor.desk.texts import Texts

__all__ = ["COUNT_LIMIT", "Clockwork", "workspace_zone"]

COUNT_LIMIT = 1_000

Answer = dict[str, Any]


def workspace_zone(workspace: Workspace) -> str:
    """Return the zone of `supervisor.yaml`, or UTC when it cannot be read."""
    from config.loading import load_supervisor
    from config.problems import ConfigError

    try:
        return load_supervisor(workspace).value.timezone
    except (ConfigError, OSError):
        return "UTC"


def failed(answer: object) -> bool:
    """Return whether an answer is the error object."""
    return isinstance(answer, dict) and answer.get("kind") == "error"


@attrs.frozen
class Clockwork:
    """Answers in one zone and language. What cannot be read is an error object, never raised."""

    zone: str
    locale: str

    def when(self, phrase: str, now: str | None) -> Answer:
        """Return `{kind: at|cron|every|error, ...}` for a phrase said at `now` (ISO or None)."""
        from cronactor.phrases import At, Cron, parse
        from cronactor.texts import Explained

        try:
            found = parse(phrase, self._instant(now, self.zone), self.zone, self.locale)
            if isinstance(found, At):
                return {"kind": "at", "at": self._iso(found.instant, self.zone)}
            if isinstance(found, Cron):
                return {"kind": "cron", "cron": found.expr}
            return {"kind": "every", "seconds": _whole(found.seconds)}
        except Explained as error:
            return _error(error.say(self.locale))
        except (ValueError, OverflowError) as error:
            return _error(str(error))

    def next(self, expr: str, zone: str, after: str | None, count: int) -> Answer | list[str]:
        """Return the next `count` instants (ISO) strictly after `after` (ISO; None: now)."""
        from cronactor.schedule import fires
        from cronactor.texts import Explained

        try:
            found = islice(fires(expr, zone, self._instant(after, zone)), count)
            return [self._iso(instant, zone) for instant in found]
        except Explained as error:
            return _error(error.say(self.locale))
        except (ValueError, OverflowError) as error:
            return _error(str(error))

    def next_line(self, line: str, after: str | None, count: int) -> Answer | list[str]:
        """Answer one line `{"expr", "tz", "after", "count"}`; the arguments are its defaults."""
        texts = Texts(self.locale)
        try:
            asked = json.loads(line)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, Mapping) or not isinstance(asked.get("expr"), str):
            return _error(texts("bad_line"))
        zone = asked.get("tz") or self.zone
        since = asked.get("after") or after
        many = asked.get("count", count)
        if not isinstance(zone, str):
            return _error(texts("bad_zone", zone=zone))
        if since is not None and not isinstance(since, str):
            return _error(texts("bad_instant", text=since))
        if not isinstance(many, int) or isinstance(many, bool) or not 1 <= many <= COUNT_LIMIT:
            return _error(texts("bad_count", limit=COUNT_LIMIT))
        return self.next(asked["expr"], zone, since, many)

    def _instant(self, text: str | None, zone: str) -> float:
        """Read ISO 8601; naive is wall time in `zone`. Raises ValueError, ZoneError."""
        from cronactor.zones import get_zone, resolve

        where = get_zone(zone)
        if text is None:
            return time.time()
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(Texts(self.locale)("bad_instant", text=text)) from None
        if moment.tzinfo is not None:
            return moment.timestamp()
        return resolve(moment, where).instant

    @staticmethod
    def _iso(instant: float, zone: str) -> str:
        from cronactor.zones import get_zone

        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=round(instant, 3))
        return iso(utc.astimezone(get_zone(zone)))


def _error(text: str) -> Answer:
    return {"kind": "error", "error": text}


def _whole(seconds: float) -> float | int:
    return int(seconds) if seconds == int(seconds) else seconds


def lines_of(source: Iterator[str]) -> Iterator[str]:
    """Yield the lines of standard input without their ends; empty ones too: each gets an answer."""
    for line in source:
        yield line.rstrip("\r\n")
