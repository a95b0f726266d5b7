"""Thousands of random expressions around clock changes fire exactly as Debian's cron fires them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice, pairwise

import attrs
import pytest

from cronactor.schedule import fires, parse_cron
from cronactor.texts import CronError
from cronactor.zones import get_zone, wall
from tests.cronactor import oracle

ZONES = {  # years of ./dev test, years of ./dev soak
    "Europe/Madrid": ((2025, 2027), (1996, 2037)),
    "America/New_York": ((2006, 2008), (1990, 2037)),
    "Australia/Lord_Howe": ((2025, 2027), (1985, 2037)),
    "Africa/Casablanca": ((2025, 2027), (2008, 2037)),
    "America/Sao_Paulo": ((2016, 2019), (1985, 2019)),
    "Asia/Kolkata": ((1941, 1945), (1941, 1945)),
}
DAYS = 800  # how far the oracle looks
REUSED = 10  # instants for each expression


@attrs.frozen
class Triple:
    expr: str
    zone: str
    after: float


class Generator:
    """Random expressions that like the hours, days and months near a clock change."""

    def __init__(self, seed: int, *, soak: bool = False) -> None:
        self.rng = random.Random(seed)
        self.soak = soak

    def triples(self, count: int) -> Iterator[Triple]:
        made = 0
        while made < count:
            zone = self.rng.choice(list(ZONES))
            turn = self.rng.choice(oracle.turns(zone, *ZONES[zone][self.soak]))
            expr = self.expression(oracle.local_minute(zone, turn * 60 + 60 * self.near(90)))
            for _ in range(min(REUSED, count - made)):
                yield Triple(expr, zone, self.instant(turn))
                made += 1

    def near(self, spread: float) -> int:
        return round(self.rng.gauss(0, spread))

    def instant(self, turn: int) -> float:
        """Mostly hours from the change, at times on a whole minute or days away."""
        away = self.rng.choice([0, 30, 90, 90, 600, 600, 3000])
        part = self.rng.choice([0.0, 0.0, 0.25, 59.999, self.rng.uniform(0, 60)])
        return turn * 60 + self.near(away) * 60 + part

    def expression(self, local: int) -> str:
        day, minute = divmod(local, 1440)
        when = datetime.fromtimestamp(day * 86400, UTC)
        if self.rng.random() < 0.02:
            return self.rng.choice(sorted(oracle.SHORTHANDS))
        fields = [
            self.field(0, 59, minute % 60, stars=0.25),
            self.field(0, 23, minute // 60, stars=0.3),
            self.day_of_month(when),
            self.field(1, 12, when.month, stars=0.85, names=oracle.MONTHS, first=1),
            self.day_of_week(when),
        ]
        return " ".join(self.rng.choice([str, str, str, str.upper])(field) for field in fields)

    def day_of_month(self, when: datetime) -> str:
        if self.rng.random() < 0.06:
            return self.rng.choice(["l", f"{self.rng.randint(1, 31)}w", f"{when.day}W"])
        return self.field(1, 31, when.day, stars=0.7)

    def day_of_week(self, when: datetime) -> str:
        day = when.isoweekday() % 7
        if self.rng.random() < 0.06:
            name = self.rng.choice([str(day), oracle.WEEKDAYS[day], "7"])
            return self.rng.choice([f"{name}l", f"L{name}", f"{name}#{self.rng.randint(1, 5)}"])
        return self.field(0, 7, day, stars=0.65, names=oracle.WEEKDAYS)

    def field(
        self,
        low: int,
        high: int,
        liked: int,
        *,
        stars: float,
        names: list[str] | None = None,
        first: int = 0,
    ) -> str:
        if self.rng.random() < stars:
            return self.rng.choice(["*", "*", "*", f"*/{self.rng.randint(1, high + 2)}"])

        def number() -> int:
            return liked if self.rng.random() < 0.5 else self.rng.randint(low, high)

        def word(value: int) -> str:
            spelled = names and value - first < len(names) and self.rng.random() < 0.3
            return names[value - first] if names and spelled else str(value)

        def part() -> str:
            if self.rng.random() < 0.6:
                return word(number())
            begin, end = sorted((number(), number()))
            step = f"/{self.rng.randint(1, 9)}" if self.rng.random() < 0.3 else ""
            return f"{word(begin)}-{word(end)}{step}"

        return ",".join(part() for _ in range(self.rng.choice([1, 1, 1, 2, 3])))


def agree(triple: Triple, steps: int = 1) -> str:
    """Compare the next fires of a triple; returns whether there were as many, fewer or none."""
    cron = oracle.expression(triple.expr)
    try:
        parse_cron(triple.expr)
    except CronError as error:
        assert error.key == "cron_never", (triple, str(error))
        assert oracle.first_fire(cron, triple.zone, triple.after, DAYS) is None, triple
        return "never"
    after, count = triple.after, 0
    for instant in islice(fires(triple.expr, triple.zone, after), steps):
        expected = oracle.first_fire(cron, triple.zone, after, DAYS)
        if expected is None:
            assert instant > after + (DAYS - 2) * 86400, (triple, instant)
            break
        assert instant == expected * 60, (triple, instant, expected * 60)
        after, count = instant, count + 1
    return "agreed" if count == steps else "rare"


@pytest.mark.promise("P2")
@pytest.mark.sweep
def test_every_random_triple_around_clock_changes_agrees_with_debians_rule(
    seed: int, size: Callable[[int, int], int], figures: Callable[..., None]
) -> None:
    large = size(0, 1) == 1
    found = {"agreed": 0, "rare": 0, "never": 0}
    for triple in Generator(seed, soak=large).triples(size(6_000, 100_000)):
        found[agree(triple)] += 1
    assert found["agreed"] > 10 * (found["rare"] + found["never"])
    figures(**found)


@pytest.mark.promise("P2")
@pytest.mark.sweep
def test_fires_increase_exist_and_a_fixed_job_never_runs_twice_on_one_local_time(
    seed: int, size: Callable[[int, int], int], figures: Callable[..., None]
) -> None:
    large = size(0, 1) == 1
    triples = list(Generator(seed + 1, soak=large).triples(size(400, 20_000)))
    for triple in triples:
        zone, cron = get_zone(triple.zone), oracle.expression(triple.expr)
        try:
            found = list(islice(fires(triple.expr, triple.zone, triple.after), 12))
        except CronError as error:
            assert error.key == "cron_never"
            continue
        assert triple.after < found[0], triple
        assert all(sooner < later for sooner, later in pairwise(found)), triple
        said = [wall(instant, zone) for instant in found]
        for instant, local in zip(found, said, strict=True):
            exists = {local.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1)}
            assert instant in exists, triple
        assert cron.wild or len(set(said)) == len(said), triple
    figures(triples=len(triples))
