"""A broker's control socket, asked by a plain DEALER of this user."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.drive.control import server as module
from engine.drive.control.place import place
from engine.drive.control.server import Said, listening
from engine.errors import Refused
from engine.labs.audit import Audit
from engine.labs.live import LiveLab
from engine.protocols.conversation import frontend
from engine.protocols.conversation.frontend import Submit
from tests.helpers.conversation import array
from tests.helpers.processes import free_endpoint, until

WAIT = 60_000  # ms


class Peer:
    """Who asks."""

    def __init__(self, path: Path) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger, self.socket.rcvtimeo = 0, WAIT
        self.socket.connect(f"ipc://{path}")

    def send(self, *frames: bytes) -> None:
        self.socket.send_multipart(frames)

    def ask(self, number: int, word: str, **fields: Any) -> None:
        self.send(msgpack.packb({"v": 1, "id": number, "ask": word, **fields}))

    def told(self) -> dict[str, Any]:
        said: dict[str, Any] = msgpack.unpackb(self.socket.recv())
        assert said.pop("v") == 1
        return said

    def close(self) -> None:
        self.socket.close()
        self.context.term()


class Shop:
    def __init__(self, folder: Path, **how: Any) -> None:
        self.endpoint, self.path = free_endpoint(), folder / "control"
        self.lab = LiveLab(SYSTEMS["conversation"], bind=(self.endpoint,), workers=1, control=self.path, **how).open()
        assert self.lab.wait_registered(1, WAIT / 1000)
        self.peer = Peer(place(self.path, self.endpoint))

    def close(self) -> None:
        self.peer.close()
        assert self.lab.health().dead == ()
        self.lab.close()
        assert list(self.path.iterdir()) == []


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.close()


def job(command: str, n: int = 1) -> dict[str, Any]:
    fields = frontend.loaded(frontend.pack_request(1, Submit(array(command, n))))
    return {name: fields[name] for name in ("JobDescription", "NumProc", "Follow")}


def test_it_says_who_it_is(shop: Shop) -> None:
    shop.peer.ask(5, "hello")
    about = {"system": "conversation", "role": "broker", "endpoints": [shop.endpoint], "pid": os.getpid()}
    counts = {"requests": 1, "orders": 0, "unreadable": 0, "refused": 0, "failed": 0, "unsent": 0}
    assert shop.peer.told() == {"id": 5, "say": "hello", **about, "counts": counts}
    assert stat.S_IMODE(place(shop.path, shop.endpoint).stat().st_mode) == 0o600
    assert stat.S_IMODE(shop.path.stat().st_mode) == 0o700


def test_a_job_is_submitted_and_followed_to_its_end(shop: Shop, tmp_path: Path) -> None:
    described = job("/bin/true", 2)
    described["JobDescription"] |= {"WorkingDir": str(tmp_path), "LoggingDir": str(tmp_path)}
    shop.peer.ask(7, "submit", **described)
    assert shop.peer.told() == {"id": 7, "say": "accepted", "JobId": 1}
    told = [shop.peer.told() for _ in range(3)]
    assert [(said["id"], said["say"]) for said in told] == [(7, "task"), (7, "task"), (7, "job")]
    assert told[2]["Done"] == 2
    shop.peer.ask(8, "tasks", JobId=1)
    tasks = shop.peer.told()
    assert (tasks["say"], tasks["Job"]["Done"], tasks["More"], tasks["Forgotten"]) == ("tasks", 2, 0, 0)
    assert [[row[0], row[1], row[3], *row[6:]] for row in tasks["Tasks"]] == [
        [n, "done", 1, "done", f"job_{n}.log"] for n in (1, 2)
    ]
    shop.peer.ask(7, "jobs")
    listed = shop.peer.told()
    assert (listed["id"], listed["say"], len(listed["Jobs"]), listed["More"]) == (7, "jobs", 1, 0)
    control = shop.lab._desk.control if shop.lab._desk is not None else None
    assert control is not None and control._asked == {}, "nothing is kept of what is answered"


def test_what_can_not_be_read_is_refused_with_the_reason(shop: Shop) -> None:
    peer = shop.peer
    for frames in ([b""], [b"\xc1"], [b"a", b"b"], [b""] * 100):
        peer.send(*frames)
        assert peer.told() == {"id": 0, "say": "refused", "Why": "unreadable"}
    peer.send(msgpack.packb({"v": 3}))
    assert "version 3 is not spoken here" in peer.told()["Why"]
    peer.ask(1, "dance")
    assert peer.told() == {"id": 1, "say": "refused", "Why": "dance: unreadable request"}
    peer.ask(2, "hold", JobId=99)
    assert peer.told() == {"id": 2, "say": "refused", "Why": "no such job"}
    control = shop.lab._desk.control if shop.lab._desk is not None else None
    assert control is not None and control.counts.flat()["requests"] == 7
    told = control.told()
    assert told["malformed"] == {"frames": 2, "message": 2, "version": 1, "fields": 1}
    assert told["connections"]["old_version"] == 0


def test_what_is_remembered_of_questions_is_bounded(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "PENDING", 3)
    shop.lab.audit = audit = Audit(tmp_path / "orders.log", "x")
    for number in range(5):
        shop.peer.ask(number, "submit", **(job("/bin/true") | {"NumProc": 1000}))
        assert shop.peer.told()["say"] == "accepted"
    control = shop.lab._desk.control if shop.lab._desk is not None else None
    assert control is not None and [pending.number for pending in control._asked.values()] == [2, 3, 4]
    assert [line["result"] for line in audit.lines(9)] == ["done"] * 5


def test_each_order_to_the_broker_is_a_line_with_who_gave_it_and_what_came_of_it(shop: Shop, tmp_path: Path) -> None:
    shop.lab.audit = audit = Audit(tmp_path / "orders.log", "x")
    peer = shop.peer
    for number, (word, fields) in enumerate(
        [
            ("submit", job("/bin/true")),
            ("hold", {"JobId": 1}),
            ("release", {"JobId": 1}),
            ("cancel", {"JobId": 99}),
            ("jobs", {}),
            ("tasks", {"JobId": 1}),
            ("stop", {"NumProc": 0}),
        ]
    ):
        peer.ask(number, word, **fields)
        while peer.told()["id"] != number:
            pass  # more about the job that was submitted
    lines = audit.lines(99)
    assert [line["result"] for line in lines] == ["done", "done", "done", "refused: no such job", "done"]
    whats = [line["what"] for line in lines]
    assert whats[0].startswith("submit ") and "/bin/true" in whats[0] and whats[1:3] == ["hold 1", "release 1"]
    assert {line["from"] for line in lines} == {f"process {os.getpid()} of this machine"}
    control = shop.lab.control
    assert control is not None and control.counts.totals["orders"] == 5


def test_a_read_only_lab_is_looked_at_and_not_changed(tmp_path: Path) -> None:
    shop = Shop(tmp_path, readonly=True)
    shop.lab.audit = audit = Audit(tmp_path / "orders.log", "x")
    shop.peer.ask(1, "jobs")
    assert shop.peer.told()["say"] == "jobs"
    shop.peer.ask(1, "tasks", JobId=1)
    assert shop.peer.told() == {"id": 1, "say": "refused", "Why": "no such job"}
    for word in ("submit", "hold", "release", "cancel", "stop"):
        shop.peer.ask(2, word, **(job("/bin/true") if word == "submit" else {}), JobId=1)
        assert shop.peer.told() == {"id": 2, "say": "refused", "Why": "readonly is set where the broker runs"}
    assert [line["what"] for line in audit.lines(9)] == ["submit", "hold", "release", "cancel", "stop"]
    shop.close()


def test_a_lab_does_without_where_there_can_be_none(tmp_path: Path) -> None:
    (tmp_path / "control").mkdir(mode=0o755)
    with LiveLab(SYSTEMS["conversation"], bind=(free_endpoint(),), workers=0, control=tmp_path / "control") as lab:
        until(lambda: any("has mode 755" in fact.text for fact in lab.feed.since(0)[0]))
        assert lab.health().dead == ()


def test_a_broker_that_takes_no_orders_says_who_it_is(tmp_path: Path) -> None:
    endpoint = free_endpoint()
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=0, client=False, control=tmp_path / "control"):
        peer = Peer(place(tmp_path / "control", endpoint))
        peer.ask(1, "hello")
        assert peer.told()["system"] == "roundrobin"
        peer.ask(2, "jobs")
        assert peer.told() == {"id": 2, "say": "refused", "Why": "jobs: no such word here"}
        peer.close()


def test_a_word_is_answered_at_once_or_later_or_refused(tmp_path: Path) -> None:
    later: Future[Said] = Future()

    def answer(fields: dict[str, Any]) -> Said | Future[Said]:
        match fields["How"]:
            case "now":
                return "said", {"It": 1}
            case "later":
                return later
            case "refused":
                raise Refused("not you")
            case how:
                raise ValueError(how)

    with listening(lambda note: None, tmp_path / "control" / "x", {"pid": 1}, {"word": answer}) as control:
        assert control is not None
        peer = Peer(tmp_path / "control" / "x")
        for number, how in enumerate(("later", "now", "refused", "odd")):
            peer.ask(number, "word", How=how)
        assert peer.told() == {"id": 1, "say": "said", "It": 1}
        assert peer.told() == {"id": 2, "say": "refused", "Why": "not you"}
        assert peer.told() == {"id": 3, "say": "refused", "Why": "word: unreadable: odd"}
        later.set_exception(Refused("too late"))
        assert peer.told() == {"id": 0, "say": "refused", "Why": "too late"}
        none = {"orders": 0, "failed": 0, "unsent": 0}
        assert control.counts.flat() == {"requests": 4, "unreadable": 1, "refused": 2, **none}
        peer.close()
    assert control.dead is None

    def given(fields: dict[str, Any]) -> Said:
        return "done", {"Who": fields["Who"], "From": fields["From"]}

    with listening(lambda note: None, tmp_path / "control" / "x", {"pid": 1}, {"order": given}) as control:
        peer = Peer(tmp_path / "control" / "x")
        peer.ask(1, "order", Who="root (0)", From="the moon")
        told = peer.told()
        assert str(os.getuid()) in told["Who"] and told["From"] == f"process {os.getpid()} of this machine"
        peer.send(b"a", b"b", b"c")
        assert peer.told()["say"] == "refused"
        peer.close()
    assert module._process("") == ("a user who can not be told", "this machine")
    with listening(lambda note: None, None, {}, {}) as nothing:
        assert nothing is None


def test_a_word_that_fails_is_told_and_counted_and_the_others_go_on(tmp_path: Path) -> None:
    said: list[str] = []
    later: Future[Said] = Future()
    later.set_exception(KeyError("later"))
    words: dict[str, module.Word] = {"now": lambda fields: fields["x"], "later": lambda _: later}
    with listening(lambda note: said.append(note.text), tmp_path / "c", {"pid": 1}, words) as control:
        assert control is not None
        peer = Peer(tmp_path / "c")
        for word, why in (("now", "now failed: KeyError: 'x'"), ("later", "later failed: KeyError: 'later'")):
            peer.ask(1, word)
            assert peer.told() == {"id": 1, "say": "refused", "Why": why}
        peer.ask(2, "hello")
        assert peer.told()["counts"]["failed"] == 2
        peer.close()
        assert control.dead is None
    assert "control socket: now failed: KeyError: 'x'" in said
