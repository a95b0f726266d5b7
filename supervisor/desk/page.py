"""What a browser gets: the page's files, read once, and, without the token, the sign-in page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

import attrs

from supervisor.desk.boundary import App, Receive, Scope, Send
from supervisor.desk.texts import Texts

__all__ = ["API_TEXT", "POLICY", "Asset", "is_same", "read_assets", "sign_in_html", "sign_in_page"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

API_TEXT = """\
vivero

GET  /healthz  /readyz  /metrics           open, no token
GET  /                                     the page; its files are under /web/
GET  /api                                  this list
GET  /api/about  /api/status  /api/tree  /api/supervision  /api/rooms
GET  /api/rooms/{room}/messages?limit=50
POST /api/rooms/{room}/messages            {"text": "...", "as": "ana", "as_bot": false,
                                            "txn_id": "..."}: the same id again is said once
GET  /api/why/{event_id}
GET  /api/reminders?room=...&all=1
GET  /api/timezone?user=...&room=...
POST /api/timezone                     {"user" or "room", "timezone"}
GET  /api/cron  /api/cron/runs?schedule=AGENT/NAME
POST /api/cron/run                         {"schedule": "AGENT/NAME"}
POST /api/reload                           {"agents": ["id", ...]}, or {} for all
POST /api/agents/{id}/reload  start  stop
GET  /api/events?topics=rooms/*,supervision  server-sent events, from ?since= or Last-Event-ID
POST /api/session                          {"token": "..."}: sets the cookie of the page
"""

_WEB = Path(__file__).with_name("web")
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@attrs.frozen
class Asset:
    """One file of the page, with its content type and its ETag."""

    data: bytes
    kind: str
    etag: str


def read_assets(folder: Path = _WEB) -> Mapping[str, Asset]:
    """Return name -> file of the page's folder; blocks. Only known kinds, none of a sub-folder.

    A request only ever looks a name up here: no path from outside meets the file system.
    """
    found = {}
    for path in sorted(folder.glob("*")):
        if path.suffix in _KINDS and path.is_file():
            data = path.read_bytes()
            etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
            found[path.name] = Asset(data, _KINDS[path.suffix], etag)
    return found


def is_same(etag: str, if_none_match: str | None) -> bool:
    """Return whether the browser holds this very version already."""
    held = {part.strip().removeprefix("W/") for part in (if_none_match or "").split(",")}
    return etag in held or "*" in held


# -- signing in -----------------------------------------------------------------------------------

# The fragment of the printed URL never reaches a server: only a script can hand the token in.
_SCRIPT = """\
const form = document.querySelector("form"), field = form.querySelector("input");
function say(name) {
  for (const line of document.querySelectorAll("[role=status] > *"))
    line.hidden = line.dataset.say !== name;
}
async function signIn(token) {
  say("wait");
  try {
    const answer = await fetch("/api/session", {method: "POST", body: JSON.stringify({token})});
    if (answer.ok) return location.replace("/");
    say(answer.status === 401 ? "wrong" : "gone");
  } catch {
    say("gone");
  }
  field.focus();
  field.select();
}
function fromAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (location.hash) history.replaceState(null, "", location.pathname);
  if (token) signIn(token);
  else field.focus();
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const found = /token=([^&\\s]+)/.exec(field.value);
  const token = found ? found[1] : field.value.trim();
  if (token) signIn(token);
});
addEventListener("hashchange", fromAddress);
fromAddress();
"""
_STYLE = """\
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; --ground: #f3f6f1;
  --sheet: #fff; --ink: #1c251f; --rule: #bcc8bd; --accent: #287446; --on: #fff; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ground: #101411; --sheet: #181d1a; --ink: #e5ece6;
  --rule: #3d4a42; --accent: #72c994; --on: #0b1810; --bad: #ff9d94; } }
* { box-sizing: border-box; }
body { margin: 0; padding: max(1rem, 12vh) 1rem 1rem; background: var(--ground);
  color: var(--ink); }
main { margin: 0 auto; padding: 1.5rem; max-width: 34rem; overflow-wrap: anywhere;
  border: 1px solid var(--rule); border-radius: 12px; background: var(--sheet); }
h1 { margin: 0; font-size: 1.375rem; color: var(--accent); }
label { display: block; font-weight: 600; }
input, button { font: inherit; padding: .5rem .8rem; border: 1px solid var(--rule);
  border-radius: 8px; background: var(--sheet); color: inherit; }
input { width: 100%; margin: .25rem 0 .75rem; }
button { border-color: var(--accent); background: var(--accent); color: var(--on);
  font-weight: 600; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
[role=status] { min-height: 1.5em; margin-bottom: 0; }
[role=status] strong { color: var(--bad); }
"""
_BODY = """\
<!doctype html>
<html lang="{locale}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>vivero</title>
<link rel="icon" href="data:,">
<style>{style}</style>
<main>
<h1>vivero</h1>
<p>{open}</p>
<form>
<label for="token">{label}</label>
<input id="token" name="token" autocomplete="off" autocapitalize="off" spellcheck="false" required>
<button>{enter}</button>
</form>
<p role="status"><span data-say="wait" hidden>{wait}</span>\
<strong data-say="wrong" hidden>{wrong}</strong>\
<strong data-say="gone" hidden>{gone}</strong></p>
<noscript><p>{noscript}</p></noscript>
</main>
<script>{script}</script>
</html>
"""
_WORDS = ("open", "label", "enter", "wait", "wrong", "gone", "noscript")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_SIGN_IN_POLICY = (
    f"default-src 'none'; script-src 'sha256-{_digest(_SCRIPT)}'; "
    f"style-src 'sha256-{_digest(_STYLE)}'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def sign_in_html(texts: Texts) -> str:
    """Return the sign-in page in one language; nothing of the request is in it."""
    words = {word: texts(f"sign_in {word}") for word in _WORDS}
    return _BODY.format(locale=texts.locale, style=_STYLE, script=_SCRIPT, **words)


def sign_in_page(texts: Texts) -> App:
    """Return the app that answers 401 with the page that turns a token into the cookie."""

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        data = sign_in_html(texts).encode()
        headers = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-length", str(len(data)).encode()),
            (b"content-security-policy", _SIGN_IN_POLICY.encode()),
        ]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": data})

    return answer
