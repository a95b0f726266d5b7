"""What `/` shows: a list of what exists, and, without the token, the small page that signs in."""

from __future__ import annotations

import base64
import hashlib

from supervisor.desk.boundary import Receive, Scope, Send

__all__ = ["FRONT_PAGE", "sign_in_page"]

FRONT_PAGE = """\
vivero

GET  /healthz  /readyz  /metrics           open, no token
GET  /api/status  /api/tree  /api/rooms
GET  /api/rooms/{room}/messages?limit=50
POST /api/rooms/{room}/messages            {"text": "...", "as": "ana", "as_bot": false}
GET  /api/why/{event_id}
GET  /api/reminders?room=...&all=1
GET  /api/cron  /api/cron/runs?schedule=AGENT/NAME
POST /api/cron/run                         {"schedule": "AGENT/NAME"}
POST /api/reload                           {"agents": ["id", ...]}, or {} for all
POST /api/agents/{id}/reload  start  stop
GET  /api/events?topics=rooms/*,supervision  server-sent events, from ?since= or Last-Event-ID
POST /api/session                          {"token": "..."}: sets the cookie of this page
"""

# The fragment of the printed URL never reaches a server: only a script can hand the token in.
_SCRIPT = """\
const token = new URLSearchParams(location.hash.slice(1)).get("token");
history.replaceState(null, "", location.pathname);
if (token) fetch("/api/session", {method: "POST", body: JSON.stringify({token})})
  .then((answer) => { if (answer.ok) location.reload(); });
"""
_HTML = f"""\
<!doctype html>
<html lang="es">
<meta charset="utf-8">
<title>vivero</title>
<p>Abre la dirección completa de <code>run/web.url</code>: lleva el token.</p>
<p lang="en">Open the whole address in <code>run/web.url</code>: it carries the token.</p>
<script>{_SCRIPT}</script>
</html>
""".encode()
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; script-src 'sha256-{_DIGEST}'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


async def sign_in_page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 401 with the page that turns the URL's fragment into the session cookie."""
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(_HTML)).encode()),
        (b"content-security-policy", _POLICY.encode()),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": _HTML})
