"""Pure: who may talk to the loopback port. Names and tokens are compared here and nowhere else."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping

__all__ = [
    "bearer",
    "cookie_name",
    "cookie_token",
    "host_is_loopback",
    "is_loopback",
    "origin_is_ours",
    "same_token",
    "site_is_ours",
]


def is_loopback(name: str) -> bool:
    """Return whether a host name or address (no port, no brackets) can only mean this machine."""
    if name.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def host_is_loopback(host: str | None) -> bool:
    """Return whether a Host header names this machine.

    A page whose own name resolves to 127.0.0.1 (DNS rebinding) still sends its own name here.
    """
    if not host:
        return False
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return False
        port = port[1:]
    else:
        name, _, port = host.partition(":")
    return (not port or (port.isascii() and port.isdigit())) and is_loopback(name)


def origin_is_ours(origin: str | None, host: str | None) -> bool:
    """Return whether a request comes from our own page, or from no page at all (no Origin).

    The port counts: cookies do not know ports, so `SameSite` alone would trust any local server.
    """
    return origin is None or (host is not None and origin.lower() == f"http://{host.lower()}")


def site_is_ours(headers: Mapping[str, str]) -> bool:
    """Return False when a browser says that another site's page makes it fetch from us.

    Opening a link to us is allowed: the strict cookie stays at home then.
    """
    site = headers.get("sec-fetch-site", "none")
    return site in ("none", "same-origin") or headers.get("sec-fetch-mode") == "navigate"


def same_token(given: str | None, token: str) -> bool:
    """Compare a token in constant time. None and "" never match."""
    if not given or not token:
        return False
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def bearer(authorization: str | None) -> str | None:
    """Return the token of an `Authorization: Bearer TOKEN` header, or None."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def cookie_name(port: int) -> str:
    """Return the session cookie's name: cookies are shared between ports, so the port is in it."""
    return f"vivero_{port}"


def cookie_token(cookie: str | None, name: str) -> str | None:
    """Return one cookie of a Cookie header, or None. A neighbour's odd cookie is skipped."""
    for part in (cookie or "").split(";"):
        key, equals, value = part.strip().partition("=")
        if equals and key == name:
            return value.strip('"')
    return None
