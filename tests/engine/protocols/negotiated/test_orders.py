"""Requests and answers of an operator, as they stand on the control socket."""

from __future__ import annotations

import msgpack
import pytest

from engine.protocols.negotiated import orders
from engine.protocols.negotiated.orders import ORDERS, HandBack, Refusal, Said, Serve, ShowPair


@pytest.mark.parametrize("request_", [ShowPair(), HandBack(), Serve()])
def test_a_request_is_read_as_it_was_packed(request_: orders.Request) -> None:
    assert orders.request(orders.pack_request(7, request_)) == (7, request_)
    assert not ORDERS.follows(request_) and ORDERS.refusal(request_) == ""


@pytest.mark.parametrize("value", [{}, {"Ask": "pair"}, {"Ask": "pair", "Ref": -1}, {"Ask": "x", "Ref": 1}, [], 7])
def test_what_is_no_request_is_none(value: object) -> None:
    assert orders.request(msgpack.packb(value)) == "unreadable request"
    assert orders.request(b"\xc1") == "unreadable request"


@pytest.mark.parametrize("answer", [Said(3, ("one", "two")), Refusal(4, "because")])
def test_an_answer_is_read_as_it_was_packed(answer: orders.Answer) -> None:
    assert orders.answered(orders.load(orders.pack_answer(answer))) == answer


@pytest.mark.parametrize(
    "value", [{}, {"Ref": 1}, {"Ref": 1, "Say": "said", "Lines": [1]}, {"Ref": 1, "Say": "refused"}]
)
def test_what_is_no_answer_is_none(value: dict[str, object]) -> None:
    assert orders.answered(value) == "unreadable answer"


def test_orders_are_taken_beside_an_endpoint_within_the_process() -> None:
    """O27: nobody else reaches it."""
    assert orders.beside("inproc://negotiated") == "inproc://negotiated-control"
    assert orders.asked("back") == HandBack()
