"""``roundhouse result``: how kept tasks ended."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.results import said
from engine.core import Ended, Entry, Outcome, Store
from engine.drive.stores.sqlite import Sqlite


def ident(number: int) -> bytes:
    return bytes([number]) * 16


@pytest.fixture
def backlog(tmp_path: Path) -> str:
    path = tmp_path / "x.sqlite"
    with closing(Sqlite(path, clock=lambda: 1e9)) as store:
        tasks = [Entry(b"c", [b"\4", ident(number), b"\1"]) for number in (1, 2, 3)]
        leased = store.perform([Store(1, [], [], tasks, 2)])[0].leased
        ends = [Outcome("", b"data", b"tcp://w:1"), Outcome("deadline")]
        ended = [Ended(one.token, end) for one, end in zip(leased, ends, strict=True)]
        store.perform([Store(2, ended, [], [], 0)])
    return f"sqlite:{path}"


def test_one_is_printed_with_its_end(backlog: str, capsys: pytest.CaptureFixture[str]) -> None:
    for number, status, words in ((1, 0, "succeeded by tcp://w:1 at 2001-"), (2, 1, "failed: deadline at 2001-")):
        assert main(["result", ident(number).hex(), "--backlog", backlog]) == status
        assert words in capsys.readouterr().out
    assert main(["result", ident(3).hex(), "--backlog", backlog]) == 1
    assert "has not ended" in capsys.readouterr().out
    assert main(["result", "09", "--backlog", backlog]) == 1
    assert "knows no such task" in capsys.readouterr().err


def test_the_newest_are_listed(backlog: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["result", "--backlog", backlog]) == 0
    assert [line[:2] for line in capsys.readouterr().out.splitlines()] == ["03", "02", "01"]
    assert main(["result", "--backlog", backlog, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in found] == ["kept", "failed", "succeeded"]
    assert bytes.fromhex(found[2]["data"]) == b"data" and found[2]["ended_at"] == 1e9


def test_where_nothing_is_kept_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["result", "--backlog", f"sqlite:{tmp_path / 'none'}"]) == 2
    assert "is not there: no broker has kept tasks in it; --backlog and --system" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"job 1 finished: 3 done, 0 failed", "job 1 finished: 3 done, 0 failed"),
        (b"", "0 bytes"),
        (b"\x1b[", "2 bytes"),
    ],
)
def test_an_answer_is_printed_where_it_is_a_short_text(data: bytes, words: str) -> None:
    assert said(data) == words
    assert said(b"x" * 1000) == "1,000 bytes"
