"""Pure: from what people call a place to an IANA time zone; what is not certain is an error."""

from __future__ import annotations

import difflib
import unicodedata
import zoneinfo
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

__all__ = ["PlaceUnknown", "zone_of"]

_ALIASES: Final[Mapping[str, str]] = {
    # Names that the zone database spells otherwise, or countries that keep one time.
    "alemania": "Europe/Berlin", "germany": "Europe/Berlin", "argel": "Africa/Algiers",
    "argentina": "America/Argentina/Buenos_Aires", "atenas": "Europe/Athens",
    "barcelona": "Europe/Madrid", "bilbao": "Europe/Madrid", "sevilla": "Europe/Madrid",
    "valencia": "Europe/Madrid", "espana peninsular": "Europe/Madrid", "boston": "America/New_York",
    "belgica": "Europe/Brussels", "belgium": "Europe/Brussels", "berna": "Europe/Zurich",
    "bruselas": "Europe/Brussels", "bucarest": "Europe/Bucharest", "canarias": "Atlantic/Canary",
    "ciudad de mexico": "America/Mexico_City", "cdmx": "America/Mexico_City",
    "colombia": "America/Bogota", "copenhague": "Europe/Copenhagen", "corea": "Asia/Seoul",
    "china": "Asia/Shanghai", "pekin": "Asia/Shanghai", "beijing": "Asia/Shanghai",
    "el cairo": "Africa/Cairo", "estambul": "Europe/Istanbul", "estocolmo": "Europe/Stockholm",
    "filadelfia": "America/New_York", "france": "Europe/Paris", "francia": "Europe/Paris",
    "ginebra": "Europe/Zurich", "geneva": "Europe/Zurich", "grecia": "Europe/Athens",
    "greece": "Europe/Athens", "la habana": "America/Havana", "hawai": "Pacific/Honolulu",
    "hawaii": "Pacific/Honolulu", "india": "Asia/Kolkata", "nueva delhi": "Asia/Kolkata",
    "new delhi": "Asia/Kolkata", "bombay": "Asia/Kolkata", "mumbai": "Asia/Kolkata",
    "irlanda": "Europe/Dublin", "ireland": "Europe/Dublin", "italia": "Europe/Rome",
    "italy": "Europe/Rome", "milan": "Europe/Rome", "japon": "Asia/Tokyo", "japan": "Asia/Tokyo",
    "tokio": "Asia/Tokyo", "osaka": "Asia/Tokyo", "jerusalen": "Asia/Jerusalem",
    "lisboa": "Europe/Lisbon", "londres": "Europe/London", "reino unido": "Europe/London",
    "inglaterra": "Europe/London", "england": "Europe/London", "united kingdom": "Europe/London",
    "uk": "Europe/London", "miami": "America/New_York", "washington": "America/New_York",
    "moscu": "Europe/Moscow", "munich": "Europe/Berlin", "nueva york": "America/New_York",
    "nyc": "America/New_York", "paises bajos": "Europe/Amsterdam", "peru": "America/Lima",
    "polonia": "Europe/Warsaw", "poland": "Europe/Warsaw", "praga": "Europe/Prague",
    "rio de janeiro": "America/Sao_Paulo", "roma": "Europe/Rome", "san francisco":
    "America/Los_Angeles", "seattle": "America/Los_Angeles", "california": "America/Los_Angeles",
    "seul": "Asia/Seoul", "singapur": "Asia/Singapore", "suiza": "Europe/Zurich",
    "switzerland": "Europe/Zurich", "varsovia": "Europe/Warsaw", "venezuela": "America/Caracas",
    "viena": "Europe/Vienna",
}  # fmt: skip


class PlaceUnknown(ValueError):
    """A place that names no zone, or several; `near` holds zones that may be meant."""

    def __init__(self, place: str, near: tuple[str, ...]) -> None:
        super().__init__(place)
        self.place = place
        self.near = near


def zone_of(place: str) -> str:
    """Return the IANA zone of a zone's name, of its city, or of a place known by another name.

    Case and accents do not matter. Raises PlaceUnknown.
    """
    key = _plain(place)
    zones = _zones()
    if key in zones:
        return zones[key]
    if key in _ALIASES:
        return _ALIASES[key]
    found = _cities().get(key, ())
    if len(found) == 1:
        return found[0]
    near = found or tuple(_near(key))
    raise PlaceUnknown(" ".join(place.split())[:80], near)


def _near(key: str) -> list[str]:
    known = {**_zones(), **{city: zones[0] for city, zones in _cities().items()}, **_ALIASES}
    close = difflib.get_close_matches(key[:80], known, n=3, cutoff=0.75)
    return list(dict.fromkeys(known[name] for name in close))


def _plain(text: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return " ".join(bare.casefold().replace("_", " ").split()).strip(" .,?!¿¡")


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    return {_plain(name): name for name in sorted(zoneinfo.available_timezones())}


@lru_cache(maxsize=1)
def _cities() -> dict[str, tuple[str, ...]]:
    """City to its zones. Several names of one zone (`America/Louisville`) count once."""
    cities: dict[str, dict[str, str]] = {}
    for name in _zones().values():
        area, _, city = name.rpartition("/")
        if area and area.split("/")[0] not in ("Etc", "SystemV", "posix", "right", "US"):
            cities.setdefault(_plain(city), {})[area] = name
    return {city: _without_old_names(areas) for city, areas in cities.items()}


def _without_old_names(areas: Mapping[str, str]) -> tuple[str, ...]:
    """Old names lack the middle part: `America/Indianapolis`, `America/Indiana/Indianapolis`."""
    full = [name for area, name in areas.items() if not _has_longer(area, areas)]
    return tuple(full)


def _has_longer(area: str, areas: Mapping[str, str]) -> bool:
    return any(other.startswith(f"{area}/") for other in areas)
