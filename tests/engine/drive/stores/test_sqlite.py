"""The store in a file, judged with simulated crashes and power cuts; files that are full, torn, flipped, in use."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.core import Ended, Entry, Outcome, Store
from engine.drive.stores import sqlite as module
from engine.drive.stores.sqlite import CHUNK, FREE, RESULTS_FOR, Sqlite
from engine.parts.store import KEPT, Keeps, Unavailable
from tests.helpers.storemodel import Crash, Judge

SEEDS = range(6)
PLENTY = 1 << 40


def entry(number: int, size: int = 16) -> Entry:
    return Entry(b"client", [b"\x04", number.to_bytes(size, "big"), b"\x01"])


def put(store: Keeps, *numbers: int, lease: int = 0, size: int = 16) -> Any:
    return store.perform([Store(1, [], [], [entry(number, size) for number in numbers], lease)])[0]


def end(store: Keeps, *tokens: int, why: str = "") -> Any:
    return store.perform([Store(2, [Ended(token, Outcome(why)) for token in tokens], [], [], 0)])[0]


@contextmanager
def opened(path: Path, **how: Any) -> Iterator[Sqlite]:
    with closing(Sqlite(path, **{"free": lambda: PLENTY, **how})) as store:
        yield store


class Crashing:
    """Copies of the files as a dead process left them, each opened in a folder of its own."""

    def __init__(self, folder: Path, made: Callable[[Path], Keeps]) -> None:
        self._folder, self._made, self._numbers = folder, made, count()

    def first(self) -> Keeps:
        return self._made(self._folder / "first" / "x.sqlite")

    def __call__(self, store: Keeps, commands: list[Store], random: Random) -> Crash:
        """kill -9 behind the commit, or the power is gone somewhere before its last byte is on the disk."""
        path: Path = store.path  # type: ignore[attr-defined]
        log = path.with_name(path.name + "-wal")
        before = log.stat().st_size
        if commands:
            store.perform(commands)
        after = log.stat().st_size
        done = not commands or after <= before or random.random() < 0.5
        copy = self._folder / str(next(self._numbers)) / path.name
        copy.parent.mkdir()
        shutil.copy(path, copy)
        shutil.copy(log, copy.with_name(log.name))
        if not done:
            os.truncate(copy.with_name(log.name), random.randrange(before, after))
        store.close()
        return Crash(self._made(copy), done)


def judge(folder: Path, made: Callable[[Path], Keeps], seed: int) -> None:
    crashing = Crashing(folder / str(seed), made)
    judged = Judge(crashing.first(), crashing, Random(seed))
    try:
        judged.play()
    finally:
        judged.store.close()


def usual(path: Path) -> Sqlite:
    return Sqlite(path, free=lambda: FREE)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_does_what_it_is_asked_for_through_crashes(tmp_path: Path, seed: int) -> None:
    judge(tmp_path, usual, seed)


MUTANTS = {
    "a lease moves nothing on": ('self._set("leased to", last)\n        if torn', "if torn"),
    "what was leased stays leased": ('"leased to": 0}.items()', "}.items()"),
    "an old token counts": (" if token >> EPOCHS == self._epoch else None", ""),
    "an epoch is used twice": ('self._epoch = books.get("epoch", 0) + 1', "self._epoch = 1"),
    "what has ended comes back": ("DELETE FROM tasks WHERE seq IN (", "DELETE FROM tasks WHERE -seq IN ("),
    "attempts are not counted": ("SET attempts = attempts + 1", "SET attempts = attempts + 0"),
    "lost workers are not counted": ("SET lost = lost + 1", "SET lost = lost + 0"),
    "it answers before it commits": ('_books()\n            self._db.execute("COMMIT")', "_books()"),
    "an outcome is not kept": ("INSERT OR REPLACE INTO ids", "INSERT OR IGNORE INTO ids"),
    "what is new is leased twice": ('self._set("leased to", first + len(found) - 1)', "pass"),
    "what waits is overtaken": ("self._unfinished() == len(self._leased)", "True"),
    "a global id is put twice": ("                known[ident] = KEPT\n", ""),
    "books are not written": (
        'OR REPLACE INTO books VALUES (?, ?)", rows',
        'OR IGNORE INTO books VALUES (?, ?)", rows',
    ),
    "a dead task is not kept": ("if outcome.why in DEAD:", "if False:"),
    "what is revived still counts as ended": ('self._add("ended", -1)', "pass"),
    "what is revived has its old place": ("        self._next += 1\n        self._add(f", "        self._add(f"),
    "a place is given out again": ("            self._next += 1\n", "            self._next = 1\n"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_judge_sees_what_is_wrong(tmp_path: Path, name: str) -> None:
    source, (old, new) = Path(str(module.__file__)).read_text(encoding="utf-8"), MUTANTS[name]
    assert source.count(old) == 1
    space: dict[str, Any] = {"__name__": "mutant"}
    exec(compile(source.replace(old, new), "mutant", "exec"), space)

    def caught(seed: int) -> bool:
        try:
            judge(tmp_path, lambda path: space["Sqlite"](path, free=lambda: FREE), seed)
        except (AssertionError, Unavailable, space["Unavailable"], KeyError):
            return True
        return False

    assert any(map(caught, range(40)))


# ---- what befalls files ----------------------------------------------------------------------------------------------


def test_a_second_broker_is_refused_and_files_are_its_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.sqlite"
    with opened(path):
        with pytest.raises(Unavailable, match="in use by another broker"):
            Sqlite(path)
        assert {one.stat().st_mode & 0o077 for one in path.parent.iterdir()} == {0}
    with opened(path) as again:
        assert not again.trouble


@pytest.mark.parametrize("flip", ["torn", "zeroed", "no database"])
def test_a_file_that_is_not_whole_is_moved_aside_and_that_is_said(tmp_path: Path, flip: str) -> None:
    path = tmp_path / "x.sqlite"
    with opened(path) as store:
        put(store, *range(500))
    content = bytearray(path.read_bytes())
    if flip == "torn":
        del content[len(content) // 2 :]
    elif flip == "zeroed":
        content[4096:12288] = bytes(8192)
    else:
        content[:100] = b"x" * 100
    path.write_bytes(content)
    with opened(path) as store:
        assert "was not whole" in store.trouble and "begins empty" in store.trouble
        (aside,) = tmp_path.glob("x.sqlite.corrupt-*")
        assert aside.read_bytes() == content
        assert put(store, 1, lease=1).fates == [None] and store.counts() == (1, 0, (), 0, 1, 0, 0)


def test_a_file_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with opened(path) as store:
        put(store, 1)
    path.unlink()
    with opened(path) as store:
        assert "is gone or empty" in store.trouble


def test_a_row_that_is_not_what_was_written_ends_as_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with opened(path) as store:
        put(store, 1, 2, 3)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE tasks SET body = zeroblob(20) WHERE seq = 2")
    with opened(path) as store:
        found = put(store, lease=3)
        assert [one.message[1][-1] for one in found.leased] == [1, 3]
        assert store.result(entry(2).message[1]) == Outcome("corrupt")
        counts = store.counts()
        assert counts.failed == (("corrupt", 1),) and counts.balanced and counts.leased == 2


def test_another_programs_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE other (a)")
    with pytest.raises(Unavailable, match="another program"):
        Sqlite(path)
    assert not list(tmp_path.glob("*corrupt*"))


# ---- full disks ------------------------------------------------------------------------------------------------------


def test_without_free_space_tasks_are_refused_and_what_was_taken_can_end(tmp_path: Path) -> None:
    free = PLENTY
    with opened(tmp_path / "x.sqlite", free=lambda: free) as store:
        token = put(store, 1, lease=1).leased[0].token
        free = FREE - 1
        refused = put(store, 2)
        assert refused.refused == "the disk is full: 31 MiB are free" and refused.fates == []
        assert end(store, token).fenced == [] and store.counts().succeeded == 1
        free = PLENTY
        assert put(store, 2).fates == [None] and store.counts().accepted == 2


def test_a_disk_that_others_filled_gives_the_reserve_up(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with opened(path) as store:
        token = put(store, *range(50), lease=1).leased[0].token
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        answer = store.perform([Store(3, [Ended(token, Outcome(""))], [], [entry(n) for n in range(99, 999)], 0)])[0]
        assert answer.refused == "the disk is full" and answer.fates == []
        assert not path.with_name("x.sqlite.reserve").exists()
        assert store.counts() == (50, 1, (), 49, 0, 1, 0)
        store._db.execute("PRAGMA max_page_count = 100000")
        assert put(store, *range(99, 199)).fates == [None] * 100
        assert path.with_name("x.sqlite.reserve").exists()


def test_where_nothing_can_be_done_nothing_is(tmp_path: Path) -> None:
    with opened(tmp_path / "x.sqlite") as store:
        put(store, 1)
        store._db.execute("ALTER TABLE tasks RENAME TO away")
        with pytest.raises(Unavailable, match="no such table"):
            put(store, 2, lease=1)
        store._db.execute("ALTER TABLE away RENAME TO tasks")
        assert put(store, 3, lease=9).waiting == 0 and store.counts() == (2, 0, (), 0, 2, 0, 0)


# ---- results ---------------------------------------------------------------------------------------------------------


def test_outcomes_are_forgotten_after_their_time_a_chunk_at_a_time(tmp_path: Path) -> None:
    now = 1e9
    with opened(tmp_path / "x.sqlite", clock=lambda: now) as store:
        first = put(store, *range(CHUNK + 2), lease=CHUNK + 1)
        end(store, *(one.token for one in first.leased))
        assert store.counts().results == CHUNK + 1
        now += RESULTS_FOR + 1
        put(store, lease=1)
        assert store.counts().results == 1
        now += 2
        put(store)
        assert store.counts().results == 0 and store.counts().leased == 1
        assert store.result(entry(CHUNK + 1).message[1]) == KEPT


def test_no_more_outcomes_are_kept_than_there_is_room_for(tmp_path: Path) -> None:
    with opened(tmp_path / "x.sqlite", results=3) as store:
        end(store, *(one.token for one in put(store, *range(9), lease=9).leased))
        put(store)
        assert store.counts().results == 3
        assert store.result(entry(8).message[1]) == Outcome("") and store.result(entry(0).message[1]) is None


def test_tasks_of_another_system_are_left_to_it(tmp_path: Path) -> None:
    for system in ("", "pingpong", "pingpong", ""):
        Sqlite(tmp_path / "x.sqlite", system=system).close()
    with pytest.raises(Unavailable, match="it has the tasks of pingpong, not of negotiated"):
        Sqlite(tmp_path / "x.sqlite", system="negotiated")
    Sqlite(tmp_path / "x.sqlite", system="pingpong").close()
