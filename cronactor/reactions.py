"""👍 on a reminder, or on its confirmation: whoever reacts is told too, and hears so once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.inbox import EventInbox
from channels.messages import REACTIONS
from channels.outbox import Outbox, OutgoingMessage
from channels.rooms import RoomEvent, text_content
from cronactor.changing import Changing
from cronactor.health import Health
from cronactor.messages import FollowReminder, ReminderChanged, Which
from cronactor.persist import persist
from cronactor.reminder import mention
from cronactor.store import ReminderStore
from cronactor.texts import Explained, say

__all__ = ["Reactions", "thumb_target"]

log = structlog.get_logger()

_BATCH = 100
_THUMB = "\N{THUMBS UP SIGN}"
_SHADES = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def thumb_target(event: RoomEvent) -> str | None:
    """Return the event that a person gave a 👍, of whatever colour; None for all else."""
    relation = event.content.get("m.relates_to")
    if event.kind != "reaction" or event.sender_is_bot or not isinstance(relation, Mapping):
        return None
    key, target = relation.get("key"), relation.get("event_id")
    if not isinstance(key, str) or key.rstrip(_SHADES) != _THUMB:
        return None
    return target if isinstance(target, str) and target else None


@attrs.define(eq=False)
class Reactions:
    """Goes through the reactions that the inbox admitted; how far is kept, so none is lost.

    `flush(agent)` says that the agent's outbox has news.
    """

    inbox: EventInbox
    store: ReminderStore
    outbox: Outbox
    changing: Changing
    bus: Bus
    health: Health
    flush: Callable[[str], None]

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take up what came while nobody looked, then what comes, until cancelled."""
        with self.bus.subscribe(REACTIONS, capacity=16) as news:
            task_status.started()
            seq = await self._begin()
            while True:
                seq = await self._catch_up(seq)
                await news.receive()

    async def _begin(self) -> int:
        """Up to where all is taken up. To a store or an inbox that is new nothing is owed."""
        seq = await persist("reactions", self.store.heard, self.health)
        newest = await persist("reactions", self.inbox.newest, self.health)
        if seq is not None and seq <= newest:
            return seq
        await persist("reactions", partial(self.store.set_heard, newest), self.health)
        return newest

    async def _catch_up(self, seq: int) -> int:
        while batch := await persist(
            "reactions", partial(self.inbox.reactions, seq, _BATCH), self.health
        ):
            for _, event in batch:
                await self._take(event)
            seq = batch[-1][0]
            await persist("reactions", partial(self.store.set_heard, seq), self.health)
        return seq

    async def _take(self, event: RoomEvent) -> None:
        """Follow what is meant. Done twice, after a crash, it is done once."""
        target = thumb_target(event)
        if target is None:
            return
        try:
            await self._follow(event, target)
        except Explained as error:
            log.info("reaction_refused", event_id=event.event_id, why=str(error))
        except Exception:  # one bad event must not keep the others from being heard
            log.exception("reaction_failed", event_id=event.event_id)

    async def _follow(self, event: RoomEvent, target: str) -> None:
        for reminder in await self.changing.meant(Which(event.room, event.sender, "", target)):
            if reminder.user == event.sender:
                continue
            which = Which(event.room, event.sender, reminder.id)
            changed = await self.changing.follow(FollowReminder(which, reminder.locale))
            await self.outbox.put([_confirmation(changed, event.sender)])
            self.flush(reminder.agent)


def _confirmation(changed: ReminderChanged, user: str) -> OutgoingMessage:
    reminder = changed.reminder
    key = "follows" if reminder.kept and changed.text else "follows_past"
    message = " ".join(reminder.message.split())
    text = say(
        key, reminder.locale, mention=mention(user), message=message, when=changed.text,
        id=reminder.id,
    )  # fmt: skip
    content = {**text_content(text, notice=True), "m.mentions": {"user_ids": [user]}}
    digest = hashlib.sha256(f"{reminder.id}|{user}".encode("utf-8", "replace")).hexdigest()
    return OutgoingMessage(reminder.agent, reminder.room, f"follow-{digest[:24]}", content)
