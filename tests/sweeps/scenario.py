"""What the sweeps live through: people, two agents, reminders, schedules, and a reload."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import structlog
import trio
import trio.testing

from actors.llm import replay
from channels.crashpoints import set_crash_hook
from channels.messages import Reload
from config import loading
from config.document import Document
from config.workspace import Workspace
from supervisor.reload import take_request
from supervisor.services import Services, open_services
from supervisor.testkit.clock import VirtualClock
from supervisor.testkit.house import TestHouse, make_workspace, open_house
from supervisor.testkit.orders import seeded_order
from supervisor.warden import ADDRESS as WARDEN

__all__ = [
    "BEGINNING",
    "LINES",
    "REMINDERS",
    "Life",
    "Line",
    "leanly",
    "live",
    "prepare",
    "with_tables",
]

BEGINNING = 1_775_000_000.0
"""Twenty seconds past a minute (UTC), so that the first schedules are due after forty."""
RELOAD_AT = 6.0
LEAST_SECONDS = 50.0
BETWEEN_LOOKS, LOOKS = 5.0, 180
DOWN_SECONDS = 2.0

LONG = "x" * 12_001


@attrs.frozen
class Line:
    """Something a person says, and what must become of it.

    `at`: seconds after the beginning. `name`: its transaction id: whoever is unsure whether it was
    heard says it again under the same one. `answer`: all that the agents say to it, where known.
    """

    name: str
    at: float
    room: str
    text: str
    ends: str = "answered"
    answer: tuple[str, ...] | None = None
    sender: str = "ana"


LINES = (
    Line("hola", 0, "#taller", "@asistente hola", answer=("Buenas, aquí estoy.",)),
    Line("apunta", 0, "#jardin", "@asistente apunta", answer=("Apuntado lo de regar.",)),
    Line("hora", 1, "#taller", "@devops ¿qué hora es?", sender="bea"),
    Line("consulta", 2, "#jardin", "@asistente consulta", answer=("Consultado con devops.",)),
    Line("poda", 3, "#jardin", "@devops recuérdame en 40 segundos que pode el seto"),
    Line("piensa", 4, "#taller", "@asistente piensa", answer=("Pensado.",)),
    Line("largo", 5, "#jardin", "@asistente cuenta", answer=(LONG[:12_000], "xx fin")),
    Line("solo", 8, "#solo", "¿alguien me oye?", sender="bea", answer=("Yo te oigo.",)),
    Line("rompe", 9, "#jardin", "@asistente rompe", ends="dead_letter", answer=()),
)

REMINDERS = {"riegue los tomates": "asistente", "pode el seto": "devops"}
"""What is to be remembered, and who says it."""

SCRIPT = f"""\
- match: hola
  rounds: [[text: "Buenas, aquí estoy."]]
- match: apunta
  rounds:
    - - text: "Voy."
      - delay: 0.2
      - tool:
          name: create_reminder
          args: {{message: riegue los tomates, time: en 30 segundos}}
    - [text: "Apuntado lo de regar."]
- match: consulta
  rounds:
    - - tool: {{name: ask_agent, args: {{agent: devops, question: "¿qué hora es?"}}}}
    - [text: "Consultado con devops."]
- match: piensa
  attempt: 1
  rounds: [[delay: 60, text: "Demasiado tarde."]]
- match: piensa
  rounds: [[text: "Pensado."]]
- match: cuenta
  rounds: [[text: "{LONG}x fin"]]
- match: me oye
  rounds: [[text: "Yo te oigo."]]
- match: rompe
  rounds: [[crash: roto]]
- rounds: [[no_reply: true]]
"""

SUPERVISOR = """\
timezone: Europe/Madrid
supervision: {grace_seconds: 1, stop_seconds: 3}
rooms:
  - id: "#taller"
    participants: [asistente, devops]
    respond_to_bots: true
    cooldown_applies_to: bots
  - id: "#jardin"
    participants: [asistente, devops]
    cooldown_applies_to: bots
  - id: "#solo"
    participants: [asistente]
"""

ASISTENTE = """\
description: ayuda
llm: {provider: replay, script: script.yaml}
prompt: prompt.md
tools: {reminders: {enabled: true}}
schedules:
  - name: latido
    cron: "* * * * *"
    output_room: "#jardin"
    action: {kind: send_message, message: "Sigo aquí."}
  - name: pulso
    cron: "*/2 * * * *"
    output_room: "#taller"
    action: {kind: agent_call, target_agent: devops, prompt: "¿qué hora es?"}
"""

RELOADED = """\
  - name: nuevo
    cron: "* * * * *"
    output_room: "#jardin"
    action: {kind: send_message, message: "Recargado."}
"""

DEVOPS = """\
description: servidores
prompt: prompt.md
tools: {reminders: {enabled: true}}
"""


def prepare(folder: Path) -> Workspace:
    """Write the workspace of the scenario into a folder."""
    files = {
        "supervisor.yaml": SUPERVISOR,
        "agents/asistente/config.yaml": ASISTENTE,
        "agents/asistente/script.yaml": SCRIPT,
        "agents/devops/config.yaml": DEVOPS,
    }
    return with_tables(make_workspace(folder, files))


def with_tables(workspace: Workspace) -> Workspace:
    """Make the databases of a workspace, whose tables take a third of a short life's start."""
    trio.run(_make_tables, workspace)
    return workspace


async def _make_tables(workspace: Workspace) -> None:
    config = loading.load_supervisor(workspace).value
    async with open_services(workspace, config, threaded=False):
        pass


@contextmanager
def leanly() -> Iterator[None]:
    """Within the block log only what is critical, and parse each text of YAML (pure) only once."""
    before = structlog.get_config()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        cache_logger_on_first_use=False,
    )
    modules: list[tuple[Any, str]] = [(replay, "parse_script"), (loading, "parse")]
    parsers = [getattr(module, name) for module, name in modules]
    for (module, name), parser in zip(modules, parsers, strict=True):
        setattr(module, name, _once_a_text(parser))
    try:
        yield
    finally:
        for (module, name), parser in zip(modules, parsers, strict=True):
            setattr(module, name, parser)
        structlog.configure(**before)


def _once_a_text(parse: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    """`parse(text, file)`, made once a text; a document still knows which file it was read from."""
    known: dict[str, Any] = {}

    def read(text: str, file: str) -> Any:
        if text not in known:
            known[text] = parse(text, file)
        found = known[text]
        return attrs.evolve(found, file=file) if isinstance(found, Document) else found

    return read


@attrs.define(eq=False)
class Life:
    """One process on the workspace: it says its lines, reloads, and goes on until all is settled.

    `begins`: its civil time at the start. `strike(life, point)` is called at each crash point;
    it may raise, kill, or cancel `scope`, which holds the whole house.
    """

    workspace: Workspace
    begins: float = BEGINNING
    strike: Callable[[Life, str], None] | None = None
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    settled: bool = False
    clock: VirtualClock = attrs.field(init=False)
    latest: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.clock = VirtualClock(base=self.begins)
        self.latest = self.begins

    @property
    def next_begins(self) -> float:
        """The civil time at which a life after this one can begin."""
        return self.latest + DOWN_SECONDS

    async def run(self) -> None:
        """Live; ends by itself when all is settled, or when too much time has passed."""
        with self.scope:
            async with open_house(self.workspace, clock=self.clock) as house:
                async with trio.open_nursery() as people:
                    for line in LINES:
                        people.start_soon(self._say, house, line)
                    people.start_soon(self._reload, house)
                await self._settle(house)

    def point(self, name: str) -> None:
        """Note the time, and be struck, at a crash point."""
        self.latest = max(self.latest, self.clock.now())
        if self.strike is not None:
            self.strike(self, name)

    async def _until(self, at: float) -> None:
        await trio.sleep(max(0.0, BEGINNING + at - self.clock.now()))

    async def _say(self, house: TestHouse, line: Line) -> None:
        await self._until(line.at)
        rooms = house.household.services.rooms
        await rooms.post(line.room, line.sender, line.text, txn_id=line.name)

    async def _reload(self, house: TestHouse) -> None:
        """As a person does: edit, name the agent, send SIGHUP. Who has edited does not again."""
        await self._until(RELOAD_AT)
        config = self.workspace.agent_yaml("asistente")
        if RELOADED in config.read_text():
            return
        config.write_text(ASISTENTE + RELOADED)
        self.workspace.reload_txt.write_text("asistente\n")
        request = Reload(take_request(self.workspace))
        await house.household.services.bus.ask(WARDEN, request, timeout=60)

    async def _settle(self, house: TestHouse) -> None:
        await self._until(LEAST_SECONDS)
        for _ in range(LOOKS):
            self.settled = not await _unsettled(house.household.services)
            if self.settled:
                return
            await trio.sleep(BETWEEN_LOOKS)


async def _unsettled(services: Services) -> bool:
    return bool(
        await services.inbox.open_slots()
        or (await services.outbox.statistics()).pending
        or await services.reminders.load_active()
        or await services.reminders.ledger.unfinished()
    )


def live(life: Life, *, seed: int = 0, instruments: Sequence[trio.abc.Instrument] = ()) -> float:
    """Run a life to its end under a seeded task order; return when the next one can begin.

    Raises what the life raises.
    """
    previous = set_crash_hook(life.point)
    try:
        with seeded_order(seed):
            clock = trio.testing.MockClock(autojump_threshold=0)
            trio.run(life.run, clock=clock, instruments=instruments)
    finally:
        set_crash_hook(previous)
    return life.next_begins
