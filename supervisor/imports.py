"""`import-reminders`: the reminders of another bot, taken into a workspace where nothing runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs
import click
import trio

from channels.clock import SystemClock
from config.problems import ConfigError
from config.schema import AgentConfig, RoomConfig, SupervisorConfig
from config.workspace import Workspace
from cronactor.foreign import Foreign, read_foreign
from cronactor.health import Health
from cronactor.importing import Imported, Importing, Place
from cronactor.opening import open_store
from cronactor.spoken import describe
from cronactor.texts import Explained, say
from supervisor.lock import Lock, LockedError
from supervisor.plan import read_workspace

__all__ = ["import_reminders"]

OK, FAILED, BAD_CONFIG, OWNED = 0, 1, 2, 3


def import_reminders(workspace: Workspace, file: Path, room: str | None, agent: str | None) -> int:
    """Take in what `file` holds, into `room` if given; print what became of each row.

    Returns the exit code: 0 once the file was gone through, 1 unreadable or unknown, 2 a room or
    agent that is not there, 3 a supervisor runs on this workspace. Raises ConfigError.
    """
    plan = read_workspace(workspace)
    if plan.broken:
        raise ConfigError([problem for found in plan.broken.values() for problem in found])
    config = plan.supervisor.value
    agents = {id: loaded.value for id, loaded in plan.agents.items()}
    rooms = {name: one for one in config.rooms for name in (one.id, one.alias) if name}
    if room is not None and room not in rooms:
        return _fail(say("import_no_room", config.locale, room=room), BAD_CONFIG)
    if agent is not None and agent not in agents:
        return _fail(say("import_no_agent", config.locale, agent=agent), BAD_CONFIG)
    try:
        foreign = read_foreign(file, config.timezone, SystemClock().now())
    except Explained as why:
        return _fail(f"{file}: {why.say(config.locale)}", FAILED)
    places = _Places(rooms, agents, room, agent)
    workspace.ensure_private_dirs()
    try:
        store = workspace.reminders_db(config)
        with Lock(workspace.lock_file), Lock(store.with_name(store.name + ".lock")):
            results = trio.run(_take, store, config, places, foreign)
    except LockedError:
        return _fail(say("import_owned", config.locale), OWNED)
    _tell(foreign, results, config.locale)
    return OK


@attrs.frozen
class _Places:
    """Which of our rooms a foreign one becomes, and which agent speaks there."""

    rooms: Mapping[str, RoomConfig]
    agents: Mapping[str, AgentConfig]
    into: str | None
    agent: str | None

    def __call__(self, foreign: str) -> Place | None:
        room = self.rooms.get(self.into or foreign)
        if room is None:
            return None
        fit = [id for id in room.participants if id in self.agents]
        able = [id for id in fit if self.agents[id].tools.reminders.enabled]
        agent = next(iter(able or fit), None) if self.agent is None else self.agent
        if agent not in fit:
            raise Explained("import_not_there", agent=agent or "-", room=room.id)
        return Place(agent, room.id, self.agents[agent].tools.reminders.max_per_room)


async def _take(
    path: Path, config: SupervisorConfig, places: _Places, foreign: Foreign
) -> tuple[Imported, ...]:
    clock = SystemClock()
    store = await open_store(path, Health(), clock)
    try:
        importing = Importing(
            store=store,
            zones=store.zonebook(config.timezone, lambda room: None),
            place=places,
            person=_local if config.transport == "local" else str,
            now=clock.now(),
            locale=config.locale,
        )
        return tuple(await importing.take(foreign))
    finally:
        await store.close()


def _local(user: str) -> str:
    """`@ana:example.org` is `@ana` in rooms of this process."""
    return user.partition(":")[0]


def _tell(foreign: Foreign, results: tuple[Imported, ...], locale: str) -> None:
    counts = dict.fromkeys(("taken", "known", "left"), 0)
    for result in results:
        counts[result.outcome] += 1
        click.echo(_line(result, locale))
    click.echo(say("import_done", locale, bot=foreign.bot, **counts))


def _line(result: Imported, locale: str) -> str:
    message = " ".join(result.row.message.split())[:80]
    reminder, why = result.reminder, result.why
    if why is not None:
        return say("import_left", locale, message=message, why=why.say(locale))
    assert reminder is not None
    due = reminder.next_due
    when = describe(due, reminder.timezone, locale) if due is not None else reminder.state
    line = say(
        f"import_{result.outcome}", locale, message=message, when=when, room=reminder.room,
        user=reminder.user, id=reminder.id,
    )  # fmt: skip
    return f"{line} {say('import_alarm', locale)}" if result.row.alarm else line


def _fail(text: str, code: int) -> int:
    click.echo(f"error: {text}", err=True)
    return code
