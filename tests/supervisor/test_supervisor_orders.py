"""Hot reloads among busy actors under many task orders: nobody else loses a message or a moment."""

from __future__ import annotations

from random import Random

import attrs
import pytest
import trio
import trio.testing

from channels.bus import Bus
from channels.errors import ActorDied
from channels.mailbox import Inbox
from supervisor.errors import RestartFailed
from supervisor.spec import ChildSpec
from supervisor.supervisor import Supervisor
from supervisor.testkit.orders import sweep_orders
from tests.supervisor.kit import STEADY, Status, broken, child

ORDERS = 600
NAMES = ("a", "b", "c", "d", "e")
TOLD = 12


@attrs.define
class Scene:
    """Five actors that count what they are told, and one of them, `a`, under reload."""

    random: Random
    bus: Bus = attrs.field(factory=Bus)
    heard: dict[str, list[int]] = attrs.field(factory=lambda: {name: [] for name in NAMES})
    alive: set[str] = attrs.field(factory=set)
    answered: int = 0
    died: int = 0

    def listener(self, name: str, version: str) -> ChildSpec:
        async def run(inbox: Inbox, status: Status) -> None:
            assert name not in self.alive, "two generations at once"
            self.alive.add(name)
            try:
                await self.pause()
                status.started()
                async for message in inbox:
                    if message.wants_reply:
                        await self.pause()
                        message.reply(version)
                    else:
                        self.heard[name].append(message.body)
            finally:
                self.alive.remove(name)

        return child(name, run, backoff=STEADY, grace=0.2)

    async def pause(self) -> None:
        """Give way for no time, or for a little."""
        if self.random.random() < 0.5:
            await trio.lowlevel.checkpoint()
        else:
            await trio.sleep(self.random.choice((0.0, 0.1, 0.3)))

    async def tell(self, name: str) -> None:
        for number in range(TOLD):
            await self.bus.tell(name, number)
            await self.pause()

    async def ask(self, name: str) -> None:
        for _ in range(4):
            try:
                assert await self.bus.ask(name, "?", timeout=30) in ("old", "new")
                self.answered += 1
            except ActorDied:
                assert name == "a"
                self.died += 1
            await self.pause()

    async def reload(self, root: Supervisor) -> None:
        await self.pause()
        await root.restart_child("a", spec=self.listener("a", "new"))
        await self.pause()
        with pytest.raises(RestartFailed) as caught:
            await root.restart_child("a", spec=child("a", broken))
        assert caught.value.restored


async def scene(random: Random) -> None:
    """Talk to all five while `a` is reloaded by two at once; compare what was said and heard."""
    play = Scene(random)
    root = Supervisor(
        "root", [play.listener(name, "old") for name in NAMES], bus=play.bus, stop_timeout=5.0
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(root.run)
        async with trio.open_nursery() as talk:
            for name in NAMES:
                talk.start_soon(play.tell, name)
                talk.start_soon(play.ask, name)
            talk.start_soon(play.reload, root)
            talk.start_soon(root.restart_child, "a")
        assert await play.bus.ask("a", "?", timeout=30) == "new"
        await trio.sleep(10)
        assert play.alive == set(NAMES)
        assert {root.cell(name).generation for name in NAMES[1:]} == {1}
        root.shutdown()
    lost = play.bus.dead_letters().by_reason
    assert set(lost) <= {"interrupted"}
    assert play.heard == {name: list(range(TOLD)) for name in NAMES}
    assert play.answered + play.died == 4 * len(NAMES)
    assert (play.alive, play.bus.names()) == (set(), ())


@pytest.mark.promise("P4", "P5")
def test_reloads_cost_the_others_nothing_under_any_task_order(seed: int) -> None:
    assert sweep_orders(scene, seed=seed, count=ORDERS) == ORDERS
