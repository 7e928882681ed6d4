"""Limits of dispatch."""

from __future__ import annotations

import pytest

from engine.core import NEVER, Command, Note
from engine.parts.valve import ALL, MOST, Valve, terms

MANY = 4000  # times that somebody asks in 100 seconds: twenty times a second, and room


def run(valve: Valve, client: bytes, seconds: float) -> int:
    """How many tasks go in so many seconds, if somebody asks whenever it is due."""
    now, given = 0.0, 0
    for _ in range(MANY):
        valve.ask_anew()
        while valve.flows(now) and valve.lets(client, now):
            given += 1
            assert given <= MANY * 1000, "there is no end to it"
        assert valve.due > now
        now = valve.due
        if now >= seconds:
            return given
    raise AssertionError("it asks to be asked too often")


@pytest.mark.parametrize("rate", [0.5, 1.0, 7.0, 300.0, 10_000.0])
def test_a_rate_is_kept(rate: float) -> None:
    valve = Valve()
    valve.limit(ALL, rate, 0.0, [])
    seconds = min(100.0, 100_000 / rate)
    assert run(valve, b"c", seconds) == pytest.approx(rate * seconds, rel=0.02, abs=1.0)


def test_the_limit_of_a_client_is_its_own_and_counts_to_that_of_all() -> None:
    valve = Valve()
    valve.limit(b"c", 2.0, 0.0, [])
    assert run(valve, b"c", 10.0) == 20
    assert valve.lets(b"d", 11.0) and valve.open is False
    valve.limit(ALL, 1.0, 20.0, [])
    valve.limit(b"c", 50.0, 20.0, [])
    assert valve.flows(20.0) and valve.lets(b"c", 20.0) and not valve.flows(20.0)


def test_a_pause_ends_when_it_is_ended() -> None:
    valve, out = Valve(), list[Command]()
    valve.limit(ALL, 0.0, 0.0, out)
    assert (valve.paused, valve.flows(1000.0), valve.due) == (True, False, NEVER)
    assert terms(valve.view()) == (("dispatch", "paused"),) and valve.view() == ((ALL, 0.0),)
    valve.limit(ALL, None, 2000.0, out)
    assert (valve.open, valve.paused, valve.flows(2000.0), valve.view()) == (True, False, True, ())
    assert [note.text for note in out if isinstance(note, Note)] == [
        "no tasks are given out",
        "tasks are given out without a limit",
    ]


def test_so_many_clients_have_a_limit() -> None:
    valve, out = Valve(), list[Command]()
    for number in range(MOST + 1):
        valve.limit(b"c%d" % number, 1.0, 0.0, out)
    assert len(valve.view()) == MOST and isinstance(out[-1], Note) and "limits are set already" in out[-1].text
    assert terms(valve.view())[0] == ("dispatch of c0", "1 tasks/s at most")


def test_what_was_not_used_does_not_add_up() -> None:
    valve = Valve()
    valve.limit(ALL, 100.0, 0.0, [])
    given = 0
    while valve.flows(1000.0) and valve.lets(b"c", 1000.0):
        given += 1
        assert given <= 10, "a tenth of a second's, however long nobody asked"
    assert given == 10
