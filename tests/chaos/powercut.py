"""``python -m tests.chaos.powercut [--seed N] [--steps N]``: the power is gone behind every single write of a store.

SQLite runs on a file system that notes each write and each sync (a VFS of apsw, in the test extra). After a cut a
file has all that was written before its last sync, and of what came later anything: nothing, all, or some, also half
of one write. From each such disk the store is opened again: it has to be whole, to hold whatever it had said it holds,
and nothing that it was not asked for.
"""

from __future__ import annotations

import argparse
import importlib
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

from engine.core import Ended, Entry, Outcome, Store
from engine.drive.stores import sqlite as module
from engine.drive.stores.sqlite import FREE, Sqlite

STEPS = 60  # of one record
IDENTS = 40
SYNC, GONE = -1, -2  # in place of an offset
PAGES = 6  # of the log, after which SQLite writes it into the file: so that this is cut as well


class Write(NamedTuple):
    """One operation on a file: ``data`` at ``offset``; None: a sync, GONE, or with another offset the new length."""

    file: str
    data: bytes | None = None
    offset: int = SYNC


class Record(NamedTuple):
    """``writes``: what was done to the disk; ``said``: how many of them had been done when a command was answered.

    ``states``: what the store held then, the first one before any command.
    """

    writes: list[Write]
    said: list[int]
    states: list[tuple[object, ...]]


def why_not() -> str:
    """Why no power can be cut here; empty where it can."""
    try:
        importlib.import_module("apsw")
    except ImportError:
        return "apsw is not installed: pip install -e '.[test]'"
    return ""


# ---- recording -------------------------------------------------------------------------------------------------------


@contextmanager
def recorded(writes: list[Write], synchronous: str) -> Iterator[None]:
    """Meanwhile stores that are opened run on the file system that notes everything, with this ``synchronous``."""
    apsw: Any = importlib.import_module("apsw")

    class File(apsw.VFSFile):  # type: ignore[misc]
        def __init__(self, name: Any, flags: Any) -> None:
            self.name = Path(name.filename() if hasattr(name, "filename") else name).name
            super().__init__("", name, flags)

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
            writes.append(Write(self.name, bytes(data), offset))
            super().xWrite(data, offset)

        def xTruncate(self, size: int) -> None:  # noqa: N802
            writes.append(Write(self.name, None, size))
            super().xTruncate(size)

        def xSync(self, flags: int) -> None:  # noqa: N802
            writes.append(Write(self.name))

    class Disk(apsw.VFS):  # type: ignore[misc]
        def xOpen(self, name: Any, flags: Any) -> Any:  # noqa: N802
            return File(name, flags)

        def xDelete(self, name: str, syncs: bool) -> None:  # noqa: N802
            writes.append(Write(Path(name).name, None, GONE))
            super().xDelete(name, syncs)

    class Connection:
        """As much of the standard library's as a store uses. No other process shares it: there is no shared memory."""

        def __init__(self, path: Path) -> None:
            self._db = apsw.Connection(str(path), vfs="recorded")
            self._db.execute(f"PRAGMA locking_mode = EXCLUSIVE; PRAGMA wal_autocheckpoint = {PAGES}")

        def execute(self, sql: str, values: Iterable[object] = ()) -> Any:
            if sql.startswith("PRAGMA synchronous"):
                sql = f"PRAGMA synchronous = {synchronous}"
            cursor = self._db.cursor()
            cursor.execute(sql, tuple(values))
            rows = list(cursor)
            found = iter(rows)
            return _Cursor(found, self._db.changes())

        def executemany(self, sql: str, values: Iterable[Iterable[object]]) -> Any:
            changed = 0
            for one in values:
                changed += self.execute(sql, one).rowcount
            return _Cursor(iter(()), changed)

        def executescript(self, sql: str) -> None:
            self._db.execute(sql)

        @property
        def in_transaction(self) -> bool:
            return bool(self._db.in_transaction)

        def close(self) -> None:
            self._db.close()

    disk = Disk("recorded", "")
    try:
        fake = SimpleNamespace(connect=lambda path, **_: Connection(path))
        vars(fake).update({name: getattr(sqlite3, name) for name in ("Error", "OperationalError", "DatabaseError")})
        setattr(module, "sqlite3", fake)  # noqa: B010
        yield
    finally:
        setattr(module, "sqlite3", sqlite3)  # noqa: B010
        disk.unregister()


class _Cursor:
    def __init__(self, rows: Iterator[tuple[Any, ...]], rowcount: int) -> None:
        self._rows, self.rowcount = rows, rowcount

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)

    def close(self) -> None:
        pass


def record(folder: Path, seed: int, steps: int, synchronous: str = "FULL") -> Record:
    """Some commands to a store, and what that did to the disk."""
    random = Random(seed)
    writes: list[Write] = []
    with recorded(writes, synchronous), closing(Sqlite(folder / "x.sqlite", free=lambda: FREE)) as store:
        noted = Record(writes, [len(writes)], [state(store)])
        tokens: list[int] = []
        for step in range(steps):
            ended = [Ended(token, Outcome(random.choice(("", "", "deadline")), b"data")) for token in tokens[:2]]
            tasks = [
                Entry(b"client", [b"\4", random.randrange(IDENTS).to_bytes(16, "big"), bytes(random.randrange(900))])
                for _ in range(random.randrange(4))
            ]
            del tokens[:2]
            revive = (random.randrange(1, steps),) if random.random() < 0.2 else ()
            answer = store.perform([Store(step, ended, [], tasks, random.randrange(3), revive)])[0]
            tokens += [one.token for one in answer.leased]
            noted.said.append(len(writes))
            noted.states.append(state(store))
    return noted


def state(store: Sqlite) -> tuple[object, ...]:
    """All that may not change when the power is cut: leases end, and tasks wait again."""
    counts = store.counts()
    fates = tuple(store.result(number.to_bytes(16, "big")) for number in range(IDENTS))
    return (counts.accepted, counts.succeeded, counts.failed, counts.waiting + counts.leased, counts.dead, fates)


# ---- cutting ---------------------------------------------------------------------------------------------------------


def disk_after(writes: list[Write], random: Random) -> dict[str, bytearray]:
    """What is on the disk when the power is gone behind these writes."""
    files: dict[str, bytearray] = {}
    loose: dict[str, list[Write]] = {}
    for write in writes:
        if write.offset == GONE:
            files.pop(write.file, None)
            loose.pop(write.file, None)
        elif write.offset == SYNC:
            for one in loose.pop(write.file, []):
                _do(files, one)
        else:
            loose.setdefault(write.file, []).append(write)
    share = random.choice((0.0, 1.0, random.random()))
    for pending in loose.values():
        for one in pending:
            if random.random() < share:
                half = random.random() < 0.2 and one.data is not None
                _do(files, one._replace(data=(one.data or b"")[: random.randrange(4096)]) if half else one)
    return files


def _do(files: dict[str, bytearray], write: Write) -> None:
    content = files.setdefault(write.file, bytearray())
    if write.data is None:
        del content[write.offset :]
        return
    content += bytes(max(0, write.offset - len(content)))
    content[write.offset : write.offset + len(write.data)] = write.data


def wrong_after(noted: Record, cut: int, random: Random) -> str:
    """Cut the power behind so many writes, and open the store from what is left; what is wrong, empty for nothing."""
    said = sum(one <= cut for one in noted.said) - 1  # commands that were answered by then
    with tempfile.TemporaryDirectory() as name:
        for file, content in disk_after(noted.writes[:cut], random).items():
            Path(name, file).write_bytes(content)
        with closing(Sqlite(Path(name, "x.sqlite"), free=lambda: FREE)) as store:
            if store.trouble and said >= 0:
                return f"cut {cut}: {store.trouble}"
            found = state(store)
            if not store.counts().balanced:
                return f"cut {cut}: the books do not balance: {store.counts()}"
    possible = noted.states[max(0, said) : said + 2]
    if found in possible:
        return ""
    older = [number for number, one in enumerate(noted.states) if one == found]
    return f"cut {cut}: {said} commands were answered, found is the state after {older or 'none of them'}"


def cuts(noted: Record) -> range:
    """Behind each write, also of those that made the file."""
    return range(len(noted.writes) + 1)


def main() -> int:
    """Every cut of one record, with each way of syncing; 0 where FULL loses nothing and the others lose something."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.powercut", description="The power is cut.")
    parser.add_argument("--seed", type=int, default=1, help="of the commands, and of what is left of each file (1)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"commands that are recorded ({STEPS})")
    options = parser.parse_args()
    if reason := why_not():
        print(f"left out: {reason}")
        return 0
    right = True
    for synchronous in ("FULL", "NORMAL", "OFF"):
        with tempfile.TemporaryDirectory() as name:
            noted = record(Path(name), options.seed, options.steps, synchronous)
        random = Random(options.seed)
        found = [wrong for cut in cuts(noted) if (wrong := wrong_after(noted, cut, random))]
        print(
            f"synchronous {synchronous}: {len(cuts(noted))} cuts, {len(found)} lost something; {found[:1]}", flush=True
        )
        right = right and bool(found) == (synchronous != "FULL")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
