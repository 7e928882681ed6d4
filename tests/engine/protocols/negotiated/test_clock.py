from __future__ import annotations

from engine.protocols.negotiated.clock import PeerClock


def test_only_a_pong_tells_that_a_clock_is_behind() -> None:
    clock = PeerClock(1000.0, 30.0)
    assert clock._ahead(1100.0, 60.0) == 40.0 and clock._ahead(0.0, 60.0) == 0.0
    assert clock._measure({"time": 1000.0, "echo": 1060.0}, 60.2)
    assert not clock._measure({"time": 1035.0, "echo": 1060.0}, 60.2)


def test_a_jump_of_our_own_keeps_us_from_judging_until_a_time() -> None:
    clock = PeerClock(0.0, 30.0)
    clock._set(-100.0, 5.0)
    assert clock._jumped == -100.0 and clock._ahead(50.0, 4.9) == 0.0 and clock._ahead(50.0, 5.0) == 145.0
    clock._set(0.0, 5.0)
    assert clock._jumped == 0.0
