"""A broker and its fallback on nodes that are none. With real ones: tests/loopback/test_pair.py."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.errors import Refused
from engine.labs.brokers import Brokers, fallback, inner, paired
from engine.parts.view import BrokerView, LedgerView
from engine.protocols import negotiated
from engine.system import System

SYSTEM = negotiated.SYSTEM
HERE = "tcp://127.0.0.1:6717"


def view(serving: bool) -> BrokerView:
    return BrokerView(0.0, (), 0, 0, LedgerView(0, 0, (), 0, 0, 0), (), (), serving=serving)


class Seats:
    """What a lab is to its brokers: nodes by name, each with one seat or none."""

    def __init__(self, system: System = SYSTEM) -> None:
        self.did: list[tuple[Any, ...]] = []
        self.errors: dict[str, int] = {}  # endpoint → errno of binding it
        self.taken = ""  # the endpoint beside it that the error names
        self.nodes: dict[str, Any] = {}
        self.said: list[Note] = []
        self.brokers = Brokers(system, self.nodes, self.sit, lambda name: self.did.append(("left", name)))

    def sit(self, name: str, endpoints: tuple[str, ...]) -> None:
        if (number := self.errors.get(endpoints[0])) is not None:
            raise zmq.ZMQError(number, f"{self.taken or endpoints[0]}: as the socket says it")
        self.did.append(("sit", name, endpoints))
        self.nodes.setdefault(name, Node(name, self.did)).views = {name: view(name == "broker")}

    def open(self, *endpoints: str) -> tuple[str, ...]:
        return self.brokers.open(endpoints, self.said.append)


class Node:
    """A node that answers at once, or not at all."""

    def __init__(self, name: str, did: list[tuple[Any, ...]]) -> None:
        self.name, self.did = name, did
        self.views: dict[str, BrokerView] = {}
        self.error: Exception | None = None

    def ask_all(self) -> Future[dict[str, BrokerView]]:
        future: Future[dict[str, BrokerView]] = Future()
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.views)
        return future

    def order(self, name: str, order: object) -> None:
        self.did.append(("order", name, order))

    def remove(self, name: str) -> Future[None]:
        del self.views[name]
        self.did.append(("remove", name))
        future: Future[None] = Future()
        future.set_result(None)
        return future


@pytest.fixture
def pair() -> Seats:
    seats = Seats()
    seats.open(HERE)
    seats.brokers.open_fallback()
    seats.did.clear()
    return seats


def test_only_a_protocol_of_pairs_is_paired_and_not_if_its_fallback_is_elsewhere() -> None:
    first, second = inner(SYSTEM), fallback(SYSTEM)
    options = paired(SYSTEM, negotiated.Options())
    assert (options.primary, options.fallback) == (first, second)
    assert paired(SYSTEM, replace(options, fallback="tcp://127.0.0.1:7000")) is None
    assert paired(SYSTEMS["roundrobin"], SYSTEMS["roundrobin"].options()) is None


def test_a_port_that_is_taken_is_passed_over_and_told() -> None:
    seats = Seats()
    seats.errors[HERE] = zmq.EADDRINUSE
    assert seats.open() == ("tcp://127.0.0.1:7717",)
    assert seats.did == [("left", "broker"), ("sit", "broker", ("tcp://127.0.0.1:7717", inner(SYSTEM)))]
    (note,) = seats.said
    assert note == Note("warn", f"{HERE} is taken by another program; this broker is at tcp://127.0.0.1:7717")


def test_a_port_beside_it_that_is_taken_is_named() -> None:
    seats = Seats()
    seats.errors[HERE], seats.taken = zmq.EADDRINUSE, "tcp://127.0.0.1:6817"
    seats.open()
    assert seats.said[0].text == f"{seats.taken} is taken by another program; this broker is at tcp://127.0.0.1:7717"
    with pytest.raises(Refused, match=f"{seats.taken}: .*, which the broker at {HERE} needs too; name a free one"):
        seats.open(HERE)


def test_an_endpoint_that_was_named_is_not_passed_over() -> None:
    seats = Seats()
    seats.errors[HERE] = zmq.EADDRINUSE
    with pytest.raises(Refused, match="name a free one with --bind"):
        seats.open(HERE)
    seats.errors[HERE] = zmq.EADDRNOTAVAIL
    with pytest.raises(Refused, match="can not bind"):
        seats.open(HERE)
    with pytest.raises(Refused, match="roundhouse keys new NAME"):
        seats.open("tcp://0.0.0.0:6717")
    assert seats.said == []


def test_the_one_that_serves_is_found(pair: Seats) -> None:
    assert pair.brokers.serving()[0] == "broker"
    pair.nodes["broker"].views["broker"] = view(False)
    assert pair.brokers.serving()[0] == "broker", "where none serves, the first"
    pair.nodes["fallback"].views["fallback"] = view(True)
    assert pair.brokers.serving()[0] == "fallback"
    pair.brokers.order("look")
    assert pair.did == [("order", "broker", "look"), ("order", "fallback", "look")]


def test_pulling_the_plug_and_bringing_it_back(pair: Seats) -> None:
    pair.brokers.pull_plug()
    assert (list(pair.brokers.views()), pair.brokers.serving()[0]) == (["fallback"], "fallback")
    with pytest.raises(Refused, match="pulled already"):
        pair.brokers.pull_plug()
    pair.brokers.hand_back()
    first, second = pair.nodes["broker"].views, pair.nodes["fallback"].views
    for serves, other, told in (
        (True, view(False), "the primary serves: there is nothing to hand back"),
        (False, view(False), "has not heard yet that it waits"),
        (False, view(True)._replace(terms=(("peer", "primary"),)), "has not heard yet that it waits"),
    ):
        first["broker"], second["fallback"] = view(serves), other
        with pytest.raises(Refused, match=told):
            pair.brokers.hand_back()
    del second["fallback"]
    with pytest.raises(Refused, match="the fallback is gone"):
        pair.brokers.hand_back()
    second["fallback"] = view(True)._replace(terms=(("peer", "passive"),))
    pair.brokers.hand_back()
    assert pair.did == [
        ("remove", "broker"),
        ("left", "broker"),
        ("sit", "broker", (HERE, inner(SYSTEM))),
        ("order", "fallback", negotiated.HandBack()),
    ]


def test_a_primary_whose_port_was_taken_meanwhile_does_not_come_back(pair: Seats) -> None:
    pair.brokers.pull_plug()
    pair.errors[HERE] = zmq.EADDRINUSE
    with pytest.raises(Refused, match="can not bind"):
        pair.brokers.hand_back()
    assert list(pair.brokers.views()) == ["fallback"]


def test_a_broker_alone_has_no_plug_to_pull() -> None:
    seats = Seats()
    seats.open(HERE)
    for order in (seats.brokers.pull_plug, seats.brokers.hand_back):
        with pytest.raises(Refused, match="no fallback in this process"):
            order()


def test_one_that_is_dead_or_gone_is_told(pair: Seats) -> None:
    pair.nodes["fallback"].error = RuntimeError("it died")
    with pytest.raises(Refused, match="the fallback does not answer: it died"):
        pair.brokers.serving()
    pair.nodes["fallback"].error = TimeoutError()
    with pytest.raises(Refused, match="too busy"):
        pair.brokers.serving()
    pair.nodes["fallback"].error = None
    pair.nodes["fallback"].views.clear()
    pair.brokers.pull_plug()
    with pytest.raises(Refused, match="its plug is pulled"):
        pair.brokers.serving()
