"""One log for everything: a line for people or JSON, without secrets, bounded in length."""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from datetime import datetime
from typing import Any, Literal, TextIO

import attrs
import structlog

from config.secrets import Secret

__all__ = [
    "AUDIT_EVENTS",
    "configure",
    "hide",
    "hide_secrets",
    "lost_lines",
    "redact",
    "trace_text",
]

Event = MutableMapping[str, Any]

AUDIT_EVENTS = frozenset(
    {
        "agent_quarantined",
        "agent_started",
        "agent_stopped",
        "control_message",
        "dead_letter",
        "reload_failed",
        "reload_requested",
        "reminder_auto_removed",
        "reminder_created",
        "reminder_deleted",
        "reminder_fired",
        "tool_approved",
        "tool_called",
        "tool_denied",
    }
)
"""Events that say who did what: they carry `audit=true`, so that one filter finds them all."""

_SECRET_KEYS = re.compile(
    r"(^|[_\-.])(token|password|passwd|secret|api_?key|access_?token|authorization|cookie)$", re.I
)
_HIDDEN = "***"
_SHORTEST_SECRET = 6  # a shorter value would blot out ordinary words
_VALUE_LIMIT = 2_000
_TRACE_LIMIT = 8_000
_DEPTH_LIMIT = 6
_LEVELS = {"warning": "WARN", "critical": "CRIT"}

_hidden: set[str] = set()
_lost = 0


def hide(value: str) -> None:
    """Replace this exact text by `***` in every log line to come. Short values are ignored."""
    if len(value) >= _SHORTEST_SECRET:
        _hidden.add(value)


def hide_secrets(config: Any) -> None:
    """Hide every `Secret` inside an attrs config, however deep."""
    if isinstance(config, Secret):
        hide(config.reveal())
    elif attrs.has(type(config)):
        for field in attrs.fields(type(config)):
            hide_secrets(getattr(config, field.name))
    elif isinstance(config, (list, tuple)):
        for item in config:
            hide_secrets(item)


def redact(value: Any, depth: int = 0) -> Any:
    """Return a value fit for the log: no secrets, no objects, bounded in length and depth."""
    if isinstance(value, str):
        return _cut(_blot(value))
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth >= _DEPTH_LIMIT:
        return "…"
    if isinstance(value, Mapping):
        return {
            str(key): _HIDDEN if _is_secret(str(key), item) else redact(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact(item, depth + 1) for item in value]
    return _cut(_blot(_safe_str(value)))


def trace_text(error: BaseException) -> str:
    """Return a traceback as bounded text; its objects, and their frames, are let go."""
    lines = traceback.format_exception(error, limit=-20, chain=True)
    return _cut(_blot("".join(lines)), _TRACE_LIMIT)


def lost_lines() -> int:
    """Return how many lines could not be written (a closed pipe, a full disk)."""
    return _lost


def configure(
    format: Literal["text", "json"] = "text",
    stream: TextIO | None = None,
    *,
    level: int = logging.INFO,
) -> None:
    """Send structlog's events, and the standard library's from WARNING up, to one stream.

    `stream` defaults to stderr. May be called again: the newest call decides. A stream that fails
    loses its line, never the caller.
    """
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _add_time,
            _add_trace,
            _redact_event,
            _render_json if format == "json" else _render_text,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _Writer(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [old for old in root.handlers if isinstance(old, _Bridge)]:
        root.removeHandler(handler)
    root.addHandler(_Bridge(max(level, logging.WARNING)))


class _Writer:
    """Write one line a call and never raise."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        global _lost
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            _lost += 1

    debug = info = warning = error = critical = exception = msg


class _Bridge(logging.Handler):
    """Hand the standard library's records to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except Exception as error:  # a foreign call with the wrong arguments is no reason to fail
            text = f"{record.msg} ({error})"
        log = structlog.get_logger()
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            fields["exc_info"] = record.exc_info[1]
        log.log(record.levelno, text, **fields)


def _add_time(_logger: Any, _method: str, event: Event) -> Event:
    event["timestamp"] = datetime.now().astimezone().isoformat(timespec="milliseconds")
    if event.get("event") in AUDIT_EVENTS:
        event["audit"] = True
    return event


def _add_trace(_logger: Any, _method: str, event: Event) -> Event:
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()[1]
    if isinstance(info, tuple):
        info = info[1]
    if isinstance(info, BaseException):
        event.setdefault("error", _one_line(info))
        event["trace"] = trace_text(info)
    return event


def _redact_event(_logger: Any, _method: str, event: Event) -> Event:
    trace = event.pop("trace", None)
    clean: Event = redact(dict(event))
    if trace is not None:
        clean["trace"] = trace
    return clean


def _render_json(_logger: Any, _method: str, event: Event) -> str:
    first = {key: event.pop(key) for key in ("timestamp", "level", "event")}
    return json.dumps({**first, **event}, ensure_ascii=True)


def _render_text(_logger: Any, _method: str, event: Event) -> str:
    moment = str(event.pop("timestamp"))[:19].replace("T", " ")
    level = str(event.pop("level"))
    trace = event.pop("trace", None)
    words = [moment, f"{_LEVELS.get(level, level.upper()):5}", _escape(str(event.pop("event")))]
    words += [f"{_escape(key)}={_field(value)}" for key, value in event.items()]
    if trace:
        words.append(f"at={_field(_places(str(trace)))}")
    return " ".join(words)


def _places(trace: str) -> str:
    """Return the last frames of a traceback in one word: `cell.py:55:run`, the innermost first."""
    frames = re.findall(r'File "(?:[^"]*/)?([^"/]+)", line (\d+), in (\S+)', trace)
    return "<".join(f"{file}:{line}:{function}" for file, line, function in frames[:-5:-1])


def _field(value: Any) -> str:
    if isinstance(value, str):
        return _escape(value) if re.fullmatch(r'[^\s"=]+', value) else f'"{_escape(value)}"'
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, ensure_ascii=True)
    return str(value)


def _escape(text: str) -> str:
    """Return one line: what could move the cursor or forge a line is shown, not sent."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in text
    )


def _is_secret(key: str, value: Any) -> bool:
    return bool(_SECRET_KEYS.search(key)) and not isinstance(value, (bool, type(None)))


def _blot(text: str) -> str:
    for secret in _hidden:
        if secret in text:
            text = text.replace(secret, _HIDDEN)
    return text


def _cut(text: str, limit: int = _VALUE_LIMIT) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-limit // 2 :]}"


def _one_line(error: BaseException) -> str:
    """Name an error in a few words; of a group, each of its leaves."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_one_line(leaf) for leaf in error.exceptions[:5])
    return f"{type(error).__name__}: {_safe_str(error)}"


def _safe_str(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:  # a broken __str__ must not take the log with it
        return f"<{type(value).__name__}: {type(error).__name__}>"
