"""A line for each order that was given."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import QUEUES, SYSTEMS
from engine.errors import Refused
from engine.labs.audit import Audit, given_by, noted, origin, who, words_of
from engine.labs.carried import ORDERS
from engine.labs.content import BrokerLab, QueueLab
from engine.labs.live import LiveLab
from engine.labs.queues import LiveQueueLab
from engine.parts.bulk import BulkSpec
from engine.protocols.conversation.frontend import Hold
from engine.system import System
from tests.engine.labs.test_readonly import ARGUMENTS, arguments, orders
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


def test_who_gives_it_is_kept_and_questions_are_not(tmp_path: Path) -> None:
    lab = FakeLab(3)
    lab.slow(1.0)  # nobody keeps anything
    lab.audit = Audit(tmp_path / "orders.log", "x")
    lab.stop_worker(lab.workers[1].key)
    lab.inspect(lab.workers[1].key)
    lab.order_client("how is it", "")
    with pytest.raises(Refused, match="does not take that order"):
        lab.operate("pair")
    lab.refusal = "not now"
    with given_by(("a key", "over tcp")), pytest.raises(Refused, match="not now"):
        lab.slow(2.0)
    lines = lab.audit.lines(9)
    assert [(line["what"], line["result"]) for line in lines] == [
        (f"stop worker {lab.workers[1].name}", "done"),
        ("slow 2.0", "refused: not now"),
    ]
    assert lines[0]["who"] == who() and lines[0]["from"].endswith("the process itself")
    assert (lines[1]["who"], lines[1]["from"]) == ("a key", "over tcp")


@pytest.mark.parametrize("kind", ORDERS)
def test_every_order_that_a_lab_can_take_is_a_line(kind: str, tmp_path: Path) -> None:
    """They are refused, because it is read-only; so nothing has to run."""
    brokers = kind == System.kind
    lab: Any = LiveLab(SYSTEMS["roundrobin"], readonly=True, workers=0) if brokers else queues(tmp_path)
    lab.audit = Audit(tmp_path / "orders.log", "x")
    names = {*orders(BrokerLab if brokers else QueueLab), *ORDERS[kind]} - {"inspect"}
    assert {"acknowledge", "silence"} < names
    missed = []
    for name in sorted(names):
        before = len(lab.audit.lines(99))
        with suppress(Refused, AttributeError):  # of what was not opened
            getattr(lab, name)(*(ARGUMENTS.get(name) or arguments(getattr(lab, name))))
        if len(lab.audit.lines(99)) != before + 1:
            missed.append(name)
    assert missed == [], "add it to engine.labs.carried, from which the audit takes the names of orders"


def queues(folder: Path) -> LiveQueueLab:
    """A pipeline that was not opened."""
    system = next(iter(QUEUES.values()))
    return LiveQueueLab(system.options(), str(folder), readonly=True)


def test_what_an_order_gives_in_turn_is_no_line_of_its_own(tmp_path: Path) -> None:
    class Lab(FakeLab):
        def withdraw(self, client: bytes) -> None:
            self.stop_run()

    lab = Lab(1)
    lab.audit = Audit(tmp_path / "orders.log", "x")
    lab.withdraw(b"c")
    lab.stop_run()
    assert [line["what"] for line in lab.audit.lines(9)] == ["withdraw c", "stop run"]


def test_an_order_in_words() -> None:
    lab = FakeLab(2)
    assert words_of(lab, "run", (BulkSpec("ping", 7),)) == "run 7 ping"
    assert "\x1b" not in words_of(lab, "withdraw", (b"c\x1b[2J",))
    assert words_of(lab, "order_client", (Hold(3), "holding a job")) == "hold 3"
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
