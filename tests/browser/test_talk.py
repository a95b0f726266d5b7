"""Talking in a room: answers, reminders, why, several tabs, and text that tries to be more."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.driver import REFUSED, Visits, agent, choose, enter, said, say
from tests.browser.houses import origin
from tests.e2e.process import Supervisor

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    '"><svg onload=alert(1)>',
    "[una](javascript:alert(1)) **no** `es` <b>marcado</b>",
)
BREAK_IN = """() => {
  try {
    document.body.innerHTML += "<img src=x onerror='window.hacked = 3'>";
    return "taken";
  } catch (error) {
    return error.name;
  }
}"""
NO_NAMES = ("<b>eva</b>", "eva\x1b[31m", "\u202eave", "eva\u200bana", "asistente", "")


def test_a_reminder_is_asked_for_seen_coming_and_said_live(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    page = enter(guest, url)
    say(page, "recuérdame en 8 segundos que riegue <b>las macetas</b>")
    expect(said(page, re.compile("te recordaré «riegue <b>las macetas</b>»"))).to_have_count(1)
    pending = page.locator("#reminders [data-reminder]", has_text="riegue <b>las macetas</b>")
    expect(pending).to_have_count(1)
    expect(pending.locator("time")).to_have_attribute("datetime", re.compile(r"T.*[+-]\d\d:\d\d"))
    expect(pending).to_contain_text("#taller")
    guest.shoot("reminder-pending")
    spoken = said(page, re.compile(r"Recordatorio: riegue <b>las macetas</b>"))
    expect(spoken).to_have_count(1)
    expect(spoken.locator(".sender")).to_have_text("asistente")
    expect(pending).to_have_count(0)
    guest.shoot("reminder-said")


def test_why_explains_a_persons_message_and_an_agents(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit(language="en-GB")
    page = enter(guest, url, "eva")
    choose(page, "#patio")
    mine = say(page, "devops, what time is it in Tokyo?")
    answer = said(page, "(Asia/Tokyo)")
    expect(answer).to_have_count(1)
    dialog = page.get_by_role("dialog")
    mine.locator(".why").click()
    expect(dialog).to_contain_text("What became of this message")
    expect(dialog).to_contain_text("devops")
    expect(dialog).to_contain_text("mention")
    guest.shoot("why-person")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    answer.locator(".why").click()
    expect(dialog).to_contain_text("devops, what time is it in Tokyo?")
    expect(dialog).to_contain_text("@eva")
    guest.shoot("why-agent")


def test_what_is_in_a_message_stays_text(visit: Visits, home: Supervisor, url: str) -> None:
    guest = visit()
    page = enter(guest, url)
    for text in HOSTILE:
        expect(say(page, text).locator(".text")).to_have_text(text)
    say(page, "y \u202eséver la fin")
    expect(said(page, "séver").locator(".text")).to_have_text("y ⟨U+202E⟩séver la fin")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#log :is(script, img, svg, a, b, code, iframe)").count() == 0
    # And were there a hole in the page, the policy would still stand.
    assert not guest.complaints
    guest.expect_complaints("policy", "TrustedHTML", "Content Security Policy")
    with page.expect_console_message(lambda m: m.text.startswith("policy: require-trusted")):
        assert page.evaluate(BREAK_IN) == "TypeError"


def test_a_browser_that_keeps_nothing_talks_all_the_same(visit: Visits, url: str) -> None:
    guest = visit()
    guest.context.add_init_script(
        """for (const kind of ["localStorage", "sessionStorage"])
          Object.defineProperty(window, kind, {
            get() { throw new DOMException("no", "SecurityError"); },
          });"""
    )
    page = enter(guest, url, "eva")
    expect(say(page, "devops, ¿qué hora es en Lima?")).to_be_visible()
    expect(said(page, "America/Lima")).to_have_count(1)


def test_a_message_that_is_refused_says_why_and_stays_in_the_writers_hands(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    guest.expect_complaints(REFUSED.format(400))
    page = enter(guest, url)
    page.evaluate("document.querySelector('#composer').value = 'rojo \\x1b[31mno'")
    page.locator("#send").click()
    expect(page.locator("#say-error")).to_contain_text("U+001B")
    expect(page.locator("#composer")).to_have_value("rojo \x1b[31mno")
    expect(page.locator("#log [data-txn]")).to_have_count(0)


def test_a_name_that_could_pass_for_something_else_is_refused_and_the_message_kept(
    visit: Visits, home: Supervisor, url: str
) -> None:
    page = enter(visit(), url)
    expect(agent(page, "asistente")).to_be_visible()
    page.locator("#composer").fill("esto no se dice")
    for name in NO_NAMES:
        page.locator("#person").fill(name)
        page.locator("#send").click()
        expect(page.locator("#person-error")).to_be_visible()
        expect(page.locator("#person")).to_be_focused()
        expect(page.locator("#composer")).to_have_value("esto no se dice")
    page.locator("#person").fill("ana")
    expect(page.locator("#person-error")).to_be_hidden()
    assert not home.said("#taller", "@ana").count("esto no se dice")


def test_what_others_say_in_a_terminal_arrives_by_itself_and_waits_for_a_closed_page(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    page = enter(guest, url)
    home.say("#taller", "hola desde la terminal", "luis")
    line = said(page, "hola desde la terminal")
    expect(line.locator(".sender")).to_have_text("@luis")
    expect(say(page, "ahora vuelvo")).to_be_visible()
    page.close()
    home.say("#taller", "mientras no mirabas", "luis")
    again = guest.another()
    again.goto(origin(home))
    for text in ("hola desde la terminal", "ahora vuelvo", "mientras no mirabas"):
        expect(said(again, text)).to_have_count(1)
    expect(again.locator("#person")).to_have_value("ana")
