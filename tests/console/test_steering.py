"""Limits of dispatch in words."""

from __future__ import annotations

import pytest

from console.steering import client_of, limit_of, limited
from engine.errors import Refused
from engine.parts.orders import Throttle
from engine.parts.valve import ALL
from engine.parts.view import ClientRow
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options

VIEW = Broker(Options()).snapshot(0.0)._replace(clients=(ClientRow(b"flood", 5, 0.0, 2, 0, 0.0),))


@pytest.mark.parametrize(
    ("word", "text", "order", "asks", "said"),
    [
        ("pause", "", Throttle(0.0), "Give out no tasks?", "tasks: paused"),
        ("resume", "", Throttle(None), "", "tasks: no limit"),
        ("throttle", "2.5", Throttle(2.5), "Give out 2.5 tasks a second at most?", "tasks: 2.5 a second at most"),
        ("throttle", "0 flood", Throttle(0.0, b"flood"), "Give out no tasks of client flood?", "tasks of client flood"),
        ("throttle", "off flood", Throttle(None, b"flood"), "", "tasks of client flood: no limit"),
    ],
)
def test_what_is_typed_is_an_order(word: str, text: str, order: Throttle, asks: str, said: str) -> None:
    made = limit_of(word, text, VIEW)
    assert (made.order, made.asks) == (order, asks) and made.said.startswith(said)


@pytest.mark.parametrize("text", ["fast", "-1", "nan", "inf", "1e10", ""])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(Refused, match="throttle needs a number of tasks a second, or off"):
        limit_of("throttle", text, VIEW)


def test_who_is_no_client() -> None:
    assert client_of("flood", VIEW) == b"flood"
    with pytest.raises(Refused, match="no client 'x' there; there are flood"):
        limit_of("throttle", "5 x", VIEW)
    with pytest.raises(Refused, match="there are none"):
        client_of("x", None)


def test_what_is_set_is_shown() -> None:
    assert limited(None) == limited(VIEW) == ""
    assert limited(VIEW._replace(limits=((ALL, 0.0),))) == "dispatch paused"
    assert limited(VIEW._replace(limits=((b"a", 1.0), (ALL, 100.0)))) == "at most 100 tasks/s · 1 client limited"
    assert limited(VIEW._replace(limits=((b"a", 1.0), (b"b", 0.0)))) == "2 clients limited"
