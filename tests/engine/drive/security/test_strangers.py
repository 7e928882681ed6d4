"""Who is no peer of a private socket, and how it is told.

A trust of another uid takes this very process for a stranger, so most of it needs no other user of this machine. What a
real one tries: tests/loopback/test_strangers.py.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from engine.core import Socket as Spec
from engine.drive.security.strangers import AGAIN, BROKER, PEER, Strangers
from engine.drive.security.users import Trust, name_of
from engine.drive.sockets import make_context, open_socket
from tests.engine.drive.security.test_door import READY, V3, Told, closed, connected, heard, hears, joined
from tests.helpers.processes import WAIT, free_endpoint, until

OWN = os.geteuid()
ELSE = Trust(OWN + 1)  # of somebody else


def test_a_stranger_is_counted_and_named_with_the_way_to_admit_it() -> None:
    here, there = socket.socketpair()
    it = Strangers("tcp://127.0.0.1:6716", ELSE)
    assert it.note(0.0) is None
    assert not it.admits(here.fileno(), PEER)
    assert it.untold
    note = it.note(0.0)
    assert note is not None and note.level == "bad"
    assert note.text == (
        f"a peer of {name_of(OWN)} was refused at tcp://127.0.0.1:6716, which is for those of {name_of(OWN + 1)} "
        f"alone; --trust {OWN} admits it"
    )
    assert not it.admits(here.fileno(), BROKER) and it.note(AGAIN - 1) is None
    note = it.note(AGAIN)
    assert note is not None and note.text == (
        f"the broker at tcp://127.0.0.1:6716 is of {name_of(OWN)}, and this worker of {name_of(OWN + 1)}: "
        f"nothing is taken from it; --trust {OWN} takes it"
    )
    assert (it.count, it.untold) == (2, False)
    assert Strangers("x", Trust(OWN)).admits(here.fileno(), PEER)
    assert Strangers("x", ELSE._replace(others=frozenset({OWN}))).admits(here.fileno(), PEER)
    here.close()
    there.close()


def test_who_can_not_be_told_is_a_stranger_unless_such_are_trusted() -> None:
    ends = os.pipe()  # no connection at all
    it = Strangers("x", Trust(OWN))
    assert not it.admits(ends[0], PEER)
    note = it.note(0.0)
    assert note is not None and "a user who can not be told" in note.text and "--trust unknown" in note.text
    assert Strangers("x", Trust(OWN, frozenset({None}))).admits(ends[0], PEER)
    for end in ends:
        os.close(end)


@pytest.mark.parametrize("scheme", ["tcp", "ipc"])
def test_a_stranger_at_a_private_socket_is_cut_off_before_it_is_heard(tmp_path: Path, scheme: str) -> None:
    told = Told()
    context = make_context(told, ELSE)
    endpoint = free_endpoint() if scheme == "tcp" else f"ipc://{tmp_path}/x"
    router = open_socket(context, Spec("router", bind=(endpoint, "inproc://private"), private=True))
    with open_socket(context, Spec("dealer", connect=("inproc://private",))) as inner:
        if scheme == "tcp":
            closed(connected(endpoint, V3 + READY))
        else:
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(f"{tmp_path}/x")
                with suppress(BrokenPipeError, ConnectionResetError):
                    peer.sendall(V3 + READY)
                    while peer.recv(4096):
                        pass
        assert told.came.wait(WAIT) and "was refused at" in told.notes[0].text
        assert heard(router) == [] and context.door.strangers >= 1
        inner.send(b"hello")
        hears(router, b"hello")  # who is within the process is nobody else
    router.close()
    context.term()


@pytest.mark.parametrize("trust", [Trust(OWN), ELSE._replace(others=frozenset({OWN}))], ids=["own", "trusted"])
def test_who_is_no_stranger_is_served(trust: Trust) -> None:
    told, endpoint = Told(), free_endpoint()
    context = make_context(told, trust)
    with open_socket(context, Spec("router", bind=(endpoint,), private=True)) as router:
        peer = joined(endpoint)
        hears(router, b"hello")
        peer.close()
        assert context.door.strangers == 0 and told.notes == []
    context.term()


def test_a_strangers_broker_is_told_nothing_and_nothing_is_taken_from_it() -> None:
    told, endpoint = Told(), free_endpoint()
    context, other = make_context(told, ELSE), make_context()
    router = open_socket(other, Spec("router", bind=(endpoint,)))
    dealer = open_socket(context, Spec("dealer", connect=(endpoint,), routing_id=b"worker-1", private=True))
    assert told.came.wait(WAIT)
    assert told.notes[0].text.startswith(f"the broker at {endpoint} is of {name_of(OWN)}, and this worker of")
    assert not dealer.poll(0, 2), "nothing could be sent"
    assert router.poll(0) == 0
    for each in (dealer, router):
        each.close()
    context.term()
    other.term()


def test_the_right_broker_is_found_when_it_takes_the_port_over() -> None:
    told, endpoint = Told(), free_endpoint()
    context = make_context(told)
    with socket.create_server(("127.0.0.1", int(endpoint.rpartition(":")[2]))) as squatter:
        dealer = open_socket(context, Spec("dealer", connect=(endpoint,), private=True))
        squatter.accept()[0].close()
    router = open_socket(context, Spec("router", bind=(endpoint,), private=True))
    until(lambda: bool(dealer.poll(0, 2)), "the connection")
    dealer.send(b"hello")
    hears(router, b"hello")
    for each in (dealer, router):
        each.close()
    context.term()
