"""What a monitor's events mean."""

from __future__ import annotations

import os

import zmq

from engine.drive.security.strangers import AGAIN
from engine.drive.security.users import Trust
from engine.drive.security.watched import Watched


def watched(trust: Trust | None = None) -> Watched:
    return Watched(None, b"", "tcp://h:1", trust, lambda event, fd: None)  # type: ignore[arg-type]


def test_every_kind_of_end() -> None:
    it = watched()
    for fd, event in enumerate(
        (
            zmq.EVENT_HANDSHAKE_SUCCEEDED,
            zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL,
            zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL,
            zmq.EVENT_HANDSHAKE_FAILED_AUTH,
        )
    ):
        it.hear(zmq.EVENT_ACCEPTED, fd, 0.0)
        it.hear(event, 0, 0.0)
        it.hear(zmq.EVENT_DISCONNECTED, fd, 0.0)
    it.greetings.settle(0.0)
    assert it.greetings.refused == 1 and it.untold
    assert [note.text for note in it.notes(0.0)] == [
        "a connection was refused at tcp://h:1: only ZMTP 3 is served, which a web page can not speak"
    ]
    it.hear(zmq.EVENT_ACCEPTED, 7, 1.0)
    it.hear(zmq.EVENT_DISCONNECTED, 7, 1.0)
    it.greetings.settle(1.0)
    assert list(it.notes(1.0)) == [] and it.untold
    assert len(list(it.notes(AGAIN))) == 1 and not it.untold


def test_anybody_is_admitted_where_it_is_not_private() -> None:
    ends = os.pipe()
    it = watched()
    it.hear(zmq.EVENT_CONNECTED, ends[0], 0.0)
    assert it.admits_peer(ends[0]) and it.admits_broker()
    it = watched(Trust(os.geteuid()))
    assert it.admits_broker(), "it has connected to nobody yet"
    it.hear(zmq.EVENT_CONNECTED, ends[0], 0.0)
    assert not it.admits_peer(ends[0]) and not it.admits_broker() and it.untold
    for end in ends:
        os.close(end)
