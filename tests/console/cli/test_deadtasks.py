"""``roundhouse tasks``: dead tasks listed, shown, and tried again, with a broker that has the file and without one."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from console.__main__ import main
from engine.catalogue import SYSTEMS
from engine.core import Ended, Entry, Outcome, Store
from engine.drive.stores.jetstream import JetStream
from engine.drive.stores.sqlite import Sqlite
from engine.labs.live import LiveLab
from engine.protocols.conversation.course import pack_task
from engine.protocols.conversation.job import Job
from engine.protocols.conversation.messages import RUNNING, Description
from engine.settings.paths import Paths
from tests.helpers.natsserver import Server
from tests.helpers.neednats import needed
from tests.helpers.processes import free_endpoint, until


def ident(number: int) -> bytes:
    return bytes([number]) * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.sqlite"
    with closing(Sqlite(path, clock=lambda: 1e9)) as store:
        tasks = [Entry(b"client", [b"\4", ident(number), b"\1", b"poison"]) for number in (1, 2, 3)]
        leased = store.perform([Store(1, [], [], tasks, 3)])[0].leased
        ended = [Ended(one.token, Outcome("undeliverable")) for one in leased]
        store.perform([Store(2, ended, [], [], 0)])
    return path


def test_they_are_listed_and_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "dead", "--backlog", f"sqlite:{path}"]) == 0
    listed = capsys.readouterr()
    assert [line.split()[0] for line in listed.out.splitlines()] == ["3", "2", "1"] and "3 dead tasks" in listed.err
    assert "undeliverable" in listed.out and "2001-" in listed.out and f"{ident(3).hex()} of client" in listed.out
    assert main(["tasks", "dead", "--backlog", f"sqlite:{path}", "--json", "-"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == [ident(n).hex() for n in (3, 2, 1)]
    assert main(["tasks", "show", "2", "9", "--backlog", f"sqlite:{path}"]) == 1
    shown = capsys.readouterr()
    assert "frame 4: poison" in shown.out and "has no dead task 9" in shown.err


def test_a_task_of_an_array_is_named_by_its_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = tmp_path / "x.sqlite", Description(7, "thumbs", 9, "/srv", "/logs", "./convert.sh", RUNNING)
    job = Job(7, text, 1, b"control", 1, 0.0)
    with closing(Sqlite(path, system="conversation")) as store:
        tasks = [Entry(b"control", pack_task(bytes(8), job, 5)), Entry(b"control", [b"task", bytes(8), b"x", b"6"])]
        leased = store.perform([Store(1, [], [], tasks, 2)])[0].leased
        store.perform([Store(2, [Ended(one.token, Outcome("lost")) for one in leased], [], [], 0)])
    for order in ("dead", "show"):
        which = ["--all"] if order == "show" else []
        assert main(["tasks", order, *which, "--system", "conversation", "--backlog", f"sqlite:{path}"]) == 0
        told = capsys.readouterr().out
        assert "lost            task 5 of thumbs: ./convert.sh in /srv\n" in told and "of control\n" in told


def test_without_a_broker_they_wait_for_the_next_one(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "revive", "1", "3", "--backlog", f"sqlite:{path}"]) == 0
    assert "2 tasks wait for the next broker" in capsys.readouterr().out
    with closing(Sqlite(path)) as store:
        assert (store.counts().waiting, store.counts().dead) == (2, 1)
    assert main(["tasks", "revive", "1", "--backlog", f"sqlite:{path}"]) == 1


def test_a_broker_that_has_the_file_tries_them_again(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system, control = SYSTEMS["roundrobin"], Paths.of_user().control
    options = system.options(backlog=f"sqlite:{path}")
    with LiveLab(system, options, bind=(free_endpoint(),), workers=1, client=False, control=control) as lab:
        assert main(["tasks", "revive", "--all", "--backlog", f"sqlite:{path}"]) == 0
        assert "3 tasks wait again at" in capsys.readouterr().out
        until(lambda: _succeeded(lab) == 3, "that they are done")
        assert "3 of 3 dead tasks wait again" in [fact.text for fact in lab.feed.since(0)[0]]


def _succeeded(lab: LiveLab) -> int:
    view = lab.feed.picture("broker")
    return 0 if view is None else view.ledger.succeeded


def test_a_file_that_a_stranger_has_is_left_alone(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Sqlite(path)) as store:
        assert main(["tasks", "revive", "1", "--backlog", f"sqlite:{path}"]) == 2
        assert "no process of this user that runs here has it" in capsys.readouterr().err
        assert store.counts().dead == 3


@pytest.mark.parametrize("wrong", [["dead", "1"], ["show"], ["revive", "1", "--all"], ["revive", "1", "--json", "x"]])
def test_wrong_combinations_are_refused(wrong: list[str]) -> None:
    assert main(["tasks", *wrong]) == 2


@needed
def test_those_of_a_shared_backlog_are_tried_again_in_nats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Server(tmp_path / "nats") as server:
        place = f"{server.url}/x"
        with closing(JetStream(place)) as store:
            tasks = [Entry(b"client", [b"\4", ident(number), b"\1", b"poison"]) for number in (1, 2)]
            leased = store.perform([Store(1, [], [], tasks, 2)])[0].leased
            store.perform([Store(2, [Ended(one.token, Outcome("undeliverable")) for one in leased], [], [], 0)])
            assert main(["tasks", "dead", "--backlog", place]) == 0
            listed = capsys.readouterr()
            assert [line.split()[0] for line in listed.out.splitlines()] == ["2", "1"] and "2 dead tasks" in listed.err
            assert main(["tasks", "show", "1", "9", "--backlog", place]) == 1
            shown = capsys.readouterr()
            assert "frame 4: poison" in shown.out and f"{store.name} has no dead task 9" in shown.err
            assert main(["tasks", "revive", "--all", "--backlog", place]) == 0
            assert f"2 tasks wait again in {store.name}" in capsys.readouterr().out
            assert store.counts().waiting == 2 and main(["tasks", "show", "1", "--backlog", place]) == 1
