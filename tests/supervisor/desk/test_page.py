"""The page's files and the page that signs in: what is served, to whom, under which policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from supervisor.desk.page import POLICY, is_same, read_assets, sign_in_html
from supervisor.desk.texts import LOCALES, Texts

PAGES = [("es", "Entrar"), ("en", "Sign in")]


@pytest.fixture
async def running(start_api: Any) -> AsyncIterator[Any]:
    async with start_api() as running:
        yield running


@pytest.fixture
async def client(running: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=running.url, trust_env=False) as client:
        yield client


@pytest.fixture
async def known(running: Any, client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """A client that has signed in."""
    assert (await client.post("/api/session", json={"token": running.token})).status_code == 204
    return client


# -- files ----------------------------------------------------------------------------------------


async def test_the_page_is_answered_under_a_policy_without_inline_code(
    known: httpx2.AsyncClient,
) -> None:
    page = await known.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == POLICY
    assert page.headers["cache-control"] == "no-cache"
    assert "unsafe" not in POLICY


async def test_every_file_has_its_type_the_policy_and_a_tag_that_saves_it(
    known: httpx2.AsyncClient,
) -> None:
    assets = read_assets()
    assert "index.html" in assets
    for name, asset in assets.items():
        answer = await known.get(f"/web/{name}")
        assert (answer.status_code, answer.content) == (200, asset.data)
        assert answer.headers["content-type"] == asset.kind
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = await known.get(f"/web/{name}", headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == answer.headers["etag"]


async def test_a_head_tells_the_size_and_sends_nothing(known: httpx2.AsyncClient) -> None:
    answer = await known.head("/web/index.html")
    assert answer.headers["content-length"] == str(len(read_assets()["index.html"].data))
    assert answer.content == b""


async def test_only_known_names_are_files(known: httpx2.AsyncClient) -> None:
    for name in ("", "nada.js", "Index.html", "../page.py", "index.html/", "index.html%00", "."):
        assert (await known.get(f"/web/{name}")).status_code == 404


def test_only_files_of_known_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "app.js").write_text("1")
    (tmp_path / "notes.txt").write_text("no")
    (tmp_path / "app.js~").write_text("no")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "deep.js").write_text("no")
    (tmp_path / "dir.js").mkdir()
    assert list(read_assets(tmp_path)) == ["app.js"]


def test_a_changed_file_has_another_tag(tmp_path: Path) -> None:
    (tmp_path / "app.js").write_text("1")
    before = read_assets(tmp_path)["app.js"].etag
    (tmp_path / "app.js").write_text("2")
    assert read_assets(tmp_path)["app.js"].etag != before


def test_a_page_without_files_is_no_crash(tmp_path: Path) -> None:
    assert read_assets(tmp_path / "gone") == {}


@pytest.mark.parametrize(
    ("header", "same"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ("*", True),
        ('"b"', False),
        (None, False),
    ],
)
def test_a_tag_matches_as_browsers_send_it(header: str | None, same: bool) -> None:
    assert is_same('"a"', header) == same


# -- signing in -----------------------------------------------------------------------------------


def inline(html: str, tag: str) -> list[str]:
    return re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)


async def test_the_sign_in_page_runs_its_own_script_and_style_and_no_other(
    client: httpx2.AsyncClient,
) -> None:
    answer = await client.get("/")
    assert answer.status_code == 401
    policy = answer.headers["content-security-policy"]
    for tag in ("script", "style"):
        (code,) = inline(answer.text, tag)
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert not re.search(r"\\son\\w+=|style=|src=", answer.text)
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("locale", "word"), PAGES)
async def test_the_sign_in_page_speaks_the_browsers_language(
    client: httpx2.AsyncClient, locale: str, word: str
) -> None:
    answer = await client.get("/", headers={"accept-language": f"fr, {locale};q=0.5"})
    assert f'<html lang="{locale}">' in answer.text
    assert word in answer.text


@pytest.mark.parametrize("locale", LOCALES)
def test_nothing_of_a_template_is_left_over(locale: str) -> None:
    html = sign_in_html(Texts(locale))
    (script,), (style,) = inline(html, "script"), inline(html, "style")
    assert "{" not in html.replace(script, "").replace(style, "")
    assert 'for="token"' in html and 'id="token"' in html
