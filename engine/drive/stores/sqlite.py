"""A store of tasks in one SQLite file: what it has taken survives kill -9 and the loss of power.

The rules of this file:

- Write-ahead log, ``synchronous`` FULL: a transaction is on the disk when ``perform`` returns, or it never was.
- Tasks are leased in the order in which they came. So a lease is a place in that order, and costs no write; after a
  restart everything up to that place that is still there was leased.
- Each row has a checksum. A row that is not what was written ends as ``corrupt``, and is counted; a file that is not
  whole is moved aside when it is opened, and that is said.
- Books are rows of their own, written in the transaction that changes them: nothing is counted.
- Below ``FREE`` bytes of free space no task is taken, so that what was taken can end. Should others fill the disk all
  the same, a file that only takes up space is removed.
- One process at a time: a lock beside the file.

Sources: sqlite.org/wal.html, sqlite.org/pragma.html (synchronous, quick_check).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import msgpack

from engine.core import Entry, Leased, Outcome, Store, Stored, Told
from engine.drive.locks import Lock
from engine.drive.stores import dead
from engine.drive.stores.results import counted, found, outcome_of
from engine.files import personal
from engine.parts.store import DEAD, EPOCHS, GLOBAL, KEPT, MOST_LEASED, MOST_RESULTS, Counts, Unavailable

FREE = 32 * 1024 * 1024  # bytes of free space below which no task is taken
RESERVE = 8 * 1024 * 1024  # bytes that are given up then: twice the 1,000 pages after which the log begins anew
RESULTS_FOR = 86_400.0  # seconds that an outcome is kept
CHUNK = 500  # outcomes that are forgotten at a time
PURGE = 1.0  # seconds between two of those times
VARIABLES = 990  # of one statement; old versions of SQLite take 999
VERSION = 1
OF = "of "  # before a system's name

_SCHEMA = f"""
CREATE TABLE tasks (seq INTEGER PRIMARY KEY, body BLOB, attempts INTEGER, lost INTEGER, sum INTEGER);
CREATE TABLE ids (seq INTEGER PRIMARY KEY, ident BLOB UNIQUE, at REAL, outcome BLOB, sum INTEGER);
CREATE TABLE books (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""


class Sqlite:
    """See ``engine.parts.store.Keeps``. ``trouble``: what was wrong with the file, empty for nothing."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        free: Callable[[], int] | None = None,
        results: int = MOST_RESULTS,
        system: str = "",
    ) -> None:
        """Open or make it. Raises Unavailable where it can not be used: another broker has it, no permission.

        ``clock``: seconds since the epoch; ``free``: bytes of free space; ``system``: of these tasks, which no
        other system can read.
        """
        self.path, self.name, self.trouble = path, f"sqlite:{path}", ""
        self._clock, self._most = clock, results
        self._free = free or (lambda: shutil.disk_usage(path.parent).free)
        self._reserve = path.with_name(path.name + ".reserve")
        self._purged = 0.0
        try:
            personal.folder(path.parent)
            self._lock = Lock(str(path.parent), path.name + ".lock")
            if not self._lock.acquire():
                raise Unavailable(f"{path} is in use by another broker")
        except OSError as error:
            raise Unavailable(f"{path}: {error.strerror or error}") from None
        try:
            self._db = self._opened()
            self._begin(f"{OF}{system}" if system else "")
        except (OSError, sqlite3.Error) as error:
            self._lock.release()
            raise Unavailable(f"{path}: {error}") from None

    # ---- opening ---------------------------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        if self._reserve.exists() and not (self.path.exists() and self.path.stat().st_size):
            self.trouble = f"{self.path} is gone or empty, and what was in it is lost: the backlog begins empty"
        try:
            return _checked(self.path)
        except sqlite3.OperationalError:
            raise  # locked, not ours to read, of another version: it may be whole
        except sqlite3.DatabaseError as error:
            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self._clock()))
            aside = f"{self.path}.corrupt-{stamp}"
            for end in ("", "-wal", "-shm"):
                if os.path.exists(f"{self.path}{end}"):
                    os.rename(f"{self.path}{end}", f"{aside}{end}")
            self.trouble = f"{self.path} was not whole ({error}): it is now {aside}, and the backlog begins empty"
            return _checked(self.path)

    def _begin(self, system: str) -> None:
        """A new epoch; what was leased waits again. ``system``: the row of the books for whose tasks these are."""
        db = self._db
        self._books: dict[str, int] = dict(db.execute("SELECT name, value FROM books"))
        self._changed: set[str] = set()
        books = self._books
        if system and (others := [name for name in books if name.startswith(OF) and name != system]):
            db.close()
            raise sqlite3.OperationalError(f"it has the tasks {others[0]}, not {system}")
        self._epoch = books.get("epoch", 0) + 1
        self._next = books.get("next", 1)
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE tasks SET attempts = attempts + 1 WHERE seq <= ?", (books.get("leased to", 0),))
        for name, value in {"epoch": self._epoch, "next": self._next, "leased to": 0}.items():
            self._set(name, value)
        if system:
            self._set(system, 1)
        self._write_books()
        db.execute("COMMIT")
        self._leased: dict[int, bytes] = {}  # by place, its id where that is global
        self._given: list[int] = []  # of the transaction at hand: what was leased,
        self._gone: dict[int, bytes] = {}  # and what has ended
        self._make_room()

    def _make_room(self) -> None:
        """The file that is there to be removed; it is only made where there is more than enough space."""
        if not self._reserve.exists() and self._free() > FREE + RESERVE:
            personal.keep(self._reserve, bytes(RESERVE))

    # ---- the store ---------------------------------------------------------------------------------------------------

    def listen(self, told: Callable[[Told], None]) -> None:
        """See ``Keeps``: no other broker shares this store."""

    def perform(self, commands: list[Store]) -> list[Stored]:
        """See ``Keeps``."""
        try:
            full = self._why_full()
            try:
                return self._transaction(commands, full)
            except sqlite3.OperationalError as error:
                if "full" not in str(error):
                    raise
                self._reserve.unlink(missing_ok=True)
                return self._transaction(commands, "the disk is full")
        except (sqlite3.Error, OSError) as error:
            raise Unavailable(f"{self.path}: {error}") from None

    def _why_full(self) -> str:
        free = self._free()
        return f"the disk is full: {max(0, free) >> 20} MiB are free" if free < FREE else ""

    def _transaction(self, commands: list[Store], full: str) -> list[Stored]:
        """All of it, or nothing. Raises sqlite3.Error."""
        before, first = dict(self._books), self._next
        self._given.clear()
        self._gone.clear()
        try:
            self._db.execute("BEGIN IMMEDIATE")
            done = [self._do(command, full) for command in commands]
            self._purge()
            self._set("next", self._next)
            self._write_books()
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._books, self._next = before, first
            self._changed.clear()
            self._leased |= self._gone
            for seq in self._given:
                self._leased.pop(seq, None)
            raise
        if not full:
            self._make_room()
        return done

    def _do(self, command: Store, full: str) -> Stored:
        fenced = self._end(command) if command.ended else []
        for token in command.lost:
            if self._mine(token) is not None:
                self._db.execute("UPDATE tasks SET lost = lost + 1 WHERE seq = ?", (token & (1 << EPOCHS) - 1,))
        revived = sum(map(self._revive, command.revive))
        none_waits, first = self._unfinished() == len(self._leased), self._next
        fates = self._put(command.tasks) if command.tasks and not full else []
        if none_waits and command.lease:  # then what was put is all that there is, and need not be read
            entries = [entry for entry, fate in zip(command.tasks, fates, strict=not full) if fate is None]
            leased = self._lease_new(entries, first, command.lease)
        else:
            leased = self._lease(command.lease) if command.lease else []
        waiting = self._unfinished() - len(self._leased)
        return Stored(command.number, fates, leased, fenced, waiting, full, revived, self._books.get("dead", 0))

    def _unfinished(self) -> int:
        books = self._books
        return books.get("accepted", 0) - books.get("ended", 0)

    def _put(self, entries: list[Entry]) -> list[Outcome | str | None]:
        known = self._known([entry.message[1] for entry in entries if len(entry.message[1]) == GLOBAL])
        fates: list[Outcome | str | None] = []
        rows, ids = [], []
        for entry in entries:
            ident = entry.message[1]
            if len(ident) == GLOBAL:
                if ident in known:
                    fates.append(known[ident])
                    continue
                known[ident] = KEPT
                ids.append((self._next, ident))
            body = msgpack.packb([entry.client, *entry.message])
            rows.append((self._next, body, crc32(body)))
            self._next += 1
            fates.append(None)
        self._many("INSERT INTO ids (seq, ident) VALUES ", "(?, ?)", ids)
        self._many("INSERT INTO tasks VALUES ", "(?, ?, 0, 0, ?)", rows)
        self._add("accepted", len(rows))
        return fates

    def _revive(self, number: int) -> bool:
        """A dead task waits again, as the newest; False where it is not there, or a client asked for it anew."""
        back = dead.revived(self._db, number, self._next)
        if back is None:
            return False
        self._add("dead", -1)
        if not back.why:
            return False
        self._next += 1
        self._add(f"failed: {back.why}", -1)
        self._add("ended", -1)
        self._add("results", -back.results)
        return True

    def _known(self, idents: list[bytes]) -> dict[bytes, Outcome | str]:
        """Of these global ids those that are here, each with its fate."""
        fates: dict[bytes, Outcome | str] = {}
        for at in range(0, len(idents), VARIABLES):
            some = idents[at : at + VARIABLES]
            asked = f"SELECT ident, outcome, sum FROM ids WHERE ident IN ({', '.join('?' * len(some))})"
            fates |= {ident: outcome_of(body, total) for ident, body, total in self._db.execute(asked, some)}
        return fates

    def _many(self, head: str, row: str, rows: Sequence[tuple[Any, ...]], tail: str = "") -> None:
        """One statement for many rows: around each the thread has to wait for the broker's, if that is busy."""
        most = VARIABLES // len(rows[0]) if rows else 1
        for at in range(0, len(rows), most):
            some = rows[at : at + most]
            self._db.execute(head + ", ".join([row] * len(some)) + tail, [*chain.from_iterable(some)])

    def _lease_new(self, entries: list[Entry], first: int, most: int) -> list[Leased]:
        """The first of these, which were put from this place on."""
        found = []
        for seq, (client, message) in enumerate(entries[:most], first):
            self._given.append(seq)
            self._leased[seq] = message[1] if len(message[1]) == GLOBAL else b""
            found.append(Leased(self._epoch << EPOCHS | seq, client, message, 0, 0))
        if found:
            self._set("leased to", first + len(found) - 1)
        return found

    def _lease(self, most: int) -> list[Leased]:
        found: list[Leased] = []
        torn: list[int] = []
        size, last = 0, self._books["leased to"]
        rows = self._db.execute("SELECT * FROM tasks WHERE seq > ? ORDER BY seq LIMIT ?", (last, most))
        for seq, body, attempts, lost, total in rows:
            last = seq
            try:
                if type(body) is not bytes or crc32(body) != total:
                    raise ValueError
                client, *message = msgpack.unpackb(body)
            except ValueError:
                torn.append(seq)
                continue
            self._leased[seq] = message[1] if len(message[1]) == GLOBAL else b""
            self._given.append(seq)
            found.append(Leased(self._epoch << EPOCHS | seq, client, message, attempts, lost))
            size += len(body)
            if size > MOST_LEASED:
                break
        rows.close()
        self._set("leased to", last)
        if torn:
            self._db.executemany("DELETE FROM tasks WHERE seq = ?", [(seq,) for seq in torn])
            ends = [(self._clock(), *_summed(Outcome("corrupt")), seq) for seq in torn]
            ended = self._db.executemany("UPDATE ids SET at = ?, outcome = ?, sum = ? WHERE seq = ?", ends)
            self._add("results", ended.rowcount)
            self._add("ended", len(torn))
            self._add("failed: corrupt", len(torn))
        return found

    def _mine(self, token: int) -> bytes | None:
        """The id of a task that is leased under this token, empty where it is not global; None where there is none."""
        return self._leased.get(token & (1 << EPOCHS) - 1) if token >> EPOCHS == self._epoch else None

    def _end(self, command: Store) -> list[int]:
        fenced, gone, kept, now = [], [], [], self._clock()
        for token, outcome, _ in command.ended:
            ident, seq = self._mine(token), token & (1 << EPOCHS) - 1
            if ident is None:
                fenced.append(token)
                continue
            self._gone[seq] = self._leased.pop(seq)
            gone.append((seq,))
            self._add(f"failed: {outcome.why}" if outcome.why else "succeeded", 1)
            if ident:
                kept.append((seq, ident, now, *_summed(outcome)))
            if outcome.why in DEAD:
                self._add("dead", dead.bury(self._db, seq, now, outcome.why))
        self._many("DELETE FROM tasks WHERE seq IN (", "?", gone, ")")
        self._many("INSERT OR REPLACE INTO ids VALUES ", "(?, ?, ?, ?, ?)", kept)
        self._add("ended", len(gone))
        self._add("results", len(kept))
        return fenced

    def _purge(self) -> None:
        """Forget the oldest outcomes, a few at a time."""
        now, kept = self._clock(), self._books.get("results", 0)
        if not kept or (abs(now - self._purged) < PURGE and kept <= self._most):
            return
        self._purged = now
        until = now - RESULTS_FOR if kept <= self._most else NEVER_OLD
        gone = self._db.execute(
            "DELETE FROM ids WHERE seq IN (SELECT seq FROM ids WHERE at < ? ORDER BY seq LIMIT ?)",
            (until, min(CHUNK, kept - self._most) if kept > self._most else CHUNK),
        )
        self._add("results", -gone.rowcount)

    # ---- books -------------------------------------------------------------------------------------------------------

    def _set(self, name: str, value: int) -> None:
        if self._books.get(name) != value:
            self._books[name] = value
            self._changed.add(name)

    def _add(self, name: str, n: int) -> None:
        if n:
            self._set(name, self._books.get(name, 0) + n)

    def _write_books(self) -> None:
        rows = [(name, self._books[name]) for name in self._changed]
        self._db.executemany("INSERT OR REPLACE INTO books VALUES (?, ?)", rows)
        self._changed.clear()

    def counts(self) -> Counts:
        """See ``Keeps``."""
        return counted(self._db, len(self._leased))

    def result(self, ident: bytes) -> Outcome | str | None:
        """See ``Keeps``."""
        return found(self._db, ident)

    def close(self) -> None:
        """See ``Keeps``."""
        self._db.close()
        self._lock.release()


NEVER_OLD = float("inf")


def _summed(outcome: Outcome) -> tuple[bytes, int]:
    body = msgpack.packb(list(outcome))
    return body, crc32(body)


def _checked(path: Path) -> sqlite3.Connection:
    """A connection to a whole file, made where there is none. Raises sqlite3.DatabaseError where it is not whole."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            db.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
        elif version != VERSION:
            raise sqlite3.OperationalError(f"is of another version ({version}) or another program")
        db.execute(dead.TABLE)
        problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
    except BaseException:
        db.close()
        raise
    return db
