"""Damaged and harmlessly changed config files, reproducible from a seed.

`mutations(seed, count)` yields files for an example workspace. A `valid` one must load, and
`expect` (a path and a value) be found in what was loaded; any other may load or not, but only a
ConfigError with positions may come of it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs

import config

__all__ = ["Mutation", "mutations"]

EXAMPLE = Path(config.__file__).parent / "example"

RICH_SUPERVISOR = """\
timezone: America/Argentina/Buenos_Aires
locale: es
transport: local
web:
  host: 127.0.0.1
  port: 8470
matrix:
  homeserver: https://matrix.example.org
reminders:
  db_path: data/reminders.db
  late_one_shots: deliver
  retention_days: 30
rooms:
  - id: "#taller"
    participants: [asistente, devops]
    policy: round_robin
    turn_based: false
    respond_to_bots: true
    response_cooldown_seconds: 60
    cooldown_applies_to: bots
    max_bot_turns: 6
    max_agent_messages_per_hour: 120
  - id: "!abc:example.org"
    alias: "#sala:example.org"
    participants:
      - devops
known_bots: ["@github-*:example.org"]
supervision:
  max_restarts: 5
  window_seconds: 60.0
  backoff_max_seconds: 2.5
  grace_seconds: 5
max_event_age_seconds: 86400
"""

RICH_AGENT = """\
display_name: Asistente
description: ayuda con el día a día
topics: [agenda, hora]
matrix:
  user_id: "@asistente:example.org"
  access_token: ${VIVERO_NO_SUCH_TOKEN:-syt_abc}
  device_id: NURSERY1
llm:
  provider: openai
  model: gpt-4o-mini
  base_url: http://localhost:11434/v1
  api_key: sk-not-real
  temperature: 0.7
  max_tokens: 800
  total_seconds: 300
prompt: prompt.md
tools:
  reminders:
    enabled: true
    max_per_room: 50
  delegate: {enabled: false}
schedules:
  - name: buenos-dias
    cron: "0 9 * * 1-5"
    output_room: "#taller"
    action:
      kind: send_message
      message: "¡Buenos días!"
  - name: resumen
    cron: "0 18 * * *"
    timezone: Europe/Madrid
    output_room: "#taller"
    action:
      kind: agent_call
      target_agent: devops
      prompt_template: crons/README.md
      timeout_seconds: 90
grace_seconds: 3
max_tool_rounds: 4
turn_seconds: 120
history_messages: 12
mailbox_capacity: 32
"""

SUPERVISOR = "supervisor.yaml"
AGENT = "agents/asistente/config.yaml"


@attrs.frozen
class Mutation:
    """One file of the workspace. `kind` names what was done to it."""

    filename: str
    data: bytes
    valid: bool
    kind: str
    expect: tuple[tuple[str | int, ...], Any] | None = None


def mutations(seed: int, count: int) -> Iterator[Mutation]:
    """Yield `count` files, about one in three of them valid; the same seed gives the same files."""
    rng = random.Random(seed)
    for _ in range(count):
        yield _valid(rng) if rng.random() < 0.34 else _damaged(rng)


# -- damage ---------------------------------------------------------------------------------------


def _damaged(rng: random.Random) -> Mutation:
    filename, text = rng.choice(_bases())
    kinds = rng.choices(list(DAMAGE), k=rng.choice((1, 1, 1, 2, 3)))
    data = text.encode()
    for kind in kinds:
        data = DAMAGE[kind](rng, data)
    return Mutation(filename, data, valid=False, kind="+".join(kinds))


def _bases() -> list[tuple[str, str]]:
    shipped = [(name, (EXAMPLE / name).read_text(encoding="utf-8")) for name in (SUPERVISOR, AGENT)]
    return [*shipped, (SUPERVISOR, RICH_SUPERVISOR), (AGENT, RICH_AGENT)]


def _by_line(change: Callable[[random.Random, list[str]], None]) -> Callable[..., bytes]:
    def damage(rng: random.Random, data: bytes) -> bytes:
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        change(rng, lines)
        return "\n".join(lines).encode("utf-8", "surrogateescape")

    return damage


def _flip_byte(rng: random.Random, data: bytes) -> bytes:
    raw = bytearray(data or b" ")
    raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def _cut_bytes(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.randrange(1, 40) :]


def _truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _delete_line(rng: random.Random, lines: list[str]) -> None:
    del lines[rng.randrange(len(lines))]
    if not lines:
        lines.append("")


def _duplicate_line(rng: random.Random, lines: list[str]) -> None:
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))


def _swap_lines(rng: random.Random, lines: list[str]) -> None:
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _indent(rng: random.Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    lines[at] = rng.choice((" ", "  ", "\t", "    - ", "- ")) + lines[at]


def _dedent(rng: random.Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    lines[at] = lines[at][rng.randrange(1, 4) :]


def _typo_key(rng: random.Random, lines: list[str]) -> None:
    places = [i for i, line in enumerate(lines) if re.match(r"\s*-?\s*\w+:", line)]
    if not places:
        return
    at = rng.choice(places)
    start, end = re.search(r"\w+(?=:)", lines[at]).span()  # type: ignore[union-attr]
    spot = rng.randrange(start, end)
    lines[at] = lines[at][:spot] + rng.choice(("", "x", "ñ", "_", "É")) + lines[at][spot + 1 :]


def _retype_value(rng: random.Random, lines: list[str]) -> None:
    places = [i for i, line in enumerate(lines) if re.match(r"\s*-?\s*\w+:", line)]
    if places:
        at = rng.choice(places)
        lines[at] = lines[at].partition(":")[0] + ": " + rng.choice(VALUES)


def _insert_trick(rng: random.Random, lines: list[str]) -> None:
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(TRICKS))


def _insert_text(rng: random.Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    spot = rng.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:spot] + rng.choice(SIGNS) + lines[at][spot:]


VALUES = (
    *(
        "",
        "~",
        "null",
        "true",
        "no",
        "yes",
        "0",
        "-1",
        "007",
        "0x1f",
        "1e999",
        ".inf",
        "-.inf",
        ".nan",
    ),
    *(
        "9" * 400,
        "1_000",
        "12:30:00",
        "2026-01-01",
        "[]",
        "{}",
        "[1, [2, [3]]]",
        "{a: {b: c}}",
        "'",
    ),
    *(
        '"',
        '"\\ud800"',
        '"\\0"',
        '"\\UFFFFFFFF"',
        "|",
        ">-",
        "&a x",
        "*a",
        "!!int 5",
        "!x",
        "@",
        "`",
    ),
    *(
        "${VIVERO_NO_SUCH}",
        "${",
        "${}",
        "$${x}",
        "${VIVERO_NO_SUCH:-5}",
        "#taller",
        "- a",
        "? a",
        "%",
    ),
    *(
        "/etc/passwd",
        "../../../etc/passwd",
        "/dev/zero",
        "/",
        ".",
        "a" * 5000,
        "é" * 300,
        "😀",
        "<<",
    ),
)
TRICKS = (
    *(
        "<<: *x",
        "? [a, b]",
        ": x",
        "---",
        "...",
        "%YAML 1.1",
        "%TAG ! tag:x,2026:",
        "null: x",
        "1: x",
    ),
    *("!!python/object/apply:os.system [id]", "a: &a [*a]", "b: *missing", "\ttab: x", "- - - -"),
    *(
        "[" * 60,
        "{" * 60,
        "[" * 3000,
        "a: " * 30,
        "x: |",
        "y: >",
        '"',
        "'",
        "#",
        "\ufeff",
        "\x00",
        "\x1b[",
    ),
    *(
        "x: &x [1,1,1,1,1,1,1,1]",
        "y: [*x,*x,*x,*x]",
        "true: 1",
        "~: 1",
        "key with spaces: 1",
        "🌱: 1",
    ),
    *(
        "llm:",
        "rooms:",
        "timezone: UTC",
        "prompt: prompt.md",
        "tools: {}",
        "id: x",
        "prompt_text: x",
    ),
)
SIGNS = (
    *(
        "\u2028",
        "\u0085",
        "\u200b",
        "\xa0",
        "😀",
        "ñ",
        "\r",
        "\t",
        "\x7f",
        "\x00",
        ":",
        ": ",
        " #",
        "'",
        '"',
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "\\",
        "${",
        "\ufeff",
        "\ufffe",
        "-",
    ),
)
DAMAGE: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "flip_byte": _flip_byte,
    "cut_bytes": _cut_bytes,
    "truncate": _truncate,
    "delete_line": _by_line(_delete_line),
    "duplicate_line": _by_line(_duplicate_line),
    "swap_lines": _by_line(_swap_lines),
    "indent": _by_line(_indent),
    "dedent": _by_line(_dedent),
    "typo_key": _by_line(_typo_key),
    "retype_value": _by_line(_retype_value),
    "insert_trick": _by_line(_insert_trick),
    "insert_text": _by_line(_insert_text),
}


# -- harmless changes ----------------------------------------------------------------------------


@attrs.frozen
class _Knob:
    """A key that stands once in the text, its place in the loaded config, a maker of values."""

    path: tuple[str | int, ...]
    make: Callable[[random.Random], Any]


def _text(rng: random.Random) -> str:
    words = ("riego", "ñandú", "día", "it's", 'so "called"', "50%", "a: b", "#1", "🌱", "yes", "12")
    return " ".join(rng.choices(words, k=rng.randrange(1, 5)))


KNOBS: dict[str, tuple[_Knob, ...]] = {
    SUPERVISOR: (
        _Knob(("locale",), lambda rng: rng.choice(("es", "en"))),
        _Knob(("web", "port"), lambda rng: rng.randrange(1, 65536)),
        _Knob(("reminders", "retention_days"), lambda rng: rng.randrange(1, 9999)),
        _Knob(("reminders", "late_one_shots"), lambda rng: rng.choice(("deliver", "discard"))),
        _Knob(("rooms", 0, "policy"), lambda rng: rng.choice(("first", "all", "route"))),
        _Knob(("rooms", 0, "turn_based"), lambda rng: rng.random() < 0.5),
        _Knob(("rooms", 0, "max_bot_turns"), lambda rng: rng.randrange(0, 100)),
        _Knob(("rooms", 0, "response_cooldown_seconds"), lambda rng: rng.randrange(0, 9999) / 8),
        _Knob(("supervision", "window_seconds"), lambda rng: rng.randrange(240, 80_000) / 4),
        _Knob(("max_event_age_seconds",), lambda rng: float(rng.randrange(1, 999_999))),
    ),
    AGENT: (
        _Knob(("display_name",), _text),
        _Knob(("description",), _text),
        _Knob(("llm", "temperature"), lambda rng: rng.randrange(0, 16) / 8),
        _Knob(("llm", "max_tokens"), lambda rng: rng.randrange(1, 100_000)),
        _Knob(("tools", "reminders", "max_per_room"), lambda rng: rng.randrange(1, 500)),
        _Knob(("schedules", 0, "action", "message"), _text),
        _Knob(("schedules", 1, "action", "timeout_seconds"), lambda rng: rng.randrange(1, 900) / 2),
        _Knob(("grace_seconds",), lambda rng: rng.randrange(0, 100) / 4),
        _Knob(("history_messages",), lambda rng: rng.randrange(0, 500)),
        _Knob(("mailbox_capacity",), lambda rng: rng.randrange(1, 5000)),
    ),
}


def _valid(rng: random.Random) -> Mutation:
    filename, text = rng.choice(((SUPERVISOR, RICH_SUPERVISOR), (AGENT, RICH_AGENT)))
    knob = rng.choice(KNOBS[filename])
    value = knob.make(rng)
    text = _set(text, str(knob.path[-1]), _written(rng, value))
    kinds = rng.sample(list(HARMLESS), k=rng.randrange(0, 4))
    for kind in sorted(kinds, key=list(HARMLESS).index):
        text = HARMLESS[kind](rng, text)
    name = "+".join(["set", *sorted(kinds)])
    return Mutation(filename, text.encode(), valid=True, kind=name, expect=(knob.path, value))


def _set(text: str, key: str, written: str) -> str:
    changed, count = re.subn(
        rf"^([ -]*{key}: ).*$", lambda found: found[1] + written, text, flags=re.M
    )
    assert count == 1, key
    return changed


def _written(rng: random.Random, value: Any) -> str:
    if isinstance(value, bool):
        return rng.choice((str(value), str(value).lower()))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=rng.random() < 0.2)
    plain = repr(value)
    return rng.choice(
        (plain, plain, f"${{VIVERO_NO_SUCH:-{plain}}}", f'"${{VIVERO_NO_SUCH:-{plain}}}"')
    )


def _reorder(rng: random.Random, text: str) -> str:
    blocks = re.findall(r"^\S.*\n(?:\s.*\n)*", text, flags=re.M)
    rng.shuffle(blocks)
    return "".join(blocks)


def _comment(rng: random.Random, text: str) -> str:
    signs = ("# nota: ¡ojo!", "#", "# a: b # c", "# ${NO} *x &y !z", "#\tx")
    lines = text.splitlines()
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(lines))
        if rng.random() < 0.5:
            lines[at] += "  " + rng.choice(signs)
        else:
            lines.insert(at, " " * rng.randrange(8) + rng.choice(signs))
    return "\n".join(lines) + "\n"


def _blank(rng: random.Random, text: str) -> str:
    return re.sub(r"\n", lambda _: rng.choice(("\n", "\n", "\n\n", "  \n")), text)


def _crlf(_: random.Random, text: str) -> str:
    return text.replace("\n", "\r\n")


def _mark(rng: random.Random, text: str) -> str:
    return rng.choice(("---\n", "\ufeff", "%YAML 1.2\n---\n", "\n\n# top\n")) + text


HARMLESS: dict[str, Callable[[random.Random, str], str]] = {
    "reorder": _reorder,
    "comment": _comment,
    "blank": _blank,
    "mark": _mark,
    "crlf": _crlf,
}
