"""What made one of our agents speak: a message it answered, an occurrence, or a need to report."""

from __future__ import annotations

from collections.abc import Mapping

from channels.chain import read_stamp
from channels.outbox import OutboxRow
from channels.rooms import RoomEvent
from channels.slots import Slot
from cronactor.jobs import occurrence_job
from supervisor.desk.office import Cause, Line

__all__ = ["cause_of", "line_of"]


def line_of(event: RoomEvent, agents: Mapping[str, str]) -> Line:
    """Return a room's event as people read it; `agents` maps user ids to our agents' ids."""
    return Line(
        event.room,
        event.sender,
        event.text,
        event.event_id,
        event.ts,
        agents.get(event.sender),
        event.kind,
    )


def cause_of(row: OutboxRow, slot: Slot | None, about: Line | None) -> Cause:
    """Return why a row of the outbox was said; `slot` is its answer slot, `about` that one's event.

    A notice names what ended the slot: the rule that kept all silent, or how the answer failed.
    """
    notice = row.content.get("msgtype") == "m.notice"
    if slot is not None:
        rule = slot.reason if notice and slot.state == "dead_letter" else slot.rule
        return Cause("notice" if notice else "answer", about, rule=rule)
    job = occurrence_job(read_stamp(row.content))
    if job is None:
        return Cause("notice")
    return Cause("schedule" if "/" in job else "reminder", name=job)  # a schedule is AGENT/NAME
