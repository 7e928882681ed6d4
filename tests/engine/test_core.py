"""The contract itself: what its values compare to, and what its defaults promise."""

from __future__ import annotations

import dataclasses
import typing

import pytest

from engine import core
from engine.core import MAIN, Core, Event, Finished, Note, Ordered, Received, Reopen, Seat, Send, Socket, Unsent
from engine.parts import orders
from tests.helpers.toys import Probe


def test_a_core_with_one_socket_never_names_it() -> None:
    assert Received([[b"x"]]).socket == Send([b"x"]).socket == Reopen().socket == Socket("router").name == MAIN
    assert Unsent([b"x"], "full").socket == MAIN


def test_events_and_commands_are_told_apart_by_match_and_not_by_their_fields() -> None:
    def kind(event: Event) -> str:
        match event:
            case Received(messages, "other"):
                return f"{len(messages)} on other"
            case Received():
                return "received"
            case Finished(key, True, _):
                return f"{key} is done"
            case Ordered(orders.Drain(worker)):
                return f"drain {worker!r}"
        return "something else"

    assert kind(Received([[b"a"], [b"b"]], "other")) == "2 on other"
    assert kind(Received([[b"a"]])) == "received"
    assert kind(Finished("k", True, b"")) == "k is done"
    assert kind(Finished("k", False, b"")) == "something else"
    assert kind(Ordered(orders.Drain(b"w"))) == "drain b'w'"
    assert kind(Ordered(orders.Inspect(b"w"))) == "something else"


@pytest.mark.parametrize("union", [core.Event, core.Command])
def test_every_event_and_command_is_an_immutable_value(union: object) -> None:
    for kind in typing.get_args(union):
        assert issubclass(kind, tuple) and kind.__doc__
        value = kind(*(f"field {i}" for i in range(len(kind._fields))))
        assert value == kind(*value)
        for field in kind._fields:
            with pytest.raises(AttributeError):
                setattr(value, field, None)


def test_a_seat_is_frozen_and_a_toy_core_fits_the_contract() -> None:
    toy: Core = Probe()  # the type checker holds this line
    seat = Seat(toy, (Socket("dealer", connect=("x",)),))
    with pytest.raises(dataclasses.FrozenInstanceError):
        seat.core = toy  # type: ignore[misc]
    assert toy.wake_at() == core.NEVER > 1e300


def test_a_note_is_about_nobody_unless_it_says_so() -> None:
    assert Note("info", "text").subject == b""
