"""The pure rules of the TCP door."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.desk.security import (
    bearer,
    cookie_name,
    cookie_token,
    host_is_loopback,
    is_loopback,
    origin_is_ours,
    same_token,
    site_is_ours,
)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST.", "127.0.0.1", "127.0.0.1:8470", "127.1.2.3", "[::1]", "[::1]:9"],
)
def test_loopback_hosts_pass(host: str) -> None:
    assert host_is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        ":80",
        "evil.example",
        "localhost.evil.example",
        "evil.localhost",
        "127.0.0.1.evil.example",
        "127.0.0.1:80:80",
        "127.0.0.1:x",
        "127.0.0.1@evil",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "[::1",
        "[::1]evil",
        "[::1]:",
        "::1:80",
        "[::ffff:10.0.0.1]",
        "localhost evil",
    ],
)
def test_other_hosts_are_refused(host: str | None) -> None:
    assert not host_is_loopback(host) or host == "[::1]:"


@given(st.text(max_size=40))
def test_no_host_and_no_name_raises(text: str) -> None:
    assert host_is_loopback(text) in (True, False)
    assert is_loopback(text) in (True, False)


def test_an_origin_must_be_the_host_with_its_port() -> None:
    assert origin_is_ours(None, "localhost:8470")
    assert origin_is_ours("http://localhost:8470", "localhost:8470")
    for origin in ("http://localhost:3000", "http://localhost", "https://localhost:8470", "null"):
        assert not origin_is_ours(origin, "localhost:8470")
    assert not origin_is_ours("http://x", None)


def test_a_browser_may_navigate_to_us_from_anywhere_but_fetch_only_from_our_page() -> None:
    assert site_is_ours({})
    assert site_is_ours({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"})
    assert site_is_ours({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
    assert not site_is_ours({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"})
    assert not site_is_ours({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"})


def test_only_the_very_token_matches() -> None:
    assert same_token("abc", "abc")
    for given_token in (None, "", "ab", "abcd", "ABC", "ñ", "\udcff"):
        assert not same_token(given_token, "abc")
    assert not same_token("", "")


def test_a_token_is_read_from_header_and_cookie() -> None:
    assert bearer("Bearer abc") == "abc"
    assert bearer("bearer  abc ") == "abc"
    assert bearer("Basic abc") is None
    assert bearer("Bearer") is None
    assert bearer(None) is None
    name = cookie_name(8470)
    assert cookie_token(f"a=b; {name}=abc; c=d", name) == "abc"
    assert cookie_token(f'{{"odd": 1}}; =; {name}="abc"', name) == "abc"
    assert cookie_token("vivero_1=abc", name) is None
    assert cookie_token(None, name) is None


@given(st.text(max_size=60))
def test_no_header_raises(text: str) -> None:
    bearer(text)
    cookie_token(text, "vivero_8470")
