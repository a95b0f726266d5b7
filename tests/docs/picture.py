"""Make docs/page.png anew: python -m tests.docs.picture (needs chromium and playwright)."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.checkout import ROOT, environment, make_checkout

TARGET = ROOT / "docs" / "page.png"
CHROMIUM = "/usr/bin/chromium"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SAID = {
    "devops, what time is it?": "It is ",
    "remind me tomorrow at 9 to call Luis": "Done, ",
}


@contextmanager
def address(folder: Path) -> Iterator[str]:
    """Run the example, in English; give the address that it prints."""
    checkout, env = make_checkout(folder / "vivero"), dict(environment(folder))
    subprocess.run([".venv/bin/vivero", "init", "workspace"], cwd=checkout, env=env, check=True)
    config = checkout / "workspace" / "supervisor.yaml"
    config.write_text(config.read_text().replace("locale: es", "locale: en"))
    run = subprocess.Popen(
        ["./dev", "run"], cwd=checkout, env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert run.stdout is not None
        printed = "".join(iter(run.stdout.readline, "Ctrl-C stops it.\n"))
        yield re.findall(r"http\S+", printed)[0]
    finally:
        run.send_signal(signal.SIGINT)
        run.wait(20)


def take(url: str) -> None:
    """Talk for a while, reload an agent, and take the picture."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = browser.new_page(
            locale="en-GB", viewport={"width": 1180, "height": 720}, timezone_id="Europe/Madrid"
        )
        page.goto(url)
        page.wait_for_selector("#connection[data-state=live]")
        for said, answer in SAID.items():
            page.fill("#composer", said)
            page.press("#composer", "Enter")
            page.wait_for_selector(f"[data-event] .text:has-text('{answer}')")
        page.click("[data-agent=asistente] .reload")
        page.wait_for_selector("[data-agent=asistente][data-generation='2']")
        page.wait_for_selector("#notices *")
        page.wait_for_selector("[data-reminder]")
        page.locator("#tree").get_by_text("waiting").first.wait_for(state="hidden")
        page.screenshot(path=TARGET)
        browser.close()


def main() -> None:
    """Take the picture of a house of its own."""
    with tempfile.TemporaryDirectory() as folder, address(Path(folder)) as url:
        take(url)


if __name__ == "__main__":
    main()
