"""How many turns each chain has taken in each room, and who holds which of them.

The functions here run inside a caller's transaction.
"""

from __future__ import annotations

import sqlite_utils

from channels.chain import take_turn

__all__ = ["create_hops", "give_back", "is_reserved", "raise_turns", "reserve", "turns"]


def create_hops(db: sqlite_utils.Database) -> None:
    """Migration: `chains` counts, `hops` tells who holds each turn."""
    db.executescript(
        """
        CREATE TABLE chains(
            room TEXT NOT NULL,
            chain TEXT NOT NULL,
            turns INTEGER NOT NULL CHECK(turns >= 0),
            PRIMARY KEY(room, chain)
        ) WITHOUT ROWID;
        CREATE TABLE hops(
            room TEXT NOT NULL,
            chain TEXT NOT NULL,
            key TEXT NOT NULL,
            hop INTEGER NOT NULL,
            PRIMARY KEY(room, chain, key)
        ) WITHOUT ROWID;
        """
    )


def turns(db: sqlite_utils.Database, room: str, chain: str) -> int:
    """Turns taken in a chain in a room."""
    row = db.conn.execute(
        "SELECT turns FROM chains WHERE room = ? AND chain = ?", (room, chain)
    ).fetchone()
    return int(row[0]) if row else 0


def raise_turns(db: sqlite_utils.Database, room: str, chain: str, least: int) -> None:
    """Make a chain count at least so many turns; never lowers it."""
    db.conn.execute(
        "INSERT INTO chains(room, chain, turns) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET turns = max(turns, excluded.turns)",
        (room, chain, least),
    )


def reserve(
    db: sqlite_utils.Database, room: str, chain: str, key: str, limit: int | None
) -> int | None:
    """Take one more turn in a chain, once per `key`; None when `limit` turns are taken."""
    held = db.conn.execute(
        "SELECT hop FROM hops WHERE room = ? AND chain = ? AND key = ?", (room, chain, key)
    ).fetchone()
    if held:
        return int(held[0])
    hop = take_turn(turns(db, room, chain), limit)
    if hop is not None:
        raise_turns(db, room, chain, hop)
        db.conn.execute("INSERT INTO hops VALUES (?, ?, ?, ?)", (room, chain, key, hop))
    return hop


def is_reserved(db: sqlite_utils.Database, room: str, chain: str, hop: int) -> bool:
    """True when this hop of a chain was reserved here, and so is counted already."""
    found = db.conn.execute(
        "SELECT 1 FROM hops WHERE room = ? AND chain = ? AND hop = ?", (room, chain, hop)
    ).fetchone()
    return found is not None


def give_back(db: sqlite_utils.Database, room: str, chain: str, key: str) -> bool:
    """Undo a reservation; False when there is none under that key."""
    freed = db.conn.execute(
        "DELETE FROM hops WHERE room = ? AND chain = ? AND key = ?", (room, chain, key)
    ).rowcount
    if freed:
        db.conn.execute(
            "UPDATE chains SET turns = turns - 1 WHERE room = ? AND chain = ?", (room, chain)
        )
    return bool(freed)
