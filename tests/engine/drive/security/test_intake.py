"""Messages without an end, on real sockets: who is cut off, who is not, and that the memory comes back."""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
import zmq

from engine.core import Note
from engine.drive.links import Links
from engine.drive.node import Node
from engine.drive.security import intake
from engine.drive.security.intake import TURNS, Intake, Unfinished, give_back, received
from engine.drive.security.watched import GROWN, Watched
from engine.drive.sockets import Context, make_context
from engine.feed import Feed
from engine.parts.limits import MAX_MESSAGE, MAX_UNFINISHED
from tests.helpers.processes import free_endpoint, until
from tests.helpers.toys import Probe, dealer, router

KIB, MIB = 1024, 1024 * 1024
BOUND = MIB
GREETING = (
    b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL".ljust(64, b"\0") + b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
)
WHOLE = b"\0\x05whole"

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much has come by a connection")


class House:
    """A broker's socket on a node, what its core gets, and what is said."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.context: Context = make_context(self.notes.append)
        self.node = Node("node", self.context, Feed())
        self.node.start()
        self.endpoint, self.core = free_endpoint(), Probe()
        self.node.seat("broker", router(self.core, self.endpoint)).result()

    def peer(self) -> socket.socket:
        """A raw peer that has greeted."""
        made = socket.create_connection(("127.0.0.1", int(self.endpoint.rpartition(":")[2])), 10)
        made.sendall(GREETING)
        answer = b""
        while b"READY" not in answer:
            answer += made.recv(4096)
        return made

    def serves(self) -> None:
        """Wait until a newcomer is heard."""
        before = len(self.core.got)
        with self.peer() as honest:
            honest.sendall(WHOLE)
            until(lambda: len(self.core.got) > before)
        assert self.core.got[-1][1:] == [b"whole"]


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr(intake, "STEP", 64 * KIB)
    monkeypatch.setattr(intake, "MAX_MESSAGE", BOUND)
    made = House()
    yield made
    assert made.node.stop(60) and made.node.dead is None and made.context.door.dead is None
    made.context.term()


def frames(size: int, total: int) -> bytes:
    """Frames of this size that say that more follow."""
    head = b"\x01" + bytes([size]) if size < 256 else b"\x03" + size.to_bytes(8, "big")
    return (head + bytes(size)) * (total // (len(head) + size) + 1)


def pour(peer: socket.socket, some: bytes) -> None:
    """Send this again and again until the other end has closed."""
    peer.setblocking(False)
    rest, sent = memoryview(some), 0
    with suppress(ConnectionError):
        while True:
            can_read, can_write, _ = select.select([peer], [peer], [], 10)
            assert can_read or can_write, "neither read nor closed"
            if can_read and not peer.recv(4096):
                return
            if can_write:
                some_of_it = peer.send(rest)
                rest = rest[some_of_it:] or memoryview(some)
                sent += some_of_it
                assert sent < 256 * BOUND, "it is not cut off"


@linux
@pytest.mark.parametrize("first", [b"", WHOLE], ids=["at once", "after a whole message"])
@pytest.mark.parametrize("size", [0, 200, 64 * KIB])
def test_who_sends_a_message_without_an_end_is_cut_off_and_others_are_served(
    house: House, size: int, first: bytes
) -> None:
    with house.peer() as peer:
        host, port = peer.getsockname()
        peer.sendall(first)
        until(lambda: len(house.core.got) == bool(first))
        pour(peer, frames(size, 64 * KIB))
    until(lambda: house.notes)
    (note,) = house.notes
    assert note.level == "bad" and house.context.door.cut == 1
    assert f"of one message and no end of it came from {host}:{port} at {house.endpoint}: it was cut off" in note.text
    house.serves()
    assert len(house.core.got) == 1 + bool(first), "nothing of it was handed over"


@linux
def test_the_memory_of_what_was_cut_off_comes_back(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[None] = []
    monkeypatch.setattr("engine.drive.security.door.FREED", 0.2)
    monkeypatch.setattr("engine.drive.security.door.give_back", lambda: asked.append(None))
    monkeypatch.setattr(intake, "MAX_MESSAGE", 4 * MIB)
    process = psutil.Process()
    before = process.memory_info().rss

    def small() -> bool:
        give_back()  # again, as what libzmq has not freed yet can not be given back
        return process.memory_info().rss < before + 32 * MIB

    for _ in range(4):  # of frames of nothing, each of which is 64 bytes to libzmq: 4 MiB are 128
        with house.peer() as peer:
            pour(peer, frames(0, 64 * KIB))
    until(lambda: house.context.door.cut == 4)
    until(lambda: asked, "the door's asking for it")
    until(small, "the memory")


@linux
def test_connections_that_send_a_little_each_are_bounded_together(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MAX_UNFINISHED", 3 * MIB)
    with ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(house.peer()).sendall(frames(60_000, 800 * KIB))
        until(lambda: house.context.door.cut == 3)
        house.serves()
        assert house.context.door.cut == 3 and len(house.notes) == 1


@linux
def test_nobody_is_cut_off_for_much_that_a_busy_broker_has_not_read_yet(house: House) -> None:
    """Whole messages, many times the bound, while the broker's thread does something else."""
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        assert go.wait(60)

    before = house.context.door.cut
    one = b"\x02" + (100 * KIB).to_bytes(8, "big") + bytes(100 * KIB)
    with house.peer() as peer, house.peer() as other:
        house.node._inbox.post(hold)
        assert held.wait(60)
        sender = threading.Thread(target=peer.sendall, args=(one * 200,))
        sender.start()
        until(lambda: any(size > 2 * BOUND for size in grown(house)), "the bytes")
        go.set()
        sender.join()
        until(lambda: len(house.core.got) == 200)
        other.sendall(WHOLE)
        peer.sendall(WHOLE)
        until(lambda: len(house.core.got) == 202)
    assert house.context.door.cut == before and house.notes == []


def grown(house: House) -> list[int]:
    """What the door was told last to have come by each connection."""
    return [size for watched in house.context.door._watched.values() for _, size in list(watched.intake._open.values())]


@linux
def test_a_message_as_large_as_may_be_is_handed_over(house: House) -> None:
    with house.peer() as peer:
        for _ in range(3):
            peer.sendall(frames(100 * KIB, BOUND - 300 * KIB))
            until(lambda: any(grown(house)))
            peer.sendall(WHOLE)
        until(lambda: len(house.core.got) == 3)
    assert house.context.door.cut == 0


@linux
def test_over_ipc_nobody_is_looked_at(house: House, tmp_path: Path) -> None:
    """Those are of this user, and the kernel does not tell what has come."""
    endpoint, core, peer = f"ipc://{tmp_path}/s", Probe(), Probe()
    house.node.seat("inner", router(core, endpoint)).result()
    house.node.seat("peer", dealer(peer, endpoint)).result()
    house.node.order("peer", [b"hello"])
    until(lambda: core.got)
    assert grown(house) == []


def test_where_it_can_not_be_told_nobody_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = os.pipe()
    one = Intake()
    one.accepted(ends[0], "tcp://h:1")
    monkeypatch.setattr(sys, "platform", "darwin")
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, socket.create_connection(listener.getsockname()) as peer:
        one.accepted(peer.fileno(), "tcp://h:1")
        assert not one and one.look() == [] and received(peer.fileno()) is None
    for end in ends:
        os.close(end)


# ---- the rules, without sockets -----------------------------------------------------------------------------------


@pytest.fixture
def came(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """What has come by each connection."""
    come: dict[int, int] = {}
    monkeypatch.setattr(intake, "received", come.get)
    monkeypatch.setattr(intake, "_taken", lambda fd: come.get(fd, 0))
    return come


def test_only_what_came_since_its_messages_are_looked_for_counts(came: dict[int, int]) -> None:
    cut: list[tuple[int, int]] = []
    one = Unfinished(lambda fd, size: cut.append((fd, size)))
    came[7] = 10 * MAX_MESSAGE
    one.grown(7, 1, False)
    came[7] += MAX_MESSAGE
    one.grown(7, 1, False)
    assert one.judge(True) == [] and 7 in one
    came[7] += 1
    one.grown(7, 1, False)
    assert one.judge(False) == [], "not everything has been read"
    assert one.judge(True) == [7] and cut == [(7, MAX_MESSAGE + 1)] and 7 not in one


def test_a_message_of_an_accused_one_acquits_it(came: dict[int, int]) -> None:
    one = Unfinished(lambda fd, size: pytest.fail("cut off"))
    came[7] = 2 * MAX_MESSAGE
    one.grown(7, 1, True)
    one.came(7)
    assert one.judge(True) == [] and 7 not in one


def test_a_broker_that_is_never_idle_cuts_off_after_everybody_had_a_turn(came: dict[int, int]) -> None:
    cut: list[int] = []
    one = Unfinished(lambda fd, size: cut.append(fd))
    came[7] = 2 * MAX_MESSAGE
    one.grown(7, 5, True)
    for _ in range(TURNS + 4):
        one.came(8)
        assert one.judge(False) == []
    one.came(8)
    assert one.judge(False) == cut == [7]


def test_of_many_the_largest_is_cut_off_first(came: dict[int, int]) -> None:
    cut: list[int] = []
    one = Unfinished(lambda fd, size: cut.append(fd))
    part = MAX_UNFINISHED // 6
    for fd in range(6):
        came[fd] = part + fd
        one.grown(fd, 6, True)
    assert one.judge(True) == cut == [5]
    assert one.judge(True) == []


def test_a_connection_is_looked_at_again_first_when_it_has_grown(
    came: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "SLICE", 2)
    one = Intake()
    for fd in range(4):
        came[fd] = 0
        one.accepted(fd, f"tcp://h:{fd}")
    came[1] = intake.STEP
    assert one.look() == [1] and one.look() == []  # 1 and 2
    came[3] = intake.STEP
    came[1] += intake.STEP - 1
    assert one.look() == [3] and one.endpoint(3) == "tcp://h:3"
    one.ended(3)
    assert one.endpoint(3) is None and one.look() == []


def test_a_router_looks_by_whom_messages_come_only_while_somebody_has_grown(came: dict[int, int]) -> None:
    one = Links("main")
    one.hear(zmq.EVENT_ACCEPTED, 7)
    one.fresh.clear()  # it has spoken
    came[7] = intake.STEP
    one.hear(GROWN, 7)
    assert one.fresh == {7}
    one.hear(zmq.EVENT_DISCONNECTED, 7)
    assert not one.fresh and 7 not in one.unfinished
    one.hear(GROWN, 9)  # of one that has ended
    assert not one.fresh


def test_what_is_said_of_many_is_said_once_and_all_are_counted() -> None:
    it = Watched(None, b"", "tcp://h:1", None, lambda event, fd: None)  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as stack:
        for _ in range(3):
            peer = stack.enter_context(socket.create_connection(listener.getsockname()))
            it.intake._open[peer.fileno()] = ("tcp://h:1", 0)
            it.cut_off(peer.fileno(), 5 * MIB)
        it.cut_off(-1, MIB)  # one that has ended
        assert it.cut == 3 and it.untold
        (note,) = it.notes(0.0)
        assert f"127.0.0.1:{listener.getsockname()[1]} at" in note.text and note.text.endswith("; and 2 others")
        assert not it.untold
