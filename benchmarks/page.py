"""What the page costs: an agent's answers under 5 000 bus events a second, with it and without.

The supervisor is a process of its own (`benchmarks.flooded`), the page is open in a real headless
chromium. The flood goes on in both kinds of rounds; they take turns.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import IO, Any

import attrs

from benchmarks.base import Row
from benchmarks.flooded import FLOODED_ROOM, ROOM, Round
from supervisor.testkit.house import make_workspace

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAME, RATE = "p99 of an answer with the page open, 5 000 events/s", 5_000.0
FACTOR, SLACK_MS = 1.2, 2.0
PAGE_SECONDS, STOP_SECONDS = 30.0, 15.0
ROOT = Path(__file__).parent.parent

_WORKSPACE = f"""
timezone: Europe/Madrid
web: {{port: 0}}
rooms:
  - id: "{ROOM}"
    participants: [asistente, devops]
    max_agent_messages_per_hour: 100000
    response_cooldown_seconds: 0
  - {{id: "{FLOODED_ROOM}", participants: [asistente]}}
"""

# Counts what the page reads, without a line of its own in the product.
_COUNTER = r"""
window.eventsRead = 0;
const decode = TextDecoder.prototype.decode;
TextDecoder.prototype.decode = function (...given) {
  const text = decode.apply(this, given);
  window.eventsRead += text.split("\ndata: ").length - 1;
  return text;
};
"""


@attrs.frozen
class Pair:
    """One round without the page and one with it, and how many events the page read meanwhile."""

    without: Round
    with_page: Round
    read: int


def rows(quick: bool) -> list[Row]:
    """Measure in turns: 5 rounds of each kind with 250 answers (2 with 40 when quick)."""
    rounds, answers = (2, 40) if quick else (5, 250)
    missing = _missing()
    if missing:
        return [Row(NAME, None, "ms", _budget(), note=f"not measured: {missing}")]
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(Path(folder) / "w", {"supervisor.yaml": _WORKSPACE})
        with _flooded(workspace.root) as house, _browser() as context:
            house.round(answers // 4)
            pairs = [_pair(house, context, answers) for _ in range(rounds)]
    return [judge(pairs)]


def _missing() -> str:
    if not CHROMIUM.exists():
        return f"there is no {CHROMIUM} here"
    return "" if importlib.util.find_spec("playwright") else "playwright is not installed"


def _budget() -> str:
    return f"≤ {FACTOR:g} × without + {SLACK_MS:g} ms"


def judge(pairs: Sequence[Pair]) -> Row:
    """Return the row: medians over the rounds, and of the ratios within each pair."""
    calm = [p99(pair.without.answers_ms) for pair in pairs]
    open_ = [p99(pair.with_page.answers_ms) for pair in pairs]
    ratios = [(b - SLACK_MS) / a for a, b in zip(calm, open_, strict=True)]
    seconds = sum(pair.with_page.seconds for pair in pairs)
    rate = sum(pair.with_page.published for pair in pairs) / seconds
    read = sum(pair.read for pair in pairs) / seconds
    answers = len(pairs[0].with_page.answers_ms)
    note = (
        f"without {median(calm):.1f} ms; (with - {SLACK_MS:g} ms) / without is "
        f"{median(ratios):.2f}, median of {len(pairs)} pairs of rounds with {answers} answers; "
        f"p50 {_p50(pairs, 'without'):.1f} ms without, {_p50(pairs, 'with_page'):.1f} ms with; "
        f"the supervisor works {_cpu(pairs, 'without'):.0f} % of a core without, "
        f"{_cpu(pairs, 'with_page'):.0f} % with; "
        f"{rate:,.0f} events/s published, {read:,.0f}/s read by the page"
    )
    met = median(ratios) <= FACTOR
    return Row(NAME, median(open_), "ms", _budget(), met, note=note)


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return float(quantiles(values, n=100)[98])


def _p50(pairs: Sequence[Pair], kind: str) -> float:
    return float(median(value for pair in pairs for value in getattr(pair, kind).answers_ms))


def _cpu(pairs: Sequence[Pair], kind: str) -> float:
    rounds: list[Round] = [getattr(pair, kind) for pair in pairs]
    return 100 * sum(r.cpu_seconds for r in rounds) / sum(r.seconds for r in rounds)


# -- the supervisor --------------------------------------------------------------------------------


@attrs.define
class _House:
    """The other end of `benchmarks.flooded`."""

    _orders: IO[str]
    _reports: IO[str]
    url: str = ""

    def round(self, answers: int) -> Round:
        """Ask for so many answers and wait for all of them."""
        self._orders.write(f"{answers}\n")
        self._orders.flush()
        return Round(**self.hear())

    def hear(self) -> Mapping[str, Any]:
        """Return its next line of JSON; what the product itself says to people is passed over."""
        for line in self._reports:
            if line.startswith("{"):
                return dict(json.loads(line))
        raise RuntimeError("the flooded supervisor ended before its time")


@contextmanager
def _flooded(workspace: Path) -> Iterator[_House]:
    command = [sys.executable, "-m", "benchmarks.flooded", str(workspace), str(RATE)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            house = _House(process.stdin, process.stdout)
            house.url = house.hear()["url"]
            yield house
            process.stdin.close()
            process.wait(STOP_SECONDS)
        finally:
            process.kill()


# -- the page --------------------------------------------------------------------------------------


@contextmanager
def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        try:
            context = browser.new_context()
            context.add_init_script(_COUNTER)
            context.set_default_timeout(PAGE_SECONDS * 1000)
            yield context
        finally:
            browser.close()


def _pair(house: _House, context: Any, answers: int) -> Pair:
    without = house.round(answers)
    page = context.new_page()
    page.goto(house.url)
    page.wait_for_selector('#connection[data-state="live"]')
    page.wait_for_selector(f'#rooms [data-room="{FLOODED_ROOM}"] .unread:not([hidden])')
    before = page.evaluate("window.eventsRead")
    with_page = house.round(answers)
    read = page.evaluate("window.eventsRead") - before
    page.close()
    return Pair(without, with_page, read)
