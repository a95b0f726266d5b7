"""`kill -9` of real supervisors at random instants while people talk; started again at once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import attrs
import pytest

from config.workspace import Workspace
from supervisor.desk.client import Client, NoAnswer, NoSupervisor
from tests.e2e.process import Supervisor, make_workspace, replaying, supervisor_yaml, until
from tests.sweeps.judge import Court, rows

ROOMS = ("#una", "#dos", "#tres", "#cuatro")
SPEAKERS, PAUSE = 3, 0.04
SETTLE_SECONDS = 240.0  # a hundred kills leave some two thousand messages to catch up with

SCRIPT = """\
- match: despacio
  rounds: [[delay: 0.1, text: "Hecho."]]
- match: apunta
  rounds:
    - - tool: {name: create_reminder, args: {message: regar, time: en 2 segundos}}
    - [text: "Apuntado."]
"""

FILES = {
    "supervisor.yaml": supervisor_yaml(rooms=dict.fromkeys(ROOMS, "[asistente, devops]")),
    **replaying(SCRIPT, "tools: {reminders: {enabled: true, max_per_room: 10000}}"),
    "agents/devops/config.yaml": """\
description: servidores
tools: {reminders: {enabled: true, max_per_room: 10000}}
schedules:
  - name: latido
    cron: "* * * * *"
    output_room: "#una"
    action: {kind: send_message, message: "Sigo aquí."}
""",
}

KINDS = (
    "@asistente despacio {n}",
    "@asistente apunta {n}",
    "@devops ¿qué hora es? {n}",
    "@devops recuérdame en 2 segundos que riegue la planta {n}",
)


@attrs.define(eq=False)
class Crowd:
    """Ever new people who each say one thing, some at a time, whether anybody listens or not."""

    workspace: Workspace
    rng: random.Random
    heard: dict[str, str] = attrs.field(factory=dict)  # text -> event id, as the API answered
    unsure: list[str] = attrs.field(factory=list)
    failures: list[BaseException] = attrs.field(factory=list)
    over: threading.Event = attrs.field(factory=threading.Event)
    _numbers: Iterator[int] = attrs.field(factory=count)
    _threads: list[threading.Thread] = attrs.field(factory=list)

    def gather(self) -> None:
        self._threads += [threading.Thread(target=self._talk, daemon=True) for _ in range(SPEAKERS)]
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join(30)
        assert not self.failures, self.failures

    def _talk(self) -> None:
        try:
            while not self.over.wait(PAUSE):
                self._say(next(self._numbers))
        except BaseException as error:
            self.failures.append(error)

    def _say(self, number: int) -> None:
        text, room = self.rng.choice(KINDS).format(n=number), self.rng.choice(ROOMS)
        body = {"text": text, "as": f"persona{number}"}
        try:
            client = Client(self.workspace.find_socket())
            line = client.post("rooms", room, "messages", body=body)
        except NoSupervisor:
            return
        except NoAnswer:
            self.unsure.append(text)
        else:
            self.heard[text] = line["event_id"]


def struck(workspace: Path, rng: random.Random) -> bool:
    """Run a supervisor and kill it, now and then before it is ready; whether it was."""
    running = Supervisor(workspace)
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0.1, 1.0))
    else:
        running.wait_ready()
        time.sleep(rng.uniform(0.0, 1.5))
    was_ready = bool(running.logged("ready"))
    assert running.process.poll() is None, running.tail()
    running.kill()
    return was_ready


def unsettled(workspace: Workspace) -> list[str]:
    state, reminders = workspace.state_db, workspace.data_dir / "reminders.db"
    waiting = {
        "slots": (state, "SELECT 1 FROM slots WHERE state IN ('open', 'dispatched')"),
        "outbox": (state, "SELECT 1 FROM outbox WHERE state = 'pending'"),
        "reminders": (reminders, "SELECT 1 FROM reminders WHERE state = 'active'"),
        "occurrences": (reminders, "SELECT 1 FROM occurrences WHERE outcome IS NULL"),
        "events": (
            reminders,
            "SELECT 1 FROM occurrences WHERE outcome = 'fired' AND event_id IS NULL",
        ),
    }
    return [name for name, (path, sql) in waiting.items() if rows(path, sql)]


def waits(workspace: Workspace) -> str:
    return f"still waiting: {unsettled(workspace)}"


def judge(workspace: Workspace, crowd: Crowd) -> list[str]:
    court = Court.of(workspace)
    court.try_all()
    said = {line["body"]: line["event_id"] for line in court.said if line["sender"][0] == "@"}
    times = Counter(line["body"] for line in court.said if line["sender"][0] == "@")
    for text, number in times.items():
        known = text in crowd.heard or text in crowd.unsure
        court.claim(number == 1 and known, f"said {number} times: {text}")
    for text, event_id in crowd.heard.items():
        court.claim(said.get(text) == event_id, f"{text} was {event_id}, is {said.get(text)}")
    states = {slot["event_id"]: slot["state"] for slot in court.slots}
    for text, event_id in said.items():
        court.claim(states.get(event_id) == "answered", f"{text}: {states.get(event_id)}")
    judge_reminders(court, list(said))
    return court.wrong


def judge_reminders(court: Court, said: list[str]) -> None:
    """As many as were asked for, each with its own words, each fired and said once."""
    wanted = Counter("regar" for text in said if "apunta" in text)
    wanted.update(text.split(" que ")[1] for text in said if "recuérdame" in text)
    kept = Counter(row["message"] for row in court.reminders)
    court.claim(kept == wanted, f"reminders: too many {kept - wanted}, missing {wanted - kept}")
    spoken = Counter(
        line["body"].split("Recordatorio: ")[1].split(" (")[0]
        for line in court.said
        if "Recordatorio: " in line["body"]
    )
    court.claim(spoken == wanted, f"spoken: too many {spoken - wanted}, never {wanted - spoken}")
    states = Counter(row["state"] for row in court.reminders)
    court.claim(set(states) <= {"fired"}, f"reminders: {states}")


@pytest.mark.e2e
@pytest.mark.sweep
@pytest.mark.promise("P1", "P2", "P9")
def test_real_kills_while_people_talk_lose_nothing_and_double_nothing(
    tmp_path: Path, seed: int, size: Callable[[int, int], int], figures: Callable[..., None]
) -> None:
    workspace = Workspace(make_workspace(tmp_path / "w", FILES))
    workspace.ensure_private_dirs()
    rng = random.Random(seed)
    crowd = Crowd(workspace, random.Random(seed + 1))
    crowd.gather()
    kills = size(10, 100)
    ready = sum(struck(workspace.root, rng) for _ in range(kills))
    last = Supervisor(workspace.root)
    try:
        last.wait_ready()
        crowd.leave()
        until(
            lambda: not unsettled(workspace) or None,
            SETTLE_SECONDS,
            lambda: str(unsettled(workspace)),
        )
        assert last.stop() == 0
    finally:
        if last.process.poll() is None:
            last.kill()
    wrong = judge(workspace, crowd)
    assert not wrong, f"seed {seed}:\n" + "\n".join(wrong)
    figures(kills=kills, when_ready=ready, messages=len(crowd.heard), unsure=len(crowd.unsure))
