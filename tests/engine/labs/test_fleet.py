"""All that runs on this machine, by what each says of itself."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import CATALOGUE
from engine.drive.control.found import Found, about
from engine.drive.control.server import listening
from engine.drive.control.wire import Message
from engine.errors import Refused
from engine.labs import fleet as module
from engine.labs.attaching import Around
from engine.labs.fleet import CRITICAL, LOST, WARNING, WELL, Fleet, Member, Queue, member_of, waiting_in_all
from tests.helpers.processes import until

FOUND = Found(Path("c/x"), "roundrobin", "broker", ("tcp://127.0.0.1:1",), 7)


def told(**status: Any) -> Message:
    return Message(1, "status", {"Status": json.dumps(status).encode()})


def test_a_line_is_made_of_a_status() -> None:
    alerts = [{"state": "firing", "severity": "critical"}, {"state": "clearing", "severity": "warning"}]
    status = told(totals={"alive": 3, "lost": 1}, backlog=5, in_flight=None, rates={"done_per_s": 2.5}, alerts=alerts)
    assert member_of(FOUND, 9.0, status) == Member(FOUND, 9.0, 3, 1, 5, None, 2.5, 1, True)


def test_a_queue_that_several_share_is_told_and_what_waits_in_it_counts_once() -> None:
    shared = {"place": "nats://x/y", "waiting": 40, "leader": "n1", "copies": 3, "behind": ["n2"], "brokers": [1, 2]}
    one, two, alone = (
        member_of(FOUND, 9.0, told(backlog=backlog, store={"trouble": trouble, "shared": queue}))
        for backlog, trouble, queue in ((45, "", shared), (43, "it\x1b", {**shared, "waiting": 41}), (5, "", None))
    )
    assert one.queue == Queue("nats://x/y", 40, 2, "n1", 3, 1) and (one.store, two.store) == ("", "it·")
    assert alone.queue is None and waiting_in_all([one, two, alone]) == 5 + 2 + 41 + 5
    assert member_of(FOUND, 9.0, told(store={"shared": {"place": 7}})).queue is None


@pytest.mark.parametrize(
    "said",
    [
        None,
        "version 9",
        Message(1, "refused", {"Why": "status: no such word here"}),
        Message(1, "status", {"Status": b"junk"}),
        told(totals=5, rates=[], alerts={}, backlog="x"),
        told(alerts=[1, "x"], rates={"done_per_s": "x"}),
    ],
)
def test_what_is_not_known_is_not_shown(said: Message | str | None) -> None:
    assert member_of(FOUND, 9.0, said) == Member(FOUND, 9.0)


def test_the_worst_come_first(tmp_path: Path) -> None:
    made = Fleet(Around(tmp_path, CATALOGUE, tmp_path))
    names = ["well", "bad", "gone", "warns", "alerts"]
    well, bad, gone, warns, alerts = (Member(FOUND._replace(path=Path(name)), 100.0) for name in names)
    made.members = (
        well, bad._replace(critical=True, alerts=1), gone._replace(heard=1.0), warns._replace(lost_workers=1),
        alerts._replace(alerts=1),
    )  # fmt: skip
    ranked = made.ranked(100.0)
    assert [member.found.name for member in ranked] == ["gone", "bad", "alerts", "warns", "well"]
    assert [member.state(100.0) for member in ranked] == [LOST, CRITICAL, WARNING, WARNING, WELL]


def test_it_looks_again_and_again_and_keeps_who_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", 0.05)
    folder, backlog = tmp_path / "c", [4]
    made = Fleet(Around(folder, CATALOGUE, tmp_path))
    words: dict[str, Any] = {"status": lambda fields: ("status", told(backlog=backlog[0]).fields)}
    with listening(print, folder / "x", about("roundrobin", "broker", ("inproc://x",)), words):
        thread = made.open()
        until(lambda: [member.backlog for member in made.members] == [4])
        backlog[0] = 9
        until(lambda: [member.backlog for member in made.members] == [9])
    heard = made.members[0].heard
    assert made.members[0].state(heard + module.STALE + 1) == LOST and made.members[0].backlog == 9
    folder.chmod(0o755)
    until(lambda: made.trouble.startswith("nobody can be attached to"))
    made.close()
    thread.join(60)
    assert not thread.is_alive()


def test_one_of_the_configuration_is_shown_before_it_is_heard_and_comes_back_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVERY", 0.05)
    monkeypatch.setattr(module, "STALE", 0.2)
    folder, backlog, at = tmp_path / "c", [4], tmp_path / "c" / "depot"

    def keyless() -> Path:
        raise Refused("which takes keys")

    made = Fleet(Around(folder, CATALOGUE, tmp_path, fleet={"depot": lambda: at, "far": keyless}))
    words: dict[str, Any] = {"status": lambda fields: ("status", told(backlog=backlog[0]).fields)}
    about_it = about("roundrobin", "broker", ("inproc://x",))

    def line(name: str) -> Member:
        return next(member for member in made.members if member.found.name == name)

    thread = made.open()
    until(lambda: len(made.members) == 2)
    assert line("far").trouble == "which takes keys" and line("depot").found.system == ""
    for backlog[0] in (4, 9):  # it comes back by itself
        with listening(print, at, about_it, words):
            until(lambda: line("depot").backlog == backlog[0])
            assert line("depot").found.path == at and len(made.members) == 2
        until(lambda: line("depot").state(time.monotonic()) == LOST)
        assert line("depot").backlog == backlog[0]
    made.close()
    thread.join(60)
    thread = made.open()  # again: it still knows who was lost
    until(lambda: line("depot").backlog == 9)
    made.close()
    thread.join(60)
    assert not thread.is_alive()
