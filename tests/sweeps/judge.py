"""The judge of the sweeps: from the files alone, was every promise kept exactly once?"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs

from config.workspace import Workspace
from tests.sweeps.scenario import LINES, REMINDERS, Line

__all__ = ["Court", "judge", "rows"]

AGENTS = ("asistente", "devops")
ENDED = ("answered", "declined", "expired", "dead_letter")
MOST_TURNS = 6
PERIODS = {"asistente/latido": 60, "asistente/nuevo": 60, "asistente/pulso": 120}

Row = dict[str, Any]


def rows(path: Path, sql: str) -> list[Row]:
    """Read rows of a database that may be in use."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(sql)]


@attrs.define
class Court:
    """Collects what is wrong; everything is read once, after all processes have ended."""

    said: list[Row]
    events: list[Row]
    slots: list[Row]
    outbox: list[Row]
    turns: list[Row]
    steps: list[Row]
    chains: list[Row]
    reminders: list[Row]
    occurrences: list[Row]
    schedules: list[Row]
    wrong: list[str] = attrs.field(factory=list)

    @classmethod
    def of(cls, workspace: Workspace) -> Court:
        state, time = workspace.state_db, workspace.data_dir / "reminders.db"
        return cls(
            said=rows(
                state,
                "SELECT 'local-' || seq AS event_id, room, sender, txn_id, kind,"
                " content ->> 'body' AS body FROM room_events WHERE kind IN ('message', 'notice')",
            ),
            events=rows(state, "SELECT * FROM events"),
            slots=rows(state, "SELECT * FROM slots"),
            outbox=rows(state, "SELECT *, content ->> 'body' AS body FROM outbox ORDER BY id"),
            turns=rows(state, "SELECT * FROM turns"),
            steps=rows(state, "SELECT key FROM turn_outputs UNION SELECT key FROM turn_calls"),
            chains=rows(state, "SELECT * FROM chains"),
            reminders=rows(time, "SELECT * FROM reminders"),
            occurrences=rows(time, "SELECT * FROM occurrences ORDER BY scheduled_at"),
            schedules=rows(time, "SELECT * FROM schedules WHERE removed_at IS NULL"),
        )

    def claim(self, fine: object, text: str) -> None:
        if not fine:
            self.wrong.append(text)

    def try_all(self) -> None:
        """What holds for every workspace."""
        self.try_slots()
        self.try_agents()
        self.try_ends()
        self.try_turns()
        self.try_occurrences()

    # -- rooms ------------------------------------------------------------------------------------

    def try_slots(self) -> None:
        """Every slot has ended; no event has two; every message that was said was admitted."""
        per_event = Counter(slot["event_id"] for slot in self.slots)
        for event_id, count in per_event.items():
            self.claim(count == 1, f"{event_id} has {count} slots")
        for slot in self.slots:
            self.claim(slot["state"] in ENDED, f"slot {slot['id']} is {slot['state']}: {slot}")
        admitted = Counter(event["event_id"] for event in self.events)
        for message in self.said:
            times = admitted[message["event_id"]]
            self.claim(times == 1, f"admitted {times} times: {message}")

    def try_line(self, line: Line) -> None:
        """What a person said is there once and came to the end it should, with its one answer."""
        heard = [m for m in self.said if m["txn_id"] == line.name and m["sender"][0] == "@"]
        if len(heard) != 1:
            self.wrong.append(f"{line.name}: said {len(heard)} times")
            return
        slots = [slot for slot in self.slots if slot["event_id"] == heard[0]["event_id"]]
        ends = [slot["state"] for slot in slots]
        self.claim(ends == [line.ends], f"{line.name}: ended as {ends}: {slots}")
        if line.answer is None:
            return
        numbers = {slot["id"] for slot in slots}
        answer = tuple(
            row["body"]
            for row in self.outbox
            if row["slot_id"] in numbers and row["txn_id"].startswith("slot-")
        )
        self.claim(answer == line.answer, f"{line.name}: answered {_short(answer)}")
        for part in line.answer:
            times = sum(message["body"] == part for message in self.said)
            self.claim(times == 1, f"{line.name}: {_short(part)} was said {times} times")

    def try_people(self) -> None:
        people = [message for message in self.said if message["sender"].startswith("@")]
        self.claim(len(people) == len(LINES), f"people said {len(people)} things")

    def try_agents(self) -> None:
        """All that agents said, they said once, and had a reason to."""
        sent = {row["event_id"]: row for row in self.outbox}
        self.claim(len(sent) == len(self.outbox), "two rows of the outbox share an event")
        for row in self.outbox:
            self.claim(row["state"] == "sent", f"never sent: {_short(row)}")
            self.claim(self._justified(row), f"nobody asked for: {_short(row)}")
        for message in self.said:
            if message["sender"] in AGENTS:
                row = sent.pop(message["event_id"], {})
                same = all(
                    row.get(of_row) == message[of_message]
                    for of_row, of_message in (
                        ("agent", "sender"),
                        ("room", "room"),
                        ("txn_id", "txn_id"),
                    )
                )
                self.claim(same, f"said, and not from the outbox: {_short(message)}")
        self.claim(not sent, f"marked as sent, and never said: {_short(sent)}")

    def _justified(self, row: Row) -> bool:
        txn_id, slot_id = row["txn_id"], row["slot_id"]
        states = {slot["id"]: slot["state"] for slot in self.slots}
        if txn_id.startswith("occ-"):
            fired = [o for o in self.occurrences if o["txn_id"] == txn_id]
            return len(fired) == 1 and fired[0]["outcome"] == "fired"
        if txn_id == f"dead-{slot_id}":
            return states.get(slot_id) == "dead_letter"
        return txn_id.startswith(f"slot-{slot_id}-") and states.get(slot_id) == "answered"

    def try_ends(self) -> None:
        """An answered slot has its answer, a dead letter its one notice, any other nothing."""
        spoken: dict[int, list[str]] = defaultdict(list)
        for row in self.outbox:
            if row["slot_id"] is not None:
                spoken[row["slot_id"]].append(row["txn_id"])
        for slot in self.slots:
            number, got = slot["id"], spoken[slot["id"]]
            answer = [f"slot-{number}-{part}" for part in range(len(got))] or ["an answer"]
            wanted = {"answered": answer, "dead_letter": [f"dead-{number}"]}.get(slot["state"], [])
            self.claim(got == wanted, f"slot {number}, {slot['state']}, was answered by {got}")
        for chain in self.chains:
            self.claim(chain["turns"] <= MOST_TURNS, f"too many turns: {chain}")

    def try_turns(self) -> None:
        """The record of what was answered has ended, and its steps are gone with the end."""
        ended = {turn["key"] for turn in self.turns if turn["ended_at"] is not None}
        answered = {f"slot:{s['id']}" for s in self.slots if s["state"] == "answered"}
        self.claim(answered <= ended, f"turns without an end: {answered - ended}")
        left = [step for step in self.steps if step["key"] in ended]
        self.claim(not left, f"steps of turns that have ended: {left}")

    def try_delegation(self, name: str) -> None:
        """The other agent answered once, and its turn was counted once in the chain."""
        events = {m["event_id"] for m in self.said if m["txn_id"] == name}
        for slot in self.slots:
            if slot["event_id"] in events:
                key = f"task:slot:{slot['id']}:0"
                answers = [turn["answer"] for turn in self.turns if turn["key"] == key]
                self.claim(len(answers) == 1 and answers[0], f"{name}: {answers}")
                turns = [c["turns"] for c in self.chains if c["chain"] == slot["chain"]]
                self.claim(turns == [2], f"{name}: the chain counts {turns}")

    # -- time -------------------------------------------------------------------------------------

    def try_reminders(self) -> None:
        """Each was created once, whatever was run again, and spoke once, by the right agent."""
        kept = Counter((row["message"], row["agent"], row["state"]) for row in self.reminders)
        wanted = {(message, agent, "fired"): 1 for message, agent in REMINDERS.items()}
        self.claim(kept == wanted, f"reminders: {dict(kept)}")
        for message in REMINDERS:
            times = sum(f"Recordatorio: {message}" in said["body"] for said in self.said)
            self.claim(times == 1, f"{message!r} was said {times} times")

    def try_occurrences(self) -> None:
        """Each has one outcome; what fired was said and knows its event; the rest said nothing."""
        by_txn = {row["txn_id"]: row for row in self.outbox}
        for each in self.occurrences:
            self.claim(each["outcome"], f"no outcome: {each}")
            row = by_txn.get(each["txn_id"])
            if each["outcome"] == "fired" and row is not None:
                known = each["event_id"] == row["event_id"]
                self.claim(known, f"fired, its event unknown: {each}")
            elif each["outcome"] == "fired":
                self.claim("nothing to say" in each["reason"], f"fired in silence: {each}")
            else:
                self.claim(row is None, f"{each['outcome']}, and yet said: {each}")

    def try_schedule(self, schedule: str, period: int) -> None:
        """From its first instant on none is missing and none is there twice."""
        mine = [each for each in self.occurrences if each["schedule_id"] == schedule]
        found = [s for s in self.schedules if s["id"] == schedule]
        if len(found) != 1 or not mine:
            self.wrong.append(f"{schedule}: {len(found)} rows, {len(mine)} occurrences")
            return
        upcoming = mine[0]["scheduled_at"]
        for each in mine:
            last = each["last_at"] or each["scheduled_at"]
            self.claim(each["scheduled_at"] == upcoming, f"{schedule}: a gap before {each}")
            full = last - each["scheduled_at"] == (each["count"] - 1) * period
            self.claim(full, f"{schedule}: wrong count: {each}")
            upcoming = last + period
        self.claim(found[0]["next_due"] == upcoming, f"{schedule}: next is {found[0]['next_due']}")


def judge(workspace: Workspace) -> list[str]:
    """Return everything that is wrong with the files that the scenario's lives have left."""
    court = Court.of(workspace)
    court.try_all()
    court.try_people()
    for line in LINES:
        court.try_line(line)
    court.try_delegation("consulta")
    court.try_reminders()
    for schedule, period in PERIODS.items():
        court.try_schedule(schedule, period)
    return court.wrong


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) < 400 else f"{text[:200]}…{text[-150:]}"
