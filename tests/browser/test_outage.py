"""The supervisor dies under the open page: nothing is lost, nothing shown or posted twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import assert_accessible
from tests.browser.driver import OUTAGE, REFUSED, Visits, connection, enter, said, say, wait_live
from tests.browser.houses import address, furnish
from tests.e2e.process import Supervisor, supervisor

BLOCKED = r"net::ERR_FAILED"


def assert_each_shown_once(page: Page) -> None:
    ids = page.locator("#log [data-event]").evaluate_all("all => all.map(n => n.dataset.event)")
    assert len(ids) == len(set(ids)), ids


def texts(page: Page) -> list[str]:
    return page.locator("#log .text").all_inner_texts()


@pytest.mark.promise("P1")
def test_a_killed_supervisor_comes_back_under_the_open_page_and_nothing_is_lost_or_doubled(
    visit: Visits, tmp_path: Path
) -> None:
    missed = ("dicho entre dos cortes", "dicho antes de que la página volviera")
    workspace = furnish(tmp_path / "w")
    guest = visit()
    guest.expect_complaints(OUTAGE, BLOCKED)
    with supervisor(workspace) as first:
        page = enter(guest, address(first))
        say(page, "devops, ¿qué hora es?")
        expect(said(page, "(Europe/Madrid)")).to_have_count(1)
        first.kill()
    expect(connection(page)).to_have_attribute("data-state", "lost")
    page.locator("#composer").fill("dicho durante el corte")
    page.keyboard.press("Enter")
    waiting = page.locator("#log [data-txn]")
    expect(waiting).to_have_count(1)
    assert_accessible(page, "without a connection")
    guest.shoot("lost")
    # The page may not notice the new one before others have spoken.
    page.route("**/api/**", lambda route: route.abort())
    # What this one heard is in no stream any more, only in the room's history.
    with supervisor(workspace) as short_lived:
        short_lived.say("#taller", missed[0], "luis")
        short_lived.kill()
    with supervisor(workspace) as second:
        second.say("#taller", missed[1], "luis")
        asked = second.say("#taller", "devops, ¿qué hora es en Tokio?", "luis")
        second.wait_slot(asked, "answered")
        expect(connection(page)).to_have_attribute("data-state", "lost")
        page.unroute("**/api/**")
        wait_live(page)
        for text in (*missed, "(Asia/Tokyo)", "(Europe/Madrid)", "dicho durante el corte"):
            expect(said(page, text)).to_have_count(1)
        expect(waiting).to_have_count(0)
        assert_each_shown_once(page)
        assert second.said("#taller", "@ana").count("dicho durante el corte") == 1
        expect(say(page, "y sigue en directo")).to_be_visible()
        order = [text for text in texts(page) if text.startswith(("devops,", "dicho", "y sigue"))]
        assert order == [
            "devops, ¿qué hora es?",
            *missed,
            "devops, ¿qué hora es en Tokio?",
            "dicho durante el corte",
            "y sigue en directo",
        ]
        guest.shoot("back")


@pytest.mark.promise("P1")
def test_a_post_whose_answer_was_lost_with_the_supervisor_is_posted_once(
    visit: Visits, tmp_path: Path
) -> None:
    workspace = furnish(tmp_path / "w")
    guest = visit()
    guest.expect_complaints(OUTAGE, BLOCKED)
    accepted: list[int] = []
    with supervisor(workspace) as first:
        page = enter(guest, address(first))

        def lose_the_answer(route: Route) -> None:
            if accepted or route.request.method != "POST":
                route.fallback()
                return
            accepted.append(route.fetch().status)
            first.kill()
            route.abort("connectionreset")

        page.route("**/api/rooms/*/messages", lose_the_answer)
        page.locator("#composer").fill("¿me habrán oído?")
        page.keyboard.press("Enter")
        expect(connection(page)).not_to_have_attribute("data-state", "live")
    assert accepted == [201]
    with supervisor(workspace) as second:
        wait_live(page)
        expect(page.locator("#log [data-txn]")).to_have_count(0)
        expect(said(page, "¿me habrán oído?")).to_have_count(1)
        assert_each_shown_once(page)
        assert second.said("#taller", "@ana") == ["¿me habrán oído?"]


def test_a_page_reloaded_during_the_outage_still_sends_what_waits(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    guest.expect_complaints(BLOCKED)
    page = enter(guest, url)
    page.route("**/api/rooms/*/messages", lambda route: route.abort())
    page.locator("#composer").fill("no me pierdas")
    page.keyboard.press("Enter")
    expect(page.locator("#log [data-txn]")).to_have_count(1)
    page.unroute("**/api/rooms/*/messages")
    page.reload()
    expect(said(page, "no me pierdas")).to_have_count(1)
    expect(page.locator("#log [data-txn]")).to_have_count(0)
    assert home.said("#taller", "@ana").count("no me pierdas") == 1


def test_a_new_token_ends_the_session_and_what_was_written_is_sent_after_signing_in_again(
    visit: Visits, tmp_path: Path
) -> None:
    workspace = furnish(tmp_path / "w")
    guest = visit()
    guest.expect_complaints(OUTAGE, REFUSED.format(401))
    with supervisor(workspace) as first:
        page = enter(guest, address(first))
        first.stop()
    expect(connection(page)).not_to_have_attribute("data-state", "live")
    say(page, "guárdame esto")
    (workspace / "run/web.token").unlink()
    with supervisor(workspace) as second:
        expect(connection(page)).to_have_attribute("data-state", "signed-out")
        expect(page.locator("#log [data-txn]")).to_have_count(1)
        assert_accessible(page, "signed out")
        guest.shoot("signed-out")
        page.get_by_role("link", name="Entrar").click()
        page.locator("#token").fill(address(second))
        page.keyboard.press("Enter")
        wait_live(page)
        expect(said(page, "guárdame esto")).to_have_count(1)
        expect(page.locator("#log [data-txn]")).to_have_count(0)
        assert second.said("#taller", "@ana") == ["guárdame esto"]


def test_a_supervisor_that_stands_still_is_not_called_live(visit: Visits, tmp_path: Path) -> None:
    """Its socket stays open, so that only the want of answers can tell."""
    guest = visit()
    guest.expect_complaints(OUTAGE)
    with supervisor(furnish(tmp_path / "w")) as running:
        page = enter(guest, address(running))
        running.process.send_signal(signal.SIGSTOP)
        try:
            expect(connection(page)).to_have_attribute("data-state", "waiting")
            page.locator("#composer").fill("dicho mientras estaba parado")
            page.locator("#composer").press("Enter")
            expect(page.locator("#log [data-txn]")).to_have_count(1)
        finally:
            running.process.send_signal(signal.SIGCONT)
        wait_live(page)
        expect(said(page, "dicho mientras estaba parado")).to_have_count(1)
        assert_each_shown_once(page)
