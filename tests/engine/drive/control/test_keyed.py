"""Control over tcp: who has which key may look, give orders, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.drive.control.keyed import LOOKS, ROLES
from engine.drive.security import keys
from engine.drive.security.curve import Curve
from engine.labs.live import LiveLab
from tests.helpers.processes import WAIT, free_endpoint, until

MS = int(WAIT * 1000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, role in {"depot": "broker", "w1": "worker", "op": "operator", "v1": "viewer"}.items():
        keys.authorize(tmp_path, keys.make(tmp_path, name, role)._replace(secret=""))
    return tmp_path


@pytest.fixture
def lab(folder: Path) -> Iterator[LiveLab]:
    at, control = free_endpoint(), free_endpoint()
    curve = Curve(folder, "depot", control=control)
    with LiveLab(SYSTEMS["conversation"], bind=(at,), workers=1, control=folder / "c", curve=curve) as lab:
        assert lab.wait_registered(1, WAIT)
        yield lab


class Peer:
    """Who asks, with a key."""

    def __init__(self, folder: Path, lab: LiveLab, name: str) -> None:
        assert lab._curve is not None
        self.context = zmq.Context[Any]()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger, self.socket.rcvtimeo = 0, MS
        own = keys.own(folder, name)
        self.socket.set(zmq.CURVE_SECRETKEY, keys.curve(own.secret))
        self.socket.set(zmq.CURVE_PUBLICKEY, keys.curve(own.public))
        self.socket.set(zmq.CURVE_SERVERKEY, keys.curve(keys.own(folder, "depot").public))
        self.socket.connect(lab._curve.control)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close(0)
        self.context.term()

    def ask(self, word: str, **fields: Any) -> dict[str, Any]:
        self.socket.send(msgpack.packb({"v": 1, "id": 7, "ask": word, **fields}))
        said: dict[str, Any] = msgpack.unpackb(self.socket.recv())
        assert said.pop("v") == 1 and said.pop("id") == 7
        return said


def said(lab: LiveLab) -> str:
    return "\n".join(fact.text for fact in lab.feed.since(0)[0])


def test_a_viewer_looks_and_its_orders_are_refused_and_said(folder: Path, lab: LiveLab) -> None:
    with Peer(folder, lab, "v1") as viewer:
        assert viewer.ask("hello")["role"] == "broker"
        assert viewer.ask("jobs")["say"] == "jobs"
        words = "stop: " + keys.own(folder, "v1").words + " may look, and give no orders: that takes an operator's key"
        assert viewer.ask("stop", NumProc=0) == {"say": "refused", "Why": words}
        assert viewer.ask("order", Name="register", Args=b"")["say"] == "refused"
    assert words in said(lab) and lab.registered() == 1


def test_an_operator_gives_orders(folder: Path, lab: LiveLab) -> None:
    with Peer(folder, lab, "op") as operator:
        assert operator.ask("stop", NumProc=0)["say"] == "stopping"
    until(lambda: lab.registered() == 0)


def test_a_workers_key_used_as_an_operators_is_not_even_connected(folder: Path, lab: LiveLab) -> None:
    with Peer(folder, lab, "w1") as worker:
        worker.socket.send(msgpack.packb({"v": 1, "id": 7, "ask": "stop", "NumProc": 0}))
        until(lambda: f"{keys.own(folder, 'w1').words} may not do what is done there by a viewer" in said(lab))
        assert not worker.socket.poll(0) and lab.registered() == 1


def test_a_viewer_that_is_revoked_is_answered_nothing_more(folder: Path, lab: LiveLab) -> None:
    with Peer(folder, lab, "v1") as viewer:
        assert viewer.ask("hello")["say"] == "hello"
        keys.revoke(folder, "v1")
        until(lambda: "is not authorized any more" in said(lab))
        viewer.socket.send(msgpack.packb({"v": 1, "id": 7, "ask": "hello"}))
        assert not viewer.socket.poll(100)


def test_an_endpoint_that_is_taken_is_said_and_the_rest_goes_on(folder: Path) -> None:
    at, control = free_endpoint(), free_endpoint()
    with zmq.Context[Any]() as context, context.socket(zmq.ROUTER) as other:
        other.bind(control)
        curve = Curve(folder, "depot", control=control)
        with LiveLab(SYSTEMS["pingpong"], bind=(at,), workers=0, control=folder / "c", curve=curve) as lab:
            assert f"nobody can attach or give orders over tcp: {control}" in said(lab)
            assert not lab.health().dead


def test_the_roles_and_words_are_known() -> None:
    assert set(ROLES) < set(keys.ROLES) and "stop" not in LOOKS and "order" not in LOOKS
