from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from engine.core import NEVER
from engine.parts.machine import Row
from engine.protocols.negotiated.machine import PAIR, If, On, Rank
from engine.protocols.negotiated.standby import ASK, ASK_UNSURE, BEAT, LONE, SILENCE, Standby

INTERVAL = 2.0


class Broker:
    """A standby whose peer answers what it heard last, unless a test has it otherwise."""

    def __init__(self, role: str, state: str | None = None) -> None:
        self.it = Standby("primary" if role == "primary" else "backup", INTERVAL, 1000, 0.0)
        if state is not None:
            self.it.state = state
        self.numbers = count(1)

    def hear(self, state: Any, now: float, echo: int | None = None) -> bool:
        number = self.it.beat(now) if echo is None else echo
        return self.it.heard(state, next(self.numbers), number, now)

    def meet(self, event: str) -> str:
        """Let one event of the machine come."""
        if event == On.BACK:
            assert self.hear(Rank.PASSIVE, 1.0) and self.it.hand_back(1.0)
        elif event == On.TOLD:
            assert not self.it.serve(1.0), "the primary may be there"
            assert self.it.serve(LONE * INTERVAL)
        elif event == On.LONE:
            self.it.tick(LONE * INTERVAL)
        elif event == On.ASKED:
            for part in (0.0, 0.5, 1.0):
                self.it.request(part * SILENCE * INTERVAL)
        else:
            assert self.hear(event.removeprefix(On.hears("")), 1.0)
        return self.state

    @property
    def state(self) -> str:
        """The state of the moment."""
        return self.it.state


@pytest.mark.parametrize("row", PAIR.rows, ids=lambda row: row.edge.event)
def test_every_row_of_the_machine(row: Row) -> None:
    broker = Broker("primary" if row.guard == If.PRIMARY else "backup", row.state)
    assert broker.meet(row.event) == row.next
    assert (((row.edge.state, row.edge.event), 1)) in broker.it.walk.walked()


def test_takeover_needs_silence_and_a_request() -> None:
    silent = Broker("backup", "passive")
    silent.it.tick(100.0)
    assert silent.state == "passive", "silence alone"
    asked = Broker("backup", "passive")
    for i in range(10):
        asked.hear("active", i * 1.0)
        asked.it.request(i * 1.0)
    assert asked.state == "passive", "requests alone"


def test_a_request_makes_it_ask_once_more() -> None:
    """Long silent, then a request: the peer still has ASK to answer what is said now."""
    broker = Broker("backup", "passive")
    broker.it.beat(99.0)
    broker.it.request(100.0)
    assert broker.state == "passive" and broker.it.beat_at == 100.0
    broker.it.beat(100.0)
    assert broker.it.wake_at() == 100.0 + min(ASK, BEAT) * INTERVAL
    broker.it.tick(100.0 + ASK * INTERVAL)
    assert broker.state == "active"
    answered = Broker("backup", "passive")
    answered.it.request(100.0)
    answered.hear("active", 100.5)
    answered.it.tick(102.0)
    assert answered.state == "passive"


def test_a_primary_that_does_not_know_who_served_last_asks_for_longer() -> None:
    """Cut off, healed, and now the fallback is cut off: what it is asked then may be old."""
    assert ASK_UNSURE > LONE
    broker = Broker("primary")
    broker.it.request(100.0)
    broker.it.tick(100.0 + ASK_UNSURE * INTERVAL - 0.01)
    assert broker.state == "primary"
    broker.it.tick(100.0 + ASK_UNSURE * INTERVAL)
    assert broker.state == "active"


def test_only_an_answer_to_what_was_said_a_moment_ago_is_news() -> None:
    broker = Broker("primary")
    said = broker.it.beat(0.0)
    late = LONE * INTERVAL + 0.01
    assert not broker.hear("passive", late, said), "too old"
    assert not broker.hear("passive", 0.1, said + 500), "never said"
    assert not broker.hear("passive", 0.1, -1), "answers nothing"
    assert broker.state == "primary" and broker.it.peer_state is None
    assert broker.it.beat_at == 0.1, "it is told at once where we are"
    assert broker.hear("passive", LONE * INTERVAL, said)
    assert broker.it.active


def test_loneliness_counts_from_what_we_said_and_not_from_when_it_was_answered() -> None:
    broker = Broker("primary", "active")
    said = broker.it.beat(1.0)
    assert broker.hear("passive", 3.5, said)
    broker.it.tick(1.0 + LONE * INTERVAL - 0.01)
    assert broker.it.active
    broker.it.tick(1.0 + LONE * INTERVAL)
    assert broker.state == "primary"


def test_a_lonely_broker_believes_only_answers_to_what_it_says_from_then_on() -> None:
    broker = Broker("primary", "active")
    said = broker.it.beat(2.9)
    broker.it.tick(LONE * INTERVAL)
    assert broker.state == "primary"
    assert not broker.hear("passive", 3.1, said)
    assert broker.state == "primary"


def test_steps_down_before_the_other_may_take_over() -> None:
    """Cut off at the worst moment: the peer's silence begins up to one BEAT before ours."""
    assert LONE < SILENCE - BEAT


@pytest.mark.parametrize(
    ("role", "state", "peer", "at", "done"),
    [
        ("backup", "active", "passive", 1.5, True),
        ("backup", "active", "passive", 1.0 + LONE * INTERVAL, False),  # may be gone by now
        ("backup", "active", "primary", 1.5, False),
        ("backup", "passive", "active", 1.5, False),
        ("primary", "active", "passive", 1.5, False),
    ],
)
def test_hand_back_needs_a_primary_that_is_there_and_waits(
    role: str, state: str, peer: str, at: float, done: bool
) -> None:
    broker = Broker(role, state)
    assert broker.hear(peer, 1.0)
    before = broker.state
    assert broker.it.hand_back(at) is done
    assert broker.state == ("passive" if done else before)
    assert broker.it.yielded is done


def test_a_pause_of_ours_is_not_the_peers_silence() -> None:
    broker = Broker("backup", "passive")
    broker.it.request(0.0)
    broker.it.pause(50.0)
    broker.it.request(50.0)
    broker.it.tick(50.0 + SILENCE * INTERVAL - 0.01)
    assert broker.state == "passive"
    broker.it.tick(50.0 + SILENCE * INTERVAL)
    assert broker.state == "active"


def test_it_wakes_for_beats_and_turns_and_never_without_need() -> None:
    broker = Broker("backup")
    assert broker.it.wake_at() == 0.0
    broker.it.beat(0.0)
    assert broker.it.wake_at() == BEAT * INTERVAL
    broker.it.beat_at = NEVER
    assert broker.it.wake_at() == NEVER, "a backup that never heard its primary waits"
    broker.it.request(3.0)
    assert broker.it.wake_at() == 3.0, "it asks"
    broker.it.beat_at = NEVER
    assert broker.it.wake_at() == NEVER
    active = Broker("primary", "active")
    active.it.beat_at = NEVER
    assert active.it.wake_at() == LONE * INTERVAL
