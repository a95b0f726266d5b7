"""From a workspace to a running tree: locks, configuration, services, signals, the exit code."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import attrs
import structlog
import trio

from actors.orchestrator import Orchestrator
from channels.database_errors import DatabaseError
from channels.errors import BusError
from channels.local import RoomError
from channels.messages import Reload, StopReason
from config.problems import ConfigError
from config.starter import init_workspace
from config.workspace import Workspace
from cronactor.scheduler import Scheduler
from supervisor.announce import say, started_text, url_text
from supervisor.cell import TOPIC
from supervisor.desk.actor import Api, Places
from supervisor.desk.server import PortTaken, probe_tcp
from supervisor.desk.texts import Texts
from supervisor.errors import IntensityExceeded
from supervisor.fleet import Fleet
from supervisor.lock import Lock, LockedError
from supervisor.logs import configure
from supervisor.office import House
from supervisor.plan import Plan, read_workspace
from supervisor.policy import Backoff, Intensity
from supervisor.reload import Reloader, take_request
from supervisor.services import Services, furnish, open_services
from supervisor.signals import HANDLED, ignore, outlast, release, terminal_lost
from supervisor.spec import Actor, ChildSpec
from supervisor.supervisor import Supervisor
from supervisor.tally import Tally
from supervisor.tasktree import task_tree
from supervisor.warden import ADDRESS as WARDEN
from supervisor.warden import Warden

__all__ = ["Household", "launch", "serve"]

OK, FAILED, BAD_CONFIG, OWNED, GAVE_UP = 0, 1, 2, 3, 70

log = structlog.get_logger("supervisor")


@attrs.define(eq=False)
class Household:
    """The whole tree over one set of services; `root.run()` is its life."""

    services: Services
    fleet: Fleet
    house: House
    root: Supervisor
    up: trio.Event = attrs.field(factory=trio.Event)

    @classmethod
    def build(
        cls, services: Services, plan: Plan, *, in_thread: bool = True, api: bool = True
    ) -> Household:
        """Build the tree that a plan asks for; nothing runs yet.

        `in_thread`: reload reads files in a worker thread (False under virtual clocks). `api`: with
        the HTTP API, which needs real sockets.
        """
        fleet = Fleet.of(services, plan)
        house = House(fleet, services.clock.now())
        rules = fleet.config.supervision
        children = [
            _infrastructure("tally", lambda: Tally(fleet), rules.start_seconds, addressed=False),
            _infrastructure("scheduler", lambda: _scheduler(fleet), rules.start_seconds),
            _infrastructure("orchestrator", lambda: _orchestrator(fleet), rules.start_seconds),
            *(
                [_infrastructure("api", lambda: _api(house), rules.start_seconds, addressed=False)]
                if api
                else []
            ),
            attrs.evolve(
                _infrastructure("agents", fleet.build, rules.start_seconds, addressed=False),
                start_timeout=(2 * rules.start_seconds + 2) * max(1, len(fleet.members)),
                grace=rules.stop_seconds,
            ),
            _infrastructure(
                WARDEN, lambda: _warden(fleet, in_thread), rules.start_seconds, grace=0.0
            ),
        ]
        root = Supervisor(
            "root",
            children,
            bus=services.bus,
            clock=services.clock,
            random=services.random,
            stop_timeout=rules.stop_seconds,
        )
        house.root = root
        return cls(services, fleet, house, root)

    async def until_ready(self) -> None:
        """Wait until the whole tree is up. A cancel ends the wait."""
        with self.services.bus.subscribe(TOPIC) as changes:
            while not self.house.ready().ready:
                await anext(aiter(changes))
        self.up.set()


def _infrastructure(
    name: str,
    factory: Callable[[], Actor],
    start_timeout: float,
    *,
    addressed: bool = True,
    grace: float = 1.0,
) -> ChildSpec:
    return ChildSpec(
        name,
        factory,
        address=name if addressed else None,
        intensity=Intensity(5, 60.0),
        backoff=Backoff(initial=0.05, maximum=2.0),
        start_timeout=start_timeout,
        grace=grace,
    )


def _scheduler(fleet: Fleet) -> Actor:
    services, config = fleet.services, fleet.config
    return Scheduler(
        store=services.reminders,
        outbox=services.outbox,
        bus=services.bus,
        clock=services.clock,
        workspace_root=services.workspace.root,
        timezone=config.timezone,
        locale=config.locale,
        late_one_shots=config.reminders.late_one_shots,
        retention_days=config.reminders.retention_days,
        health=services.health,
        prefix=config.reminders.prefix,
        room_zone=fleet.room_zone,
        inbox=services.inbox,
    )


def _orchestrator(fleet: Fleet) -> Actor:
    services, config = fleet.services, fleet.config
    return Orchestrator(
        services.bus,
        services.inbox,
        services.clock,
        rooms=config.rooms,
        agents=fleet.cards(),
        known_bots=config.known_bots,
        locale=config.locale,
        max_wait=config.max_event_age_seconds,
        journal=services.journal,
    )


def _api(house: House) -> Actor:
    workspace, config = house.fleet.services.workspace, house.fleet.config
    api = Api(
        house,
        Places(workspace.socket_path(), workspace.web_url, workspace.web_token),
        host=config.web.host,
        port=config.web.port,
        locale=config.locale,
        count=house.fleet.services.metrics.http_request,
        announce=lambda url: say(url_text(url, config.locale)),
    )
    house.streams = api.streams
    return api


def _warden(fleet: Fleet, in_thread: bool) -> Actor:
    boot = f"{os.getpid()}-{fleet.services.clock.now():.3f}"
    return Warden(fleet, Reloader(fleet, in_thread=in_thread), boot)


# -- the process -----------------------------------------------------------------------------------


def launch(workspace: Workspace, *, log_format: str = "text") -> int:
    """Run the supervisor on a workspace until it is told to stop; return the exit code.

    0 stopped as asked, 2 bad configuration, 3 another supervisor owns the workspace or its
    reminder store, 70 gave up. Signals must be held (`supervisor.signals.hold`).
    """
    gc.freeze()  # what was imported lives as long as the process: no need to look at it again
    gc.enable()
    configure("json" if log_format == "json" else "text", sys.stderr)
    try:
        _make_when_missing(workspace)
        workspace.ensure_private_dirs()
        with Lock(workspace.lock_file):
            return _launch_owned(workspace)
    except ConfigError as error:
        for problem in error.problems:
            say(str(problem), sys.stderr)
        return BAD_CONFIG
    except LockedError as error:
        say(f"error: {_owner_sentence(workspace, error)}", sys.stderr)
        return OWNED
    except (PortTaken, RoomError, DatabaseError) as error:
        say(f"error: {error}", sys.stderr)
        return FAILED if isinstance(error, DatabaseError) else BAD_CONFIG


def _make_when_missing(workspace: Workspace) -> None:
    if not workspace.supervisor_yaml.exists():
        init_workspace(workspace.root)
        say(f"{workspace.shown(workspace.root)}: made from the bundled example")


def _owner_sentence(workspace: Workspace, error: LockedError) -> str:
    owner = f"process {error.pid}" if error.pid else "another process"
    if error.path == workspace.lock_file:
        return f"{workspace.shown(workspace.root)} is owned by another supervisor ({owner})"
    return f"the reminder store beside {error.path} is in use by another supervisor ({owner})"


def _launch_owned(workspace: Workspace) -> int:
    plan = read_workspace(workspace)
    config = plan.supervisor.value
    for problems in plan.broken.values():
        for problem in problems:
            log.error("agent_invalid", error=str(problem))
    store = workspace.reminders_db(config)
    with Lock(store.with_name(store.name + ".lock")):
        probe_tcp(config.web.host, config.web.port, Texts(config.locale))
        try:
            return trio.run(serve, workspace, plan, strict_exception_groups=True)
        finally:
            ignore()


async def serve(workspace: Workspace, plan: Plan) -> int:
    """Run the tree in this Trio run until a signal ends it; return the exit code."""
    outlast()
    with trio.open_signal_receiver(*HANDLED) as signals:
        release()
        async with open_services(workspace, plan.supervisor.value) as services:
            await furnish(services, plan.supervisor.value.rooms)
            household = Household.build(services, plan)
            with _pid_file(workspace.pid_file):
                return await _supervise(household, signals)


async def _supervise(household: Household, signals: AsyncIterator[int]) -> int:
    code = OK
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_heed_signals, household, signals)
        nursery.start_soon(_say_ready, household)
        try:
            await household.root.run()
        except IntensityExceeded as error:
            log.critical("gave_up", error=str(error))
            say(f"error: {error}", sys.stderr)
            code = GAVE_UP
        nursery.cancel_scope.cancel(reason="the tree has stopped")
    log.info("stopped", code=code)
    return code


async def _heed_signals(household: Household, signals: AsyncIterator[int]) -> None:
    async for number in signals:
        name = signal.Signals(number).name
        if number == signal.SIGUSR1:
            say(task_tree(), sys.stderr)
        elif number == signal.SIGHUP and not terminal_lost():
            await _request_reload(household)
        else:
            log.info("stopping", signal=name)
            household.root.shutdown(StopReason.SHUTDOWN)


async def _request_reload(household: Household) -> None:
    """Hand the request to the warden; one that comes before it listens waits until it does."""
    services = household.services
    await household.up.wait()
    try:
        await services.bus.tell(WARDEN, Reload(take_request(services.workspace)))
    except (OSError, BusError) as error:
        log.error("reload_failed", file="run/reload.txt", error=str(error))


async def _say_ready(household: Household) -> None:
    """Log `ready` once, and tell a person at the terminal what to try."""
    await household.until_ready()
    fleet = household.fleet
    log.info("ready", pid=os.getpid(), agents=sorted(fleet.members))
    say(started_text(fleet.services.workspace, fleet.config))


@contextlib.contextmanager
def _pid_file(path: Path) -> Iterator[None]:
    """Keep our pid in a file for the block; written by rename, so that nobody reads half of it."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(f"{os.getpid()}\n")
    fresh.chmod(0o600)
    fresh.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
