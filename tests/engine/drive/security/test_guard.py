"""Which messages are taken where peers have keys. On real sockets: tests/loopback/test_curve.py."""

from __future__ import annotations

from pathlib import Path

import pytest
import zmq

from engine.core import Connected, Disconnected, Frames
from engine.core import Socket as Spec
from engine.drive.links import Links
from engine.drive.security import guard as module
from engine.drive.security import keys
from engine.drive.security.guard import Guard
from engine.drive.security.keyring import Keyring
from engine.drive.security.strangers import AGAIN
from engine.drive.security.watched import KEYS
from tests.engine.drive.security.test_door import Told
from tests.helpers.processes import WAIT, until

AT = "tcp://h:1"
A, B, FD, OTHER = b"peer-a", b"peer-b", 7, 8


class World:
    """A guard, its links, and the keys of two workers and a client."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.hung_up = folder, list[tuple[int, str]]()
        monkeypatch.setattr(module, "hang_up", lambda fd, endpoint: self.hung_up.append((fd, endpoint)))
        roles = {"w1": "worker", "w2": "worker", "c1": "client"}
        self.users = dict[str, bytes]()
        for name, role in roles.items():
            key = keys.make(folder, name, role)._replace(secret="")
            keys.authorize(folder, key)
            self.users[name] = key.public.encode()
        self.ring, self.links, self.told = Keyring(folder), Links("main"), Told()
        self.ring.refresh()
        spec = Spec("router", bind=(AT,), roles=("worker", "client"), said=self.said)
        self.guard = Guard(spec, [AT], self.ring, self.links, self.told)

    @staticmethod
    def said(frames: Frames) -> tuple[str, ...]:
        return (frames[1].decode(),) if frames[1] else ()

    def came(self, peer: bytes, user: bytes, fd: int) -> bool:
        """As a pump does it."""
        good = self.guard.users.get(peer) == user or self.guard.judge(peer, user, fd)
        if good:
            if fd not in self.links._standing:
                self.links.hear(zmq.EVENT_ACCEPTED, fd)
            self.links.look(peer, fd)
        return good


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_a_message_of_a_key_that_is_not_authorized_is_dropped_and_its_connection_ended(world: World) -> None:
    assert world.came(A, world.users["w1"], FD)
    assert not world.came(B, b"0" * 64, OTHER)
    assert world.hung_up == [(OTHER, AT)] and world.guard.cut == {B: OTHER} and world.guard.dropped == 1
    assert not world.came(B, b"", OTHER), "over tcp nobody comes without a key"
    assert world.links.told == [Connected("main", A)], "the core never heard of the other"


def test_who_comes_from_this_process_needs_no_key_and_its_name_is_nobodys(world: World) -> None:
    assert world.came(A, b"", -1)
    assert not world.came(A, world.users["w1"], FD)
    assert world.came(A, b"", -1)


def test_who_is_revoked_is_gone_for_the_core_and_is_sent_nothing_until_its_connection_has_ended(world: World) -> None:
    assert world.came(A, world.users["w1"], FD) and world.came(B, world.users["w2"], OTHER)
    world.links.told.clear()
    keys.revoke(world.folder, "w1")
    world.ring.refresh()
    assert world.came(A, world.users["w1"], FD), "nobody has told yet"
    world.guard.hear(KEYS, 0)
    assert world.links.told == [Disconnected("main", A)] and world.guard.cut == {A: FD} and world.hung_up == [(FD, AT)]
    assert not world.came(A, world.users["w1"], FD) and world.came(B, world.users["w2"], OTHER)
    world.links.hear(zmq.EVENT_DISCONNECTED, FD)
    world.guard.hear(zmq.EVENT_DISCONNECTED, FD)
    world.links.settle()
    assert world.guard.cut == {} and world.links.told == [Disconnected("main", A)], "told once"
    assert world.told.notes[0].text.endswith("is not authorized any more") and world.told.notes[0].subject == A


def test_a_name_belongs_to_its_first_key_until_that_is_revoked(world: World) -> None:
    assert world.came(A, world.users["w1"], FD)
    assert not world.came(A, world.users["w2"], OTHER)
    assert world.guard.cut == {A: OTHER} and "uses the name of another key's peer" in world.told.notes[0].text
    assert world.links.told == [Connected("main", A), Disconnected("main", A)]
    keys.revoke(world.folder, "w1")
    world.ring.refresh()
    world.guard.hear(KEYS, 0)
    assert world.came(A, world.users["w2"], OTHER)


def test_one_that_shares_a_connection_has_its_key_and_the_connection_answers_for_its_name(world: World) -> None:
    world.came(A, world.users["w1"], FD)
    world.came(B, world.users["w2"], OTHER)
    world.links.told.clear()
    user = world.users["w2"]
    assert world.guard.judge(b"rider", user, OTHER, B) and world.guard.users[b"rider"] == user
    assert not world.guard.judge(A, user, OTHER, B) and world.hung_up == [(OTHER, AT)]
    assert world.guard.cut == {B: OTHER} and world.links.told == [Disconnected("main", B)], (
        "and not of whose name it is"
    )
    assert world.guard.users[A] == world.users["w1"]


def test_what_a_role_may_not_say_is_dropped_and_the_rest_is_taken(world: World) -> None:
    assert (
        world.came(A, world.users["w1"], FD) and world.came(B, world.users["c1"], OTHER) and world.came(b"own", b"", -1)
    )
    mine: list[Frames] = [[A, b"worker"], [A, b""], [B, b"client"], [b"own", b"client"], [b"own", b"worker"]]
    assert world.guard.taken([[A, b"client"], *mine, [B, b"worker"]]) == mine
    assert world.guard.dropped == 2 and not world.guard.cut
    assert "w1 (worker" in world.told.notes[0].text and "says what only a client may" in world.told.notes[0].text


def test_of_who_was_cut_off_nothing_of_the_batch_is_taken(world: World) -> None:
    assert world.came(A, world.users["w1"], FD)
    assert not world.came(A, world.users["w2"], OTHER)
    assert world.guard.taken([[A, b"worker"]]) == []


def test_a_thousand_that_are_cut_off_are_said_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1000):
        assert not world.came(b"%d" % number, b"0" * 64, 100 + number)
    assert world.guard.dropped == 1000 and len(world.told.notes) == 1
    world.guard._said -= AGAIN
    assert not world.came(b"x", b"0" * 64, 5) and len(world.told.notes) == 2


def test_names_have_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 10)
    for number in range(50):
        assert world.came(b"%d" % number, world.users["w1"], FD)
    assert len(world.guard.users) == 10


@pytest.mark.parametrize("handover", [True, False], ids=["the newest", "the oldest"])
def test_of_two_connections_of_one_id_libzmq_tells_nobody(handover: bool) -> None:
    """Why a silent peer of another key is sent what is meant for the id that it took (docs/security.md)."""
    identities: list[bytes] = []
    with zmq.Context() as context:
        zap, router = context.socket(zmq.REP), context.socket(zmq.ROUTER)
        zap.bind("inproc://zeromq.zap.01")
        router.set(zmq.ZAP_DOMAIN, b"here")
        router.set(zmq.ROUTER_HANDOVER, handover)
        address = f"tcp://127.0.0.1:{router.bind_to_random_port('tcp://127.0.0.1')}"
        events = router.get_monitor_socket()

        def connected() -> zmq.Socket[bytes]:
            dealer = context.socket(zmq.DEALER)
            dealer.set(zmq.ROUTING_ID, b"id")
            dealer.connect(address)
            assert zap.poll(int(WAIT * 1000))
            asked = zap.recv_multipart()
            identities.append(asked[4])
            zap.send_multipart([b"1.0", asked[1], b"200", b"OK", b"", b""])
            assert [told(events), told(events)] == [zmq.EVENT_ACCEPTED, zmq.EVENT_HANDSHAKE_SUCCEEDED]
            return dealer

        first = connected()
        first.send(b"hello")
        assert router.poll(int(WAIT * 1000)) and router.recv_multipart() == [b"id", b"hello"]
        second = connected()  # and says nothing
        served = second if handover else first
        until(lambda: router.send_multipart([b"id", b"secret"]) or served.poll(10))
        assert served.recv() == b"secret" and not events.poll(0)
        assert identities == [b"", b""], "the id is not named"
        router.disable_monitor()
        for socket in (events, first, second, router, zap):
            socket.close(0)


def told(events: zmq.Socket[bytes]) -> int:
    """The next event."""
    assert events.poll(int(WAIT * 1000))
    return int.from_bytes(events.recv_multipart()[0][:2], "little")
