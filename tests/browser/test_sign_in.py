"""Getting in: with the printed address, by hand, or not at all."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.driver import PHONE, REFUSED, Visit, Visits, wait_live
from tests.browser.houses import origin
from tests.e2e.process import Supervisor

WRONG = "Ese token no es el de este supervisor"


def come(visit: Visit, url: str) -> Page:
    """Open an address without the right to."""
    visit.expect_complaints(REFUSED.format(401))
    visit.page.goto(url)
    expect(visit.page.locator("#token")).to_be_focused()
    return visit.page


def test_the_printed_address_opens_the_page_and_the_token_is_seen_no_more(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    guest.expect_complaints(REFUSED.format(401))
    guest.page.goto(url)
    wait_live(guest.page)
    assert guest.page.url == origin(home) + "/"
    assert url.split("token=")[1] not in guest.page.content()
    guest.shoot("first-visit")
    (cookie,) = guest.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert guest.page.evaluate("document.cookie") == ""
    # Back leads to the blank page before, never to an address with the token.
    guest.page.go_back()
    assert guest.page.url == "about:blank"


def test_a_wrong_token_is_said_and_the_right_one_can_be_pasted(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    page = come(guest, f"{origin(home)}/#token=this-is-not-it")
    status = page.get_by_role("status")
    expect(status).to_contain_text(WRONG)
    assert page.url == origin(home) + "/"
    guest.shoot("wrong-token")
    page.get_by_label("Dirección o token").fill("nor-is-this")
    page.get_by_role("button", name="Entrar").click()
    expect(status).to_contain_text(WRONG)
    page.get_by_label("Dirección o token").fill(url.split("token=")[1])
    page.keyboard.press("Enter")
    wait_live(page)


def test_without_a_token_the_whole_address_can_be_pasted(
    visit: Visits, home: Supervisor, url: str
) -> None:
    page = come(visit(), origin(home))
    assert WRONG not in page.inner_text("main")
    expect(page.locator("#rooms")).to_have_count(0)
    page.keyboard.insert_text(f"  {url}\n")
    page.keyboard.press("Enter")
    wait_live(page)


def test_an_address_with_the_token_typed_over_the_sign_in_page_signs_in(
    visit: Visits, home: Supervisor, url: str
) -> None:
    page = come(visit(), origin(home))
    page.evaluate("url => { location.href = url }", url)
    wait_live(page)
    assert page.url == origin(home) + "/"


@pytest.mark.parametrize(
    ("scheme", "language", "lang", "button"),
    [("light", "es-ES", "es", "Entrar"), ("dark", "en-GB", "en", "Sign in")],
)
def test_the_sign_in_page_speaks_the_browsers_language_on_a_phone_and_to_everybody(
    visit: Visits, home: Supervisor, scheme: str, language: str, lang: str, button: str
) -> None:
    guest = visit(language=language, scheme=scheme, size=PHONE)
    page = come(guest, f"{origin(home)}/#token=wrong")
    expect(page.locator("html")).to_have_attribute("lang", lang)
    expect(page.get_by_role("button", name=button)).to_be_visible()
    expect(page.get_by_role("status").locator(":visible").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert_accessible(page, "sign-in page")
    guest.shoot(f"sign-in-{lang}-{scheme}")
