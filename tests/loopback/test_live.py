"""A whole lab on real sockets: what an operator does, and what strangers with a plain DEALER may and may not do."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.drive import wallclock
from engine.errors import Refused
from engine.journal.format import SEAT
from engine.labs import live as lab_module
from engine.labs.live import LiveLab
from engine.labs.replay import Replay
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Leave
from engine.parts.view import BrokerView
from engine.protocols.conversation.frontend import JobsListed, ListJobs, StopWorkers
from tests.helpers.processes import WAIT, until

V = b"LMQv100"


def broker(lab: LiveLab) -> BrokerView:
    view = lab._ask("broker", "broker")
    assert isinstance(view, BrokerView)
    return view


class Stranger:
    """A plain DEALER that speaks the fact sheet's frames."""

    def __init__(self, lab: LiveLab, name: bytes) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(WAIT * 1000)
        self.id = lab.endpoints[0].encode() + b":" + name
        self.socket.setsockopt(zmq.ROUTING_ID, self.id)
        self.socket.connect(lab.endpoints[0])

    def __enter__(self) -> Stranger:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close(0)
        self.context.term()

    def send(self, *frames: bytes) -> None:
        self.socket.send_multipart(frames)

    def receive(self) -> list[bytes]:
        """The next message that is no link PING of the broker's."""
        while True:
            frames = self.socket.recv_multipart()
            if frames[2] != b"\x01":
                return frames


def test_the_seeds_words_for_workers(lab: LiveLab) -> None:
    lab.endbulk()
    assert any("messages that each worker passed: w" in fact.text for fact in lab.feed.since(0)[0])
    until(lambda: len(broker(lab).workers) == 1)
    with pytest.raises(Refused, match="bulk starts them"):
        lab.endbulk()
    lab.deregister()
    until(lambda: len(broker(lab).workers) == 0)
    with pytest.raises(Refused, match="not registered"):
        lab.deregister()
    lab.register()
    assert lab.wait_registered(1, WAIT)
    lab.bulk()
    assert lab.wait_registered(10, WAIT)
    with pytest.raises(Refused, match="10 workers already"):
        lab.bulk()


def test_an_ordered_leaving_is_told_as_left_where_workers_have_no_goodbye(endpoint: str) -> None:
    with LiveLab(SYSTEMS["pingpong"], bind=(endpoint,), workers=2) as lab:
        assert lab.wait_registered(2, WAIT)
        lab.endbulk()
        until(lambda: len(broker(lab).workers) == 1)
        told = [fact.text for fact in lab.feed.since(0)[0]]
        assert told.count("left") == 1 and not [text for text in told if "lost" in text]


@pytest.mark.parametrize("name", ["roundrobin", "pingpong"])
def test_an_ordered_leaving_is_told_once(endpoint: str, name: str) -> None:
    with LiveLab(SYSTEMS[name], bind=(endpoint,), workers=2) as lab:
        assert lab.wait_registered(2, WAIT)
        lab.deregister()
        until(lambda: len(broker(lab).workers) == 1 and lab.workers().here == 1)
        lab.stop_worker(broker(lab).workers[0].key)
        until(lambda: not broker(lab).workers and not lab.workers().here)
        facts = [fact for fact in lab.feed.since(0)[0] if "left" in fact.text]
        assert [fact.source for fact in facts] == ["broker"] * 2 and len({fact.subject for fact in facts}) == 2


def test_a_plain_dealer_registers_is_given_tasks_and_answers(lab: LiveLab) -> None:
    lab.endbulk()
    lab.deregister()
    until(lambda: len(broker(lab).workers) == 0)
    with Stranger(lab, b"77") as worker:
        worker.send(b"", V, b"\x01", b"12345678", b"")
        assert worker.receive() == [b"", V, b"\x02", b"12345678", b""]
        worker.send(b"", V, b"\x04", b"\x01\0\0\0", b"\x08", b"10", b"")
        assert worker.receive() == [b"", V, b"\x06", b"\x01\0\0\0", b""]
        lab.run(BulkSpec("ping", 5, timeout=WAIT))
        for _ in range(5):
            empty, version, kind, task, command, end, client = worker.receive()
            assert (empty, version, kind, command, end) == (b"", V, b"\x04", b"\x01", b"")
            worker.send(client, b"", V, b"\x06", task, b"")
            worker.send(b"", V, b"\x03", b"\x02\0\0\0", b"\x07", b"")
        assert lab.wait_run(WAIT)
        assert lab.report()["succeeded"] == 5
        until(lambda: broker(lab).workers[0].free == 10)
        (row,) = broker(lab).workers
        assert (row.key, row.slots, row.done, row.violations) == (worker.id, 10, 5, 0)


def test_garbage_changes_nothing_and_is_shown_with_its_senders_routing_id(lab: LiveLab) -> None:
    before = broker(lab)
    garbage = [
        [b"\x16\x03\x01\x02\x00"],
        [b"", b"LMQv999", b"\x04", b"12345678", b"\x01", b""],
        [b"", V, b"\x04", b"\x01\0\0\0", b"\x08", b"1000000000", b""],
        [b"", V, b"\x04", b"\x01\0\0\0", b"\x08", b"-5", b""],
        [b"", V, b"\x03", b"\x01\0\0\0", b"\x07", b""],
        [b"nobody", b"", V, b"\x06", b"12345678", b""],
        [b""] * 500,
        [b"", V],
    ]
    with Stranger(lab, b"bad") as stranger:
        for frames in garbage:
            stranger.send(*frames)
        stranger.send(b"", V, b"\x01", b"12345678", b"")  # answered behind all the rest: everything was read
        assert stranger.receive() == [b"", V, b"\x02", b"12345678", b""]
        after = broker(lab)
        assert {row.key: (row.slots, row.free) for row in after.workers} == {
            row.key: (row.slots, row.free) for row in before.workers
        }
        assert after.ledger == before.ledger
        assert stranger.id in {incident.peer for incident in after.incidents}
    lab.run(BulkSpec("ping", 50, timeout=WAIT))
    assert lab.wait_run(WAIT)
    assert lab.report()["verdict"] == "pass"


def test_an_order_of_the_systems_own_reaches_the_client_and_a_destructive_one_does_not_always(endpoint: str) -> None:
    with LiveLab(SYSTEMS["conversation"], bind=(endpoint,), workers=1, readonly=True) as lab:
        with pytest.raises(Refused, match="stopping workers is refused: readonly is set"):
            lab.order_client(StopWorkers(), "stopping workers")
        assert lab.wait_registered(1, WAIT)
        lab.order_client(ListJobs())
        until(lambda: lab.client_view().answers)
        assert lab.client_view().answers == ((1, JobsListed(1, (), 0, 10)),)


CHANGES: dict[str, Any] = {
    "run": lambda lab: lab.run(BulkSpec("ping", 1, timeout=WAIT)),
    "ping": lambda lab: lab.ping(),
    "stop a run": lambda lab: lab.stop_run(),
    "stop a worker": lambda lab: lab.stop_worker(b"w"),
    "pull the plug": lambda lab: lab.pull_plug(),
    "hand back": lambda lab: lab.hand_back(),
    "register": lambda lab: lab.register(),
    "deregister": lambda lab: lab.deregister(),
    "bulk": lambda lab: lab.bulk(),
    "endbulk": lambda lab: lab.endbulk(),
    "add": lambda lab: lab.add_workers(1),
    "remove": lambda lab: lab.remove_workers(1),
    "order": lambda lab: lab.order_client(object(), "changing something"),
}


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_a_read_only_lab_of_every_system_refuses_every_change(endpoint: str, name: str) -> None:
    with LiveLab(SYSTEMS[name], bind=(endpoint,), workers=2, readonly=True) as lab:
        assert lab.wait_registered(2, WAIT)
        for change in CHANGES.values():
            with pytest.raises(Refused, match="is refused: readonly is set"):
                change(lab)
        assert lab.run_view() is None and lab.workers().here == 2
        lab.inspect(b"w")


def test_workers_that_have_left_are_not_here(endpoint: str) -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=3) as lab:
        until(lambda: lab.workers() == (3, 3))
        lab.remove_workers(2)
        until(lambda: lab.workers() == (1, 1))
        assert lab.health().failed == 0


def test_a_journal_is_a_new_file_and_holds_only_who_sat_down(endpoint: str, tmp_path: Path) -> None:
    path = tmp_path / "lab.journal"
    host, usual = SYSTEMS["roundrobin"].endpoint.rsplit(":", 1)
    with socket.socket() as other:
        with suppress(OSError):  # whoever has it already serves as well
            other.bind((host.removeprefix("tcp://"), int(usual)))
            other.listen()
        with LiveLab(SYSTEMS["roundrobin"], workers=2, journal=path) as lab:
            assert lab.wait_registered(2, WAIT)
    replay = Replay.open(path, SYSTEMS)
    begun = [record[3:5] for record in replay.records if record[0] == SEAT]
    assert begun[:2] == [["broker", "broker"]] * 2, "the usual port was taken"
    replay.seek(len(replay))
    assert replay.differences == []
    assert len(replay.pictures()["broker"].workers) == 0, "both said goodbye"
    with pytest.raises(Refused, match=f"no journal can be written to {path}: it exists; name a new file"):
        LiveLab(SYSTEMS["roundrobin"], journal=path).open()


def test_an_endpoint_that_a_protocol_can_not_do_with_is_refused(endpoint: str) -> None:
    for name in ("pingpong", "conversation", "negotiated"):
        lab = LiveLab(SYSTEMS[name], connect="tcp://127.0.0.1:none", workers=0, broker=False)
        with pytest.raises(Refused, match=f"^{name}: tcp://127.0.0.1:none"):
            lab.open()


def test_f11_a_wall_clock_that_was_wrong_at_the_start_is_set_right_and_newcomers_join(
    monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    real, shift = wallclock.wall_offset, -3600.0
    for module in (wallclock, lab_module):
        monkeypatch.setattr(module, "wall_offset", lambda: real() + shift)
    with LiveLab(SYSTEMS["negotiated"], bind=(endpoint,), workers=2) as lab:
        assert lab.wait_registered(2, WAIT)
        shift = 0.0
        until(lambda: any("jumped +3600 s" in fact.text for fact in lab.feed.since(0)[0]))
        lab.bulk()
        assert lab.wait_registered(10, WAIT)
        lab.ping()
        assert lab.wait_run(WAIT) and lab.report()["verdict"] == "pass"
        assert not [name for name, times in broker(lab).counters if name.startswith("told") and times]


def test_a_busy_default_port_is_passed_over_and_said(endpoint: str) -> None:
    with (
        LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=0),
        pytest.raises(Refused, match=f"{endpoint}.*--bind"),
    ):
        LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=0).open()


@pytest.mark.parametrize("endpoint", ["tcp://0.0.0.0:6714", "tcp://*:6714", "tcp://192.0.2.1:6714"])
def test_an_endpoint_for_everybody_is_refused_with_the_reason(endpoint: str) -> None:
    with pytest.raises(Refused, match="roundhouse keys new NAME"):
        LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=0).open()


@pytest.mark.parametrize("endpoint", ["127.0.0.1:6714", "tcp://", "tcp://127.0.0.1", "udp://127.0.0.1:1"])
def test_what_is_no_endpoint_is_refused_with_the_form(endpoint: str) -> None:
    with pytest.raises(Refused, match=r"write tcp://127\.0\.0\.1:PORT"):
        LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=0).open()


def test_a_thousand_workers_join_work_and_leave(endpoint: str) -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=1000) as lab:
        assert lab.wait_registered(1000, WAIT)
        lab.run(BulkSpec("ping", 2000, in_flight=500, timeout=WAIT))
        assert lab.wait_run(WAIT)
        assert lab.report()["verdict"] == "pass"


def test_a_closed_lab_leaves_no_thread(endpoint: str) -> None:
    before = set(threading.enumerate())
    lab = LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,)).open()
    assert lab.wait_registered(10, WAIT)
    lab._nodes["pool"].order("worker-1", Leave())
    lab.close()
    assert set(threading.enumerate()) == before
