"""One Chromium in a thread of its own, and people who visit a house with it.

Playwright's plain interface leaves an event loop "running" in its thread: Trio would live with it,
asyncio would not. In the driver's thread it disturbs nobody, and a test is run there as a whole.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

T = TypeVar("T")

MISSING = "chromium is not installed; on Debian: apt-get install chromium"
PATIENCE = 20_000.0  # milliseconds; only ever used up by a failure
OUTAGE = (
    r"ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED|CONTENT_LENGTH)"
)
REFUSED = r"the server responded with a status of {}\b"
WIDE, PHONE = (1280, 800), (360, 740)

_SWITCHES = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=SpareRendererForSitePerProcess",
)
_WATCH = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


def find_chromium() -> str | None:
    return os.environ.get("VIVERO_CHROMIUM") or shutil.which("chromium")


class Driver:
    """The browser of this process; starts when first asked for."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="browser")
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self.benches: dict[str, Visit] = {}

    def run(self, act: Callable[..., T], **arguments: Any) -> T:
        """Call in the thread that owns the browser."""
        return self._thread.submit(act, **arguments).result()

    @property
    def browser(self) -> Browser:
        if self._browser is None:
            expect.set_options(timeout=PATIENCE)
            self._playwright = sync_playwright().start()
            sandbox = () if os.geteuid() else ("--no-sandbox",)
            self._browser = self._playwright.chromium.launch(
                executable_path=find_chromium(), args=[*_SWITCHES, *sandbox]
            )
        return self._browser

    def end(self) -> None:
        self.run(self._end)
        self._thread.shutdown()

    def _end(self) -> None:
        if self._browser is not None:
            self._browser.close()
        if self._playwright is not None:
            self._playwright.stop()


class Visit:
    """A person's browser: a context with cookies of its own; everything it complains of is kept."""

    def __init__(self, context: BrowserContext, pictures: Path) -> None:
        self.context = context
        self.complaints: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        self._pictures = pictures
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_WATCH)
        self.page = self.another()

    def another(self) -> Page:
        """Open one more tab."""
        page = self.context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        page.on("dialog", lambda dialog: self._box(dialog))
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} {message.location['url']}")

    def _box(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def expect_complaints(self, *patterns: str) -> None:
        """Say which complaints of the browser belong to what this test does."""
        self._expected += [re.compile(pattern) for pattern in patterns]

    def check(self) -> None:
        unexpected = [
            text for text in self.complaints if not any(p.search(text) for p in self._expected)
        ]
        assert not unexpected, f"the browser complains: {unexpected}"

    def shoot(self, name: str, page: Page | None = None) -> None:
        """Keep a picture of the page for a person's eye."""
        (page or self.page).screenshot(path=self._pictures / f"{name}.png")


class Visits:
    """Opens visits in one browser and, at the end of a test, looks at what they complained of."""

    def __init__(self, driver: Driver, pictures: Path) -> None:
        self._driver = driver
        self._pictures = pictures
        self._open: list[Visit] = []
        self._borrowed: list[Visit] = []

    def __call__(
        self,
        *,
        language: str = "es-ES",
        scheme: Any = "light",
        size: tuple[int, int] = WIDE,
        **more: Any,
    ) -> Visit:
        context = self._driver.browser.new_context(
            locale=language,
            color_scheme=scheme,
            viewport={"width": size[0], "height": size[1]},
            timezone_id="Europe/Madrid",
            reduced_motion="reduce",
            **more,
        )
        self._open.append(Visit(context, self._pictures))
        return self._open[-1]

    def bench(self, language: str) -> Page:
        """Return a page that tests of this process share: what needs no server."""
        bench = self._driver.benches.get(language)
        if bench is None:
            bench = self(language=language)
            self._driver.benches[language] = self._open.pop()
        bench.complaints.clear()
        self._borrowed.append(bench)
        return bench.page

    @contextlib.contextmanager
    def checked(self, name: str) -> Iterator[None]:
        """Fail with what a browser complained of; leave pictures of a test that fails."""
        try:
            yield
            for visit in (*self._open, *self._borrowed):
                visit.check()
        except BaseException:
            for number, visit in enumerate(self._open):
                print(f"visit {number}: {visit.complaints}")
                for tab, page in enumerate(visit.context.pages):
                    with contextlib.suppress(Exception):
                        visit.shoot(f"failed-{name}-{number}-{tab}", page)
            raise

    def close(self) -> None:
        for visit in self._open:
            visit.context.close()
        self._open.clear()


# -- the page as a person uses it ---------------------------------------------------------------


def connection(page: Page) -> Locator:
    return page.locator("#connection")


def wait_live(page: Page) -> None:
    expect(connection(page)).to_have_attribute("data-state", "live")


def enter(visit: Visit, url: str, person: str = "ana", room: str = "#taller") -> Page:
    """Open the page with the cookie of a printed address, and go into a room as a person."""
    origin, token = url.split("/#token=")
    assert visit.context.request.post(f"{origin}/api/session", data={"token": token}).ok
    visit.page.goto(origin)
    wait_live(visit.page)
    visit.page.locator("#person").fill(person)
    choose(visit.page, room)
    return visit.page


def choose(page: Page, room: str) -> None:
    page.locator(f'#rooms [data-room="{room}"]').press("Enter")
    expect(page.locator(f'#rooms [data-room="{room}"]')).to_have_attribute("aria-current", "true")


def say(page: Page, text: str) -> Locator:
    """Write a message and send it; return what shows it."""
    page.locator("#composer").fill(text)
    page.locator("#composer").press("Enter")
    return said(page, text).first


def said(page: Page, text: str | re.Pattern[str]) -> Locator:
    """The accepted messages whose text holds `text`."""
    inside = page.locator(".text").filter(has_text=text)
    return page.locator("#log [data-event]:not([data-txn])").filter(has=inside)


def agent(page: Page, name: str) -> Locator:
    return page.locator(f'#tree [data-agent="{name}"]')
