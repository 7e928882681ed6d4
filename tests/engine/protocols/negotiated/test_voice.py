"""Clocks at a broker; what else it says is in the transcripts and in ``test_service``."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Received, Send
from engine.parts.orders import ClockSet
from engine.protocols.negotiated import SYSTEM, Options, names
from engine.protocols.negotiated import messages as wire
from tests.helpers.negotiated import HERE, One

HOUR = 3600.0


def broker() -> One:
    it = One(SYSTEM.broker(Options(), (HERE,)).core)
    it.ready("w")
    it.client()
    it.notes.clear()
    return it


def words(it: One, time: float, peer: str = "w", socket: str = "main") -> str:
    """What a PING with this time is answered: PONG, or the words of the refusal."""
    frames = [peer.encode(), *wire.build(names.PING, {"time": time, "config_version": 1})]
    told: list[Any] = it.core.handle(Received([frames], socket), it.now)
    it.core.check()
    (answer,) = (one.frames for one in told if isinstance(one, Send) and one.frames[0] == peer.encode())
    return str((wire.decode_header(answer[2]) or {}).get("message", answer[1].decode()))


@pytest.mark.parametrize(("jump", "wrong"), [(HOUR, "ahead of"), (-HOUR, "behind")])
def test_f11_a_peer_whose_clock_jumped_is_told_that_it_is_its_own(jump: float, wrong: str) -> None:
    it = broker()
    assert words(it, it.now + jump) == f"your wall clock is 3600 s {wrong} the broker's"
    assert it.core.service.violations.total == 1


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_f11_a_broker_whose_clock_jumped_says_that_it_is_the_brokers(jump: float) -> None:
    """O19. It holds nothing against its peers; all is well once it is right again."""
    it = broker()
    it.ordered(ClockSet(jump))
    level, text = it.notes[-1]
    assert level == "bad" and text.startswith(f"the wall clock of the broker jumped {jump:+.0f} s")
    it.now += 1.0
    for peer, socket in (("w", "main"), ("c", "frontend")):
        told = words(it, it.now, peer, socket)
        assert told == f"the broker's wall clock jumped {jump:+.0f} s, yours agrees with what it was before"
    assert it.core.service.violations.total == 0 and dict(it.core.service.counters)["told of our own clock"] == 2
    it.ordered(ClockSet(0.0))
    assert it.notes[-1] == ("good", "the wall clock of the broker has jumped back")
    assert it.ready("w") == ["w READYOK"] and it.client() == ["frontend c CONFIG config_type=json config_version=1"]
    it.now += 1.0
    assert words(it, it.now) == "PONG"


def test_on_one_machine_all_clocks_jump_and_nothing_happens() -> None:
    """What was said before the jump is heard behind it, and the other way round."""
    it = broker()
    it.ordered(ClockSet(HOUR))
    assert words(it, it.now) == "PONG", "said before it jumped"
    it.now += 1.0
    assert words(it, it.now + HOUR) == "PONG" and it.core.service.violations.total == 0


def test_a_small_step_of_the_clock_is_no_jump() -> None:
    it = broker()
    it.ordered(ClockSet(29.0))
    assert it.notes == [] and words(it, it.now) == "PONG"


def test_a_peer_that_is_wrong_beside_a_broker_that_jumped_is_told_so() -> None:
    it = broker()
    it.ordered(ClockSet(HOUR))
    it.now += 1.0
    assert words(it, it.now - HOUR) == "your wall clock is 7200 s behind the broker's"
