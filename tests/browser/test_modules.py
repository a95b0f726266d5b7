"""The page's pure parts, in a browser without a server: wires, merging, words and times."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from tests.browser.driver import Visits

WEB = Path(__file__).resolve().parents[2] / "supervisor/desk/web"
Act = tuple[str, list[dict[str, Any]]]
KINDS = {".js": "text/javascript", ".html": "text/html"}
ORIGIN = "http://127.0.0.1"


def module(visit: Visits, language: str = "es-ES") -> Page:
    """A blank page beside which the modules are found."""
    page = visit.bench(language)

    def answer(route: Route) -> None:
        path = WEB / route.request.url.removeprefix(f"{ORIGIN}/web/")
        if path.is_file():
            route.fulfill(content_type=KINDS[path.suffix], body=path.read_text(encoding="utf-8"))
        else:
            route.fulfill(content_type="text/html", body="<!doctype html><title>-</title>")

    page.unroute_all()
    page.route("**/*", answer)
    page.goto(f"{ORIGIN}/")
    return page


def call(page: Page, module: str, body: str, **values: Any) -> Any:
    """Run `body`, which sees the module as `m` and the values as `v`."""
    script = f"async (v) => {{ const m = await import('/web/{module}'); {body} }}"
    return page.evaluate(script, values)


def line(number: int, **more: Any) -> dict[str, Any]:
    fixed = {"room": "r", "sender": "@ana", "text": f"t{number}", "agent": None, "kind": "message"}
    return {**fixed, "event_id": f"e{number}", "ts": 1000.0 + number, **more}


# -- the wire ---------------------------------------------------------------------------------

WIRE = (
    ": hola\r\nevent: a\r\nid: 1\r\ndata: x\r\ndata: y\r\n\r\n"
    'event: b\ndata: {"q": 1}\nid: 2\n\n:\n\ndata: z\rid: 3\r\rdata\n\nid: 9\n\n'
    "data:  dos espacios\nid: 4\nraro: x\n\ndata: ñ🌱\n\ndata: sin final\n"
)
EVENTS = [
    {"type": "a", "id": "1", "data": "x\ny"},
    {"type": "b", "id": "2", "data": '{"q": 1}'},
    {"type": "message", "id": "3", "data": "z"},
    {"type": "message", "id": "3", "data": ""},
    {"type": "message", "id": "4", "data": " dos espacios"},
    {"type": "message", "id": "4", "data": "ñ🌱"},
]


def test_events_are_read_wherever_the_wire_cuts_them(visit: Visits) -> None:
    page = module(visit)
    dice = random.Random(20261130)
    cuts = [sorted(dice.choices(range(len(WIRE)), k=dice.randrange(40))) for _ in range(200)]
    pieces = [[WIRE[a:b] for a, b in zip([0, *cut], [*cut, None], strict=True)] for cut in cuts]
    body = """return v.pieces.map((pieces) => {
      const parser = new m.EventParser();
      return pieces.flatMap((piece) => parser.push(piece));
    });"""
    for found in call(page, "sse.js", body, pieces=[*pieces, list(WIRE)]):
        assert found == EVENTS


# -- merging ------------------------------------------------------------------------------------

PLAY = """const room = new m.Room('r');
  for (const [act, lines] of v.acts) {
    if (act === 'add') room.add(lines);
    else if (act === 'load') room.load(lines);
    else room.doubt();
  }
  return room.events.map((line) => line.event_id);"""


def played(page: Page, *acts: Act) -> list[str]:
    return list(call(page, "state.js", PLAY, acts=acts))


def ids(*numbers: int) -> list[str]:
    return [f"e{number}" for number in numbers]


def test_what_comes_twice_is_held_once(visit: Visits) -> None:
    page = module(visit)
    heard = [line(3), line(4)]
    assert played(page, ("add", heard), ("load", [line(2), line(3)]), ("add", heard)) == ids(
        2, 3, 4
    )


def test_after_a_gap_the_history_fills_the_hole_and_live_lines_follow_it(visit: Visits) -> None:
    page = module(visit)
    acts: tuple[Act, ...] = (
        ("load", [line(1), line(2)]),
        ("doubt", []),
        ("add", [line(6)]),
        ("load", [line(2), line(3), line(4), line(5), line(6)]),
    )
    assert played(page, *acts) == ids(1, 2, 3, 4, 5, 6)


def test_lines_before_a_hole_that_cannot_be_filled_are_let_go(visit: Visits) -> None:
    page = module(visit)
    acts: tuple[Act, ...] = (
        ("load", [line(1), line(2)]),
        ("doubt", []),
        ("add", [line(60)]),
        ("load", [line(59), line(60), line(61)]),
    )
    assert played(page, *acts) == ids(59, 60, 61)


def test_joins_stay_where_they_were_seen(visit: Visits) -> None:
    page = module(visit)
    join = line(2, kind="join", text="")
    acts: tuple[Act, ...] = (
        ("load", [line(1)]),
        ("add", [join, line(3)]),
        ("doubt", []),
        ("load", [line(1), line(3), line(4)]),
    )
    assert played(page, *acts) == ids(1, 2, 3, 4)


def test_a_flood_leaves_a_bounded_past(visit: Visits) -> None:
    page = module(visit)
    flood = [line(number) for number in range(2000)]
    found = played(page, ("load", []), ("add", flood))
    assert found == ids(*range(1700, 2000))


def test_unread_is_what_others_said_since_it_was_read(visit: Visits) -> None:
    page = module(visit)
    said = [
        line(2, sender="devops", agent="devops"),
        line(3),
        line(4, sender="@luis", kind="join"),
        line(5, sender="@luis", kind="notice"),
    ]
    body = """const room = new m.Room('r');
      room.load([v.first]); room.read(); room.add(v.said);
      const unread = room.unread('@ana'); room.read();
      return [unread, room.unread('@ana')];"""
    assert call(page, "state.js", body, first=line(1), said=said) == [2, 0]


# -- words and times ----------------------------------------------------------------------------


def test_what_cannot_be_seen_is_shown_as_a_picture(visit: Visits) -> None:
    page = module(visit)
    text = "a\u0000\u001b[31m\u007f\u0085 \u202eb\u202c\ufeff\tc\r\nd\u200d🌱"
    shown = call(page, "dom.js", "return m.visible(v.text)", text=text)
    assert shown == "a␀␛[31m␡⟨U+0085⟩ ⟨U+202E⟩b\u202c⟨U+FEFF⟩\tc\nd\u200d🌱"


@pytest.mark.parametrize(
    ("languages", "chosen"),
    [
        (["en-GB", "es"], {"language": "en", "tag": "en-GB"}),
        (["fr", "es-AR", "en"], {"language": "es", "tag": "es-AR"}),
        (["de", "ja"], {"language": "es", "tag": "es"}),
        (["esperanto", "EN-us"], {"language": "en", "tag": "EN-us"}),
        ([], {"language": "es", "tag": "es"}),
    ],
)
def test_the_first_language_that_the_page_speaks_is_taken(
    visit: Visits, languages: list[str], chosen: dict[str, str]
) -> None:
    page = module(visit)
    assert call(page, "texts.js", "return m.chosen(v.languages)", languages=languages) == chosen


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("es-ES", ["dentro de 5 min", "dentro de 59 s", "hace 3 h", "ahora", "dentro de 13 d"]),
        ("en-GB", ["in 5 min", "in 59 sec", "3 hr ago", "now", "in 13 days"]),
    ],
)
def test_soon_and_long_ago_are_said_in_the_pages_language(
    visit: Visits, language: str, expected: list[str]
) -> None:
    page = module(visit, language)
    seconds = [300, 59, -3 * 3600, 0.4, 13 * 86400]
    body = "return v.seconds.map((s) => m.relative(new Date(1e12 + s * 1000), new Date(1e12)))"
    assert call(page, "time.js", body, seconds=seconds) == expected


def test_an_instant_is_shown_in_its_own_zone(visit: Visits) -> None:
    page = module(visit)
    body = """const at = new Date('2026-12-01T00:30:00Z'), now = new Date('2026-11-30T23:00:00Z');
      return ['Asia/Tokyo', 'America/Lima', 'No/Such'].map((zone) => m.moment(at, zone, now))
        .concat([m.elsewhere(at, 'Asia/Tokyo'), m.elsewhere(at, 'Europe/Paris')]);"""
    tokyo, lima, unknown, far, near = call(page, "time.js", body)
    assert tokyo == "9:30"  # the same day there, though not in UTC
    assert lima == "19:30"
    assert "1:30" in unknown  # as the browser's own zone, Madrid
    assert (far, near) == (True, False)


def test_a_place_is_told_from_the_workspace_on(visit: Visits) -> None:
    page = module(visit)
    body = """m.setWorkspace('/srv/w/'); return [
      m.placeOf({ file: '/srv/w/agents/a/config.yaml', line: 3, col: 7 }),
      m.placeOf({ file: '/etc/x.yaml', line: 3, col: 0 }),
      m.placeOf({ file: '', line: 0, col: 0 })];"""
    expected = ["agents/a/config.yaml:3:7", "/etc/x.yaml:3", ""]
    assert call(page, "places.js", body) == expected


def test_news_during_a_reading_is_followed_by_one_more(visit: Visits) -> None:
    page = module(visit)
    body = """let runs = 0, atOnce = 0, most = 0; const gates = [];
      const run = m.oneAtATime(async () => {
        runs += 1; most = Math.max(most, atOnce += 1);
        await new Promise((go) => gates.push(go)); atOnce -= 1;
      });
      const first = run(); run(); run(); run();
      gates[0](); await Promise.resolve(); await Promise.resolve();
      while (gates.length < 2) await new Promise((go) => setTimeout(go));
      gates[1](); await first; return [runs, most];"""
    assert call(page, "panels.js", body) == [2, 1]


# -- what you said ------------------------------------------------------------------------------

OUTBOX = """
  const asked = []; let up = v.up;
  globalThis.fetch = async (path, how) => {
    const body = JSON.parse(how.body); asked.push(body);
    if (!up.length) throw new TypeError('network');
    const status = up.shift();
    const line = { room: 'r', sender: '@ana', text: body.text, event_id: 'e-' + body.txn_id };
    if (status === 0) throw new TypeError('network');
    return new Response(JSON.stringify(status === 201 ? line : { error: 'no' }), { status });
  };
  const accepted = [], refused = [];
  const box = new m.Outbox({ changed() {}, accepted: (_, line) => accepted.push(line.text),
    refused: (item) => refused.push(item.text) });
  for (const text of v.texts) box.add('r', 'ana', text);
  while (box.items.some((item) => !item.refusal)) await new Promise((go) => setTimeout(go, 20));
  return { accepted, refused, asked, kept: sessionStorage.getItem('vivero.outbox') };"""


def test_what_was_said_in_an_outage_is_sent_again_under_the_same_id_in_order(
    visit: Visits,
) -> None:
    page = module(visit)
    found = call(page, "outbox.js", OUTBOX, up=[0, 503, 201, 201], texts=["uno", "dos"])
    assert found["accepted"] == ["uno", "dos"]
    said = [(body["text"], body["txn_id"]) for body in found["asked"]]
    assert [text for text, _ in said] == ["uno", "uno", "uno", "dos"]
    assert len(set(said)) == 2
    assert json.loads(found["kept"]) == []


def test_what_is_refused_does_not_hold_up_what_follows(visit: Visits) -> None:
    page = module(visit)
    found = call(page, "outbox.js", OUTBOX, up=[400, 201], texts=["malo", "bueno"])
    assert (found["accepted"], found["refused"]) == (["bueno"], ["malo"])
