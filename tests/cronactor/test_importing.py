"""Reminders of other bots come over once, at the times they had; of each other one, why not."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from cronactor.foreign import Foreign, read_foreign
from cronactor.importing import Imported, Importing, Place
from cronactor.messages import ListReminders
from cronactor.texts import Explained
from tests.cronactor.world import ROOM, START, ZONE, World, at

MRB = """
CREATE TABLE migration_version(version INTEGER PRIMARY KEY);
INSERT INTO migration_version VALUES (4);
CREATE TABLE reminder(
    text TEXT, start_time TEXT, recurse_timedelta_s INTEGER, cron_tab TEXT, room_id TEXT NOT NULL,
    target_user TEXT, alarm BOOL NOT NULL, timezone TEXT, creation_timestamp_ms INTEGER);
"""
MAUBOT = """
CREATE TABLE reminder(id INTEGER PRIMARY KEY, date DATETIME NOT NULL, room_id VARCHAR NOT NULL,
    event_id VARCHAR NOT NULL, message TEXT NOT NULL, reply_to VARCHAR);
CREATE TABLE reminder_target(reminder_id INTEGER, user_id VARCHAR, event_id VARCHAR NOT NULL,
    PRIMARY KEY(reminder_id, user_id));
CREATE TABLE timezone(user_id VARCHAR, timezone VARCHAR, PRIMARY KEY(user_id, timezone));
"""
AGENDA = """
CREATE TABLE reminder(event_id VARCHAR PRIMARY KEY, room_id VARCHAR, start_time TEXT, message TEXT,
    reply_to VARCHAR, cron_tab TEXT, creator VARCHAR, recur_every TEXT, is_agenda BOOL,
    confirmation_event TEXT);
CREATE TABLE reminder_target(event_id VARCHAR, user_id VARCHAR, subscribing_event VARCHAR,
    PRIMARY KEY(user_id, event_id));
CREATE TABLE user_settings(user_id VARCHAR PRIMARY KEY, timezone TEXT, locale TEXT);
"""
HOME = "!casa:example.org"


def database(path: Path, schema: str, *inserts: tuple[str, Sequence[Any]]) -> Path:
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(schema)
        for table, values in inserts:
            marks = ", ".join("?" * len(values))
            conn.execute(f"INSERT INTO {table} VALUES ({marks})", values)
        conn.commit()
    return path


def mrb(text: str, start: str | None = None, **given: Any) -> tuple[str, Sequence[Any]]:
    values = {"every": None, "cron": None, "user": "@ana:example.org", "alarm": 0, "tz": ZONE}
    values |= given
    row = (text, start, values["every"], values["cron"], HOME, values["user"])
    return "reminder", (*row, values["alarm"], values["tz"], 0)


def importing(world: World, place: Place | None = Place("asistente", ROOM, 50)) -> Importing:
    return Importing(
        store=world.store,
        zones=world.store.zonebook(ZONE, lambda room: None),
        place=lambda room: place if room == HOME else None,
        person=str,
        now=world.clock.now(),
    )


async def take(world: World, path: Path, **options: Any) -> dict[str, Imported]:
    foreign = read_foreign(path, ZONE, world.clock.now())
    results = await importing(world, **options).take(foreign)
    return {result.row.message: result for result in results}


def why(result: Imported) -> str:
    assert (result.outcome, result.reminder) == ("left", None) and result.why is not None
    return result.why.say("es")


async def test_matrix_reminder_bots_come_over_at_their_times(
    world: World, autojump_clock: MockClock
) -> None:
    path = database(
        world.folder / "mrb.db",
        MRB,
        mrb("una vez", "2026-04-10T09:00:00"),
        mrb("en Tokio", "2026-04-10T09:00:00", tz="Asia/Tokyo"),
        mrb("con desfase", "2026-04-10T09:00:00+00:00"),
        mrb("cada semana", "2026-04-06T09:30:00", every=604800),
        mrb("lunes", cron="0 10 * * 0"),
        mrb("laborables", cron="30 8 * * 0-4"),
        mrb("a todos", "2026-04-10T09:00:00", user=None, alarm=1),
    )
    async with world:
        found = await take(world, path)
        assert {result.outcome for result in found.values()} == {"taken"}
        kept = {text: result.reminder for text, result in found.items()}
        due = {text: one.next_due for text, one in kept.items() if one is not None}
        assert due == {
            "una vez": at("2026-04-10T09:00"),
            "en Tokio": at("2026-04-10T09:00", "Asia/Tokyo"),
            "con desfase": at("2026-04-10T09:00", "UTC"),
            "cada semana": at("2026-04-13T09:30"),
            "lunes": at("2026-04-13T10:00"),
            "laborables": at("2026-04-10T08:30"),
            "a todos": at("2026-04-10T09:00"),
        }
        one = kept["una vez"]
        assert one is not None and one.wall == "2026-04-10T09:00:00"
        assert (one.agent, one.room, one.user) == ("asistente", ROOM, "@ana:example.org")
        assert kept["laborables"].cron == "30 8 * * mon,tue,wed,thu,fri"  # type: ignore[union-attr]
        assert found["a todos"].row.alarm
        async with world.running():
            listed = await world.ask(ListReminders(ROOM))
            assert {reminder.id for reminder in listed} == {one.id for one in kept.values() if one}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (mrb("x", "2026-04-01T09:00:00"), "ya pasó"),
        (mrb("x"), "no tiene hora"),
        (mrb("x", "pronto"), "no entiendo su hora"),
        (mrb("x", "2026-04-10T09:00:00", tz="Marte/Olympus"), "zona horaria"),
        (mrb("x", "2026-04-06T09:30:00", every=5), "el mínimo es 1 minuto"),
        (mrb("x", cron="0 9 1 * 0"), "cron basta uno de los dos"),
        (mrb("x", cron="0 9 * * 9"), "día de la semana"),
        (mrb("x", cron="0 9 * *"), "4 campos"),
        (mrb("x", cron="5/15 * * * *"), "paso"),
        (mrb("x" * 5000, "2026-04-10T09:00:00"), "máximo es 4000"),
        (mrb("", "2026-04-10T09:00:00"), "falta el mensaje"),
    ],
)
async def test_a_row_that_cannot_be_taken_is_said_with_its_reason(
    world: World, row: tuple[str, Sequence[Any]], says: str, autojump_clock: MockClock
) -> None:
    path = database(world.folder / "mrb.db", MRB, row, mrb("bueno", "2026-04-10T09:00:00"))
    async with world:
        found = await take(world, path)
        assert found.pop("bueno").outcome == "taken"
        (bad,) = found.values()
        assert says in why(bad)
        assert len(await world.store.listed(all=True)) == 1


async def test_the_first_version_of_its_table_is_read_too(
    world: World, autojump_clock: MockClock
) -> None:
    schema = """CREATE TABLE reminder(text TEXT, start_time TEXT NOT NULL,
        recurse_timedelta_s INTEGER, room_id TEXT NOT NULL, target_user TEXT, alarm BOOL NOT NULL)
    """
    row = ("viejo", "2026-04-10T09:00:00+02:00", None, HOME, None, 0)
    path = database(world.folder / "old.db", schema, ("reminder", row))
    async with world:
        (result,) = (await take(world, path)).values()
        assert result.reminder is not None and result.reminder.next_due == at("2026-04-10T09:00")


async def test_maubots_come_over_with_everybody_they_tell(
    world: World, autojump_clock: MockClock
) -> None:
    path = database(
        world.folder / "maubot.db",
        MAUBOT,
        ("reminder", (1, "2026-04-10 07:00:00.000000", HOME, "$uno", "pan", None)),
        ("reminder", (2, "2026-04-01 07:00:00.000000", HOME, "$dos", "tarde", None)),
        ("reminder", (3, "2026-04-10 07:00:00.000000", HOME, "$tres", "de nadie", None)),
        ("reminder_target", (1, "@luis:example.org", "$pulgar")),
        ("reminder_target", (1, "@ana:example.org", "$uno")),
        ("reminder_target", (2, "@ana:example.org", "$dos")),
        ("timezone", ("@ana:example.org", "Asia/Tokyo")),
        ("timezone", ("@luis:example.org", "Nowhere/Land")),
    )
    async with world:
        found = await take(world, path)
        pan = found["pan"].reminder
        assert pan is not None and pan.told == ("@ana:example.org", "@luis:example.org")
        assert (pan.next_due, pan.timezone) == (at("2026-04-10T07:00", "UTC"), "Asia/Tokyo")
        assert "ya pasó" in why(found["tarde"])
        assert "a nadie" in why(found["de nadie"])
        zones = world.store.zonebook(ZONE, lambda room: None)
        await zones.load()
        assert zones.find("@ana:example.org", None).zone == "Asia/Tokyo"
        assert zones.find("@luis:example.org", None).source == "workspace"


async def test_reminder_agendas_come_over_as_cron_or_interval(
    world: World, autojump_clock: MockClock
) -> None:
    def row(event: str, text: str, **given: Any) -> tuple[str, Sequence[Any]]:
        names = ("start_time", "cron_tab", "recur_every", "is_agenda")
        start, cron, recurs, agenda = (given.get(name) for name in names)
        who = "@ana:example.org"
        return "reminder", (event, HOME, start, text, None, cron, who, recurs, agenda, None)

    events = ("$1", "$2", "$3", "$4", "$5", "$6")
    path = database(
        world.folder / "agenda.db",
        AGENDA,
        row("$1", "una vez", start_time="2026-04-10T09:00:00+09:00"),
        row("$2", "cron", cron_tab="cron 0 10 * * 1"),
        row("$3", "cada martes", recur_every="tuesday at 2pm", start_time="2026-04-14T05:00:00Z"),
        row("$4", "cada 2 h", recur_every="2 hours", start_time="2026-04-09T13:30:00+00:00"),
        row("$5", "luna llena", recur_every="full moon", start_time="2026-04-14T05:00:00+00:00"),
        row("$6", "leche", is_agenda=1),
        *(("reminder_target", (event, "@ana:example.org", event)) for event in events),
        ("user_settings", ("@ana:example.org", "Asia/Tokyo", "es")),
    )
    async with world:
        found = await take(world, path)
        kept = {text: one.reminder for text, one in found.items() if one.reminder is not None}
        assert {text: (one.kind, one.next_due) for text, one in kept.items()} == {
            "una vez": ("once", at("2026-04-10T09:00", "Asia/Tokyo")),
            "cron": ("cron", at("2026-04-14T10:00", "Asia/Tokyo")),  # its 1 is a Tuesday
            "cada martes": ("cron", at("2026-04-14T14:00", "Asia/Tokyo")),
            "cada 2 h": ("every", at("2026-04-09T15:30", "UTC")),
        }
        assert "full moon" in why(found["luna llena"])
        assert "agenda" in why(found["leche"])


async def test_taking_them_in_twice_changes_nothing(
    world: World, autojump_clock: MockClock
) -> None:
    rows = [mrb(f"n{number}", "2026-04-10T09:00:00") for number in range(3)]
    path = database(world.folder / "mrb.db", MRB, *rows)
    before = path.read_bytes()
    async with world:
        first = await take(world, path)
        (gone, *_) = [result.reminder for result in first.values() if result.reminder]
        await world.store.delete(gone.id, at=world.clock.now())
        listed = await world.store.listed(all=True)
        again = await take(world, path)
        assert {result.outcome for result in again.values()} == {"known"}
        assert await world.store.listed(all=True) == listed
    assert path.read_bytes() == before


async def test_where_there_is_no_place_nothing_is_taken(
    world: World, autojump_clock: MockClock
) -> None:
    path = database(world.folder / "mrb.db", MRB, mrb("x", "2026-04-10T09:00:00"))
    async with world:
        (result,) = (await take(world, path, place=None)).values()
        assert "--room" in why(result)
        (result,) = (await take(world, path, place=Place("asistente", ROOM, 0))).values()
        assert "máximo es 0" in why(result)


@pytest.mark.parametrize("content", [b"", b"nada de SQLite aqui" * 100])
def test_a_file_that_is_none_of_them_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(Explained):
        read_foreign(path, ZONE, START)
    assert path.read_bytes() == content
    other = database(tmp_path / "other.db", "CREATE TABLE reminder(id INTEGER); ")
    with pytest.raises(Explained, match="no reminder database"):
        read_foreign(other, ZONE, START)
    with pytest.raises(OSError):
        read_foreign(tmp_path / "missing.db", ZONE, START)
    assert not (tmp_path / "missing.db").exists()


def test_an_empty_database_of_a_known_kind_holds_nothing(tmp_path: Path) -> None:
    path = database(tmp_path / "mrb.db", MRB)
    assert read_foreign(path, ZONE, START) == Foreign("matrix-reminder-bot", ())
