"""Books and outcomes are read out of a file, whoever uses it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from engine.core import Ended, Entry, Outcome, Store
from engine.drive.stores.results import Result, read
from engine.drive.stores.sqlite import Sqlite
from engine.parts.store import KEPT, Unavailable


def ident(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_results_are_read_while_a_broker_has_the_file_and_when_none_has(tmp_path: Path) -> None:
    path, now = tmp_path / "x.sqlite", 1e9
    with closing(Sqlite(path, clock=lambda: now)) as store:
        tasks = [Entry(b"c", [b"\x04", ident(number), b"\x01"]) for number in (1, 2)]
        (one,) = store.perform([Store(1, [], [], tasks, 1)])[0].leased
        store.perform([Store(2, [Ended(one.token, Outcome("deadline"))], [], [], 0)])
        first = Result(ident(1), now, Outcome("deadline"))
        assert read(path, ident(1), 9) == [first]
    second = Result(ident(2), None, KEPT)
    assert read(path, b"", 9) == read(path, ident(1)[:3], 9) == [second, first]
    assert read(path, b"", 1) == [second] and read(path, b"\1", 9) == []
    with pytest.raises(Unavailable, match="is not there: no broker"):
        read(tmp_path / "none.sqlite", b"", 1)
    path.write_bytes(b"it is none" * 1000)
    with pytest.raises(Unavailable, match="not a database; keep it: the next broker"):
        read(path, b"", 1)
