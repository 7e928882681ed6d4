"""Dead tasks in the file of a store: what could not be done is kept for an operator, who may have it tried again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgpack

from engine.drive.stores.results import unread
from engine.parts.store import GLOBAL, MOST_DEAD

TABLE = """CREATE TABLE IF NOT EXISTS dead
    (seq INTEGER PRIMARY KEY, at REAL, why TEXT, body BLOB, attempts INTEGER, lost INTEGER, sum INTEGER)"""


class Dead(NamedTuple):
    """One of them. ``number``: what it is revived by; ``at``: when it died, in seconds since the epoch.

    ``leases``: brokers that died while they had it; ``lost``: workers that were lost with it before the last try.
    ``message``: the task as its client sent it, without routing ids; empty where it is not what was written.
    """

    number: int
    at: float
    why: str
    client: bytes
    message: list[bytes]
    leases: int
    lost: int


class Revived(NamedTuple):
    """One that was dead: ``why`` it had failed, empty where it is not revived; ``results``: outcomes that are gone."""

    why: str = ""
    results: int = 0


def bury(db: sqlite3.Connection, seq: int, at: float, why: str) -> int:
    """Keep a task that is about to be deleted; the oldest goes where there are too many. Returns how many more.

    Raises sqlite3.Error.
    """
    db.execute(
        "INSERT OR REPLACE INTO dead SELECT seq, ?, ?, body, attempts, lost, sum FROM tasks WHERE seq = ?",
        (at, why, seq),
    )
    oldest = "SELECT seq FROM dead ORDER BY seq DESC LIMIT 1 OFFSET ?"
    return 1 - db.execute(f"DELETE FROM dead WHERE seq <= ({oldest})", (MOST_DEAD,)).rowcount


def revived(db: sqlite3.Connection, number: int, seq: int) -> Revived | None:
    """Have a dead task wait again in this place, unless its global id was asked for anew; None where there is none.

    Raises sqlite3.Error.
    """
    row = db.execute("SELECT why, body, sum FROM dead WHERE seq = ?", (number,)).fetchone()
    if row is None:
        return None
    db.execute("DELETE FROM dead WHERE seq = ?", (number,))
    why, body, total = row
    _, message = _read(body, total)
    if not message:
        return Revived()
    ident, results = message[1], 0
    if len(ident) == GLOBAL:
        there = db.execute("SELECT seq FROM ids WHERE ident = ?", (ident,)).fetchone()
        if there not in (None, (number,)):
            return Revived()
        results = db.execute("DELETE FROM ids WHERE seq = ?", (number,)).rowcount if there else 0
        db.execute("INSERT INTO ids (seq, ident) VALUES (?, ?)", (seq, ident))
    db.execute("INSERT INTO tasks VALUES (?, ?, 0, 0, ?)", (seq, body, total))
    return Revived(why, results)


def _read(body: bytes, total: int) -> tuple[bytes, list[bytes]]:
    """Client and message; an empty one where it is not what was written."""
    if type(body) is not bytes or crc32(body) != total:
        return b"", []
    client, *message = msgpack.unpackb(body)
    return client, message


def listed(path: Path, most: int = MOST_DEAD) -> list[Dead]:
    """Of a file that a broker may be using, the newest first. Raises Unavailable."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT * FROM dead ORDER BY seq DESC LIMIT ?", (most,)).fetchall()
    except sqlite3.Error as error:
        raise unread(path, error) from None
    return [Dead(seq, at, why, *_read(body, total), leases, lost) for seq, at, why, body, leases, lost, total in rows]
