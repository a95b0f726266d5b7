"""Phrases as people type them to an agent of the builtin model, through the whole workspace."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from trio.testing import MockClock

from cronactor.messages import SCHEDULER, ListReminders
from cronactor.reminder import Reminder
from supervisor.testkit.house import make_workspace, open_house

SAID = (
    "recuérdame todos los lunes a las 10 el standup",
    "remind me every weekday at 8:30 to stand up",
    "recuérdame el viernes que viene a las 5 de la tarde que llame a Luis",
    "recuérdame cada 2 horas beber agua",
)


def local(reminder: Reminder) -> datetime:
    assert reminder.next_due is not None
    return datetime.fromtimestamp(reminder.next_due, ZoneInfo(reminder.timezone))


async def test_what_repeats_and_weekdays_are_set_as_they_are_said(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "w")) as house:
        room = house.room()
        for number, text in enumerate(SAID, 1):
            await room.say(f"@asistente {text}")
            await room.wait_for("asistente", number)
        asked = ListReminders(room="#taller")
        kept = await house.household.services.bus.ask(SCHEDULER, asked, timeout=5)
        by_message = {reminder.message: reminder for reminder in kept}
        standup, stand_up, luis, water = (
            by_message[message]
            for message in ("el standup", "stand up", "llame a Luis", "beber agua")
        )
        assert (standup.cron, stand_up.cron, luis.cron) == ("0 10 * * 1", "30 8 * * 1-5", None)
        assert (local(standup).weekday(), local(standup).hour) == (0, 10)
        assert (local(luis).weekday(), local(luis).hour) == (4, 17)
        assert water.every == 7200.0
