"""The content of a store's file: its ledger, and how tasks ended. Its broker reads it, and other processes do."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgpack

from engine.core import Outcome
from engine.parts.store import GLOBAL, KEPT, Counts, Unavailable


def counted(db: sqlite3.Connection, leased: int) -> Counts:
    """The books of a file, and how many tasks stand in it. Raises sqlite3.Error."""
    books: dict[str, int] = dict(db.execute("SELECT name, value FROM books"))
    failed = {name.removeprefix("failed: "): n for name, n in books.items() if n and name.startswith("failed: ")}
    here = db.execute("SELECT count(*) FROM tasks").fetchone()[0]
    return Counts(
        books.get("accepted", 0),
        books.get("succeeded", 0),
        tuple(sorted(failed.items())),
        here - leased,
        leased,
        books.get("results", 0),
        books.get("dead", 0),
    )


def found(db: sqlite3.Connection, ident: bytes) -> Outcome | str | None:
    """The outcome of a task in a file; see ``Keeps.result``. Raises sqlite3.Error."""
    row = db.execute("SELECT outcome, sum FROM ids WHERE ident = ?", (ident,)).fetchone()
    return None if row is None else outcome_of(*row)


def outcome_of(body: bytes | None, total: int) -> Outcome | str:
    """An outcome as it is written, with its checksum; KEPT where there is none."""
    if body is None:
        return KEPT
    if type(body) is not bytes or crc32(body) != total:
        return Outcome("corrupt")
    return Outcome(*msgpack.unpackb(body))


class Result(NamedTuple):
    """Of a task with a global id: when it ended, in seconds since the epoch; None with KEPT as outcome."""

    ident: bytes
    at: float | None
    outcome: Outcome | str


def read(path: Path, beginning: bytes, most: int) -> list[Result]:
    """Of a file that a broker may be using: tasks with ids that begin so, the newest first. Raises Unavailable."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute(
                "SELECT ident, at, outcome, sum FROM ids WHERE ident >= ? AND ident <= ? ORDER BY seq DESC LIMIT ?",
                (beginning, beginning.ljust(GLOBAL, b"\xff"), most),
            ).fetchall()
    except sqlite3.Error as error:
        raise unread(path, error) from None
    return [Result(ident, at, outcome_of(body, total)) for ident, at, body, total in rows]


def unread(path: Path, error: sqlite3.Error) -> Unavailable:
    """Why a file can not be read that no broker of this process has, and what to do."""
    if not path.exists():
        return Unavailable(f"{path} is not there: no broker has kept tasks in it")
    if isinstance(error, sqlite3.OperationalError):
        return Unavailable(f"{path}: {error}")
    return Unavailable(f"{path}: {error}; keep it: the next broker that is started with it moves it aside")
