"""A line for each order that was given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from engine.errors import Refused
from engine.labs.audit import Audit, Noted, noted, origin, to_be_noted, who, words_of
from engine.parts.bulk import BulkSpec
from tests.helpers.fake_lab import FakeLab


def test_each_order_is_a_line_for_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.7 5000 192.0.2.1 22")
    path = tmp_path / "state" / "orders.log"
    audit = Audit(path, "tcp-127.0.0.1-6714")
    assert audit.keep(who(), origin(), "drain w3", "seen") == ""
    Audit(path, "another").keep(who(), origin(), "drain w9", "seen")
    audit.keep(who(), origin(), "drain w4", "refused: no")
    first, _, third = map(json.loads, path.read_text().splitlines())
    assert first.keys() == {"schema", "at", "who", "from", "where", "what", "result"}
    assert (first["where"], first["what"], first["result"]) == ("tcp-127.0.0.1-6714", "drain w3", "seen")
    assert third["result"] == "refused: no" and str(os.getuid()) in first["who"]
    assert "ssh from 192.0.2.7" in first["from"]
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("a") as file:
        file.write("no line\n5\n")
    assert [line["what"] for line in audit.lines(9)] == ["drain w3", "drain w4"]
    assert [line["what"] for line in audit.lines(1)] == ["drain w4"]


def test_that_it_can_not_be_kept_is_said(tmp_path: Path) -> None:
    path = tmp_path / "orders.log"
    path.symlink_to(tmp_path / "elsewhere")
    assert "the order could not be kept" in Audit(path, "x").keep("me", "here", "stop", "done")
    assert not (tmp_path / "elsewhere").exists()
    lab = FakeLab(1)
    noted(lab, Audit(path, "x"), ("me", "here"), "stop", lambda: None)
    assert "the order could not be kept" in lab.feed.since(0)[0][-1].text


def test_a_console_keeps_its_own_orders_and_no_questions(tmp_path: Path) -> None:
    lab = FakeLab(3)
    assert to_be_noted(lab) is lab
    lab.audit = Audit(tmp_path / "orders.log", "x")
    lab_of_console = to_be_noted(lab)
    assert isinstance(lab_of_console, Noted) and lab_of_console.system is lab.system
    lab_of_console.stop_worker(lab.workers[1].key)
    lab_of_console.inspect(lab.workers[1].key)
    lab.refusal = "not now"
    with pytest.raises(Refused, match="not now"):
        lab_of_console.slow(2.0)
    lines = lab.audit.lines(9)
    assert [(line["what"], line["result"]) for line in lines] == [
        (f"stop worker {lab.workers[1].name}", "done"),
        ("slow 2.0", "refused: not now"),
    ]
    assert lines[0]["who"] == who() and lines[0]["from"].endswith("this console")


def test_an_order_in_words() -> None:
    lab = FakeLab(2)
    assert words_of(lab, "run", (BulkSpec("ping", 7),)) == "run 7 ping"
    assert "\x1b" not in words_of(lab, "withdraw", (b"c\x1b[2J",))
    assert words_of(lab, "operate", ("config", (("key", "k"),))) == "operate config key k"


def test_an_error_of_ours_is_kept_too(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "orders.log", "x")

    def fails() -> None:
        raise ZeroDivisionError("ours")

    with pytest.raises(ZeroDivisionError):
        noted(FakeLab(1), audit, ("me", "here"), "stop", fails)
    assert audit.lines(1)[0]["result"] == "failed: ZeroDivisionError: ours"


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    assert who() == "user 4000000"
