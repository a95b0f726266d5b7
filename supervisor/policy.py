"""Pure: whether a child that ended starts again, when, and who is restarted along with it.

All counting lives here: one sliding window of failures and one backoff streak per child. No clock
and no randomness: instants (monotonic seconds) and the jitter's draw arrive with the event.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import attrs

__all__ = [
    "Action",
    "Backoff",
    "Decision",
    "Ended",
    "Escalate",
    "Exhausted",
    "Finish",
    "How",
    "Intensity",
    "PolicyState",
    "Quarantine",
    "Restart",
    "RestartAfter",
    "Rules",
    "Strategy",
    "affected",
    "decide",
    "delay_before",
]


class Strategy(enum.Enum):
    """Who is restarted when one child fails."""

    ONE_FOR_ONE = "one_for_one"
    ONE_FOR_ALL = "one_for_all"
    REST_FOR_ONE = "rest_for_one"


class Restart(enum.Enum):
    """Which ends of a child are followed by a restart: all, failures only, none."""

    PERMANENT = "permanent"
    TRANSIENT = "transient"
    TEMPORARY = "temporary"


class Exhausted(enum.Enum):
    """What becomes of a child that has spent its restarts."""

    ESCALATE = "escalate"
    QUARANTINE = "quarantine"


@attrs.frozen
class Intensity:
    """At most `max_restarts` restarts within `window` seconds."""

    max_restarts: int = 5
    window: float = 60.0

    def __attrs_post_init__(self) -> None:
        if self.max_restarts < 0:
            raise ValueError(f"max_restarts must be 0 or more, not {self.max_restarts}")
        if not 0 < self.window < math.inf:
            raise ValueError(f"window must be a positive number of seconds, not {self.window}")


@attrs.frozen
class Backoff:
    """Wait `initial * factor**n` seconds, at most `maximum`, give or take the fraction `jitter`."""

    initial: float = 0.1
    factor: float = 2.0
    maximum: float = 5.0
    jitter: float = 0.1

    def __attrs_post_init__(self) -> None:
        if not 0 <= self.initial <= self.maximum < math.inf:
            raise ValueError(
                f"backoff needs 0 <= initial <= maximum, not {self.initial} and {self.maximum}"
            )
        if not 1 <= self.factor < math.inf:
            raise ValueError(f"backoff factor must be 1 or more, not {self.factor}")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"backoff jitter must lie in 0..1, not {self.jitter}")


_INTENSITY, _BACKOFF = Intensity(), Backoff()


@attrs.frozen
class Rules:
    """What one child's policy is made of.

    Raises ValueError when the longest pause would let failures leave the window as fast as they
    enter it: the limit could then never be reached.
    """

    restart: Restart = Restart.PERMANENT
    intensity: Intensity = _INTENSITY
    backoff: Backoff = _BACKOFF
    exhausted: Exhausted = Exhausted.ESCALATE

    def __attrs_post_init__(self) -> None:
        most = self.intensity.window / (self.intensity.max_restarts + 1)
        if self.backoff.maximum > most:
            raise ValueError(
                f"backoff maximum {self.backoff.maximum:g} s is more than window / "
                f"(max_restarts + 1) = {most:g} s: the restart limit could never be reached"
            )


class How(enum.Enum):
    """How a generation ended when nobody had asked it to."""

    RETURNED = "returned"
    CRASHED = "crashed"
    START_FAILED = "start_failed"


@attrs.frozen
class Ended:
    """A generation is over: it began at `began`, was ready at `ready` (None: never).

    `draw` is a uniform number in 0..1 that decides the jitter.
    """

    how: How
    began: float
    ready: float | None = None
    draw: float = 0.5


@attrs.frozen
class PolicyState:
    """Failures inside the window, oldest first, and failures since the last healthy period."""

    failures: tuple[float, ...] = ()
    streak: int = 0


@attrs.frozen
class RestartAfter:
    """Start the next generation in `delay` seconds."""

    delay: float


@attrs.frozen
class Finish:
    """The child is done and stays down."""


@attrs.frozen
class Quarantine:
    """The child has spent its restarts; it stays down until a person revives it."""


@attrs.frozen
class Escalate:
    """The child has spent its restarts; its supervisor must give up too."""


Action = RestartAfter | Finish | Quarantine | Escalate


@attrs.frozen
class Decision:
    """The state to keep and what to do now."""

    state: PolicyState
    action: Action


def decide(rules: Rules, state: PolicyState, event: Ended, now: float) -> Decision:
    """Decide what follows the end of a generation at instant `now`.

    A generation that stayed ready for a whole window clears the backoff. Time spent in a start that
    failed does not age the window, else starts that hang would never spend the restarts.
    """
    if not _restarts(rules.restart, event.how):
        return Decision(state, Finish())
    counted = _count(rules.intensity, state, event, now)
    if len(counted.failures) > rules.intensity.max_restarts:
        quarantined = rules.exhausted is Exhausted.QUARANTINE
        return Decision(counted, Quarantine() if quarantined else Escalate())
    delay = delay_before(rules.backoff, counted.streak, event.draw)
    return Decision(counted, RestartAfter(delay))


def _restarts(restart: Restart, how: How) -> bool:
    if restart is Restart.PERMANENT:
        return True
    return restart is Restart.TRANSIENT and how is not How.RETURNED


def _count(intensity: Intensity, state: PolicyState, event: Ended, now: float) -> PolicyState:
    healthy = event.ready is not None and now - event.ready >= intensity.window
    lost = now - event.began if event.ready is None else 0.0
    oldest = now - intensity.window
    kept = tuple(at + lost for at in state.failures if at + lost > oldest)
    return PolicyState((*kept, now), 1 if healthy else state.streak + 1)


def delay_before(backoff: Backoff, streak: int, draw: float) -> float:
    """Return the pause in seconds before restart number `streak` (1, 2, ...) of a run of failures.

    Jitter spreads the pause but never lifts it over the maximum, which the rules rely on.
    """
    if backoff.initial == 0:
        return 0.0
    spread = 1 + backoff.jitter * (2 * draw - 1)
    # Compared as logarithms first: a long streak of a large factor overflows a float.
    room = math.log(backoff.maximum) - math.log(backoff.initial)
    if (streak - 1) * math.log(backoff.factor) >= room:
        return min(backoff.maximum, backoff.maximum * spread)
    return min(backoff.maximum, backoff.initial * backoff.factor ** (streak - 1) * spread)


def affected(strategy: Strategy, names: Sequence[str], failed: str) -> tuple[str, ...]:
    """Return who is stopped and started again when `failed` fails, in start order, itself included.

    Raises ValueError when `failed` is not among `names`.
    """
    index = names.index(failed)
    if strategy is Strategy.ONE_FOR_ONE:
        return (failed,)
    return tuple(names[index:] if strategy is Strategy.REST_FOR_ONE else names)
