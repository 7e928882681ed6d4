"""Dead tasks in a store's file: kept, listed, tried again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.core import Ended, Entry, Outcome, Store
from engine.drive.stores import dead
from engine.drive.stores.dead import listed
from engine.drive.stores.sqlite import FREE, Sqlite
from engine.parts.store import KEPT, Unavailable


def ident(number: int) -> bytes:
    return bytes([number]) * 16


def made(path: Path) -> Sqlite:
    return Sqlite(path, clock=lambda: 1e9, free=lambda: FREE)


def dies(store: Sqlite, *numbers: int, why: str = "undeliverable") -> None:
    tasks = [Entry(b"client", [b"\4", ident(number), b"\1"]) for number in numbers]
    leased = store.perform([Store(1, [], [], tasks, len(tasks))])[0].leased
    store.perform([Store(2, [Ended(one.token, Outcome(why)) for one in leased], [], [], 0)])


def revive(store: Sqlite, *numbers: int) -> Any:
    return store.perform([Store(3, [], [], [], 9, numbers)])[0]


def test_they_are_listed_newest_first_while_a_broker_has_the_file(tmp_path: Path) -> None:
    with closing(made(tmp_path / "x.sqlite")) as store:
        dies(store, 1, 2)
        dies(store, 3, why="deadline")
        dies(store, 4, why="wrong data")
        found = listed(store.path)
        assert [(one.number, one.why, one.client, one.message[1]) for one in found] == [
            (3, "deadline", b"client", ident(3)),
            (2, "undeliverable", b"client", ident(2)),
            (1, "undeliverable", b"client", ident(1)),
        ]
        assert {one.at for one in found} == {1e9} and store.counts().dead == 3


def test_one_is_tried_again_as_if_it_had_not_failed_and_only_once(tmp_path: Path) -> None:
    with closing(made(tmp_path / "x.sqlite")) as store:
        dies(store, 1, 2)
        answer = revive(store, 1, 99)
        assert (answer.revived, answer.dead) == (1, 1)
        assert [(one.message[1], one.attempts, one.lost) for one in answer.leased] == [(ident(1), 0, 0)]
        assert store.result(ident(1)) == KEPT and store.counts() == (2, 0, (("undeliverable", 1),), 0, 1, 1, 1)
        assert revive(store, 1).revived == 0
    with closing(made(tmp_path / "x.sqlite")) as store:
        assert store.counts() == (2, 0, (("undeliverable", 1),), 1, 0, 1, 1)


def test_one_that_was_asked_for_anew_is_not_done_twice(tmp_path: Path) -> None:
    with closing(made(tmp_path / "x.sqlite")) as store:
        dies(store, 1)
        with closing(sqlite3.connect(store.path)) as db, db:  # its outcome is forgotten, in time
            db.execute("DELETE FROM ids")
        store.perform([Store(4, [], [], [Entry(b"other", [b"\4", ident(1), b"\1"])], 0)])
        answer = revive(store, 1)
        assert (answer.revived, answer.dead, len(answer.leased)) == (0, 0, 1)


def test_what_is_not_what_was_written_is_not_done(tmp_path: Path) -> None:
    with closing(made(tmp_path / "x.sqlite")) as store:
        dies(store, 1)
        with closing(sqlite3.connect(store.path)) as db, db:
            db.execute("UPDATE dead SET sum = sum + 1")
        assert listed(store.path)[0].message == []
        answer = revive(store, 1)
        assert (answer.revived, answer.dead) == (0, 0) and store.counts().balanced


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead, "MOST_DEAD", 2)
    with closing(made(tmp_path / "x.sqlite")) as store:
        dies(store, 1, 2, 3)
        assert [one.number for one in listed(store.path)] == [3, 2] and store.counts().dead == 2


def test_a_file_that_has_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="is not there: no broker"):
        listed(tmp_path / "none")
