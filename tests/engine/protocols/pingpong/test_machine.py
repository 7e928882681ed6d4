"""Every state with every event of ping-pong's machines: which have no row, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Event, Ordered, Paused, Received, Unsent, Woken
from engine.parts.machine import Machine
from engine.parts.orders import Drain, Expire, Leave, Requeue, Slow, Throttle, Undrain
from engine.protocols.pingpong.broker import BACKEND, Broker
from engine.protocols.pingpong.client import Client
from engine.protocols.pingpong.frontend import FRONTEND
from engine.protocols.pingpong.machine import LINK, SEEN, WORKER
from engine.protocols.pingpong.messages import EXIT, PING, PONG, READY
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.worker import Worker
from tests.helpers.machines import is_quoted, play

BACK = ["an operator takes its job back"]  # it has none
AGAIN = "told to drain no more"  # it does not drain, or was sent EXIT

# States, and the events that can not happen in them.
BLANK = {
    "WORKER": {
        "joining": ["a second", "the job is done"],  # PINGs follow READY's PONG
        "ready": ["the job is done"],
        "working": [],
        "left": list(WORKER.events),  # the core takes nothing more
    },
    # A result of a worker that holds and owes nothing is a violation, and no event of the machine.
    "SEEN": {
        "unknown": [event for event in SEEN.events if event not in ("READY", "PING")],
        "idle": ["result", "deadline", "its job is not sent", "late result", "too many were lost since", *BACK, AGAIN],
        "busy": ["a task", "late result", "too many were lost since", AGAIN],
        "owing": ["a task", "result", "deadline", "its job is not sent", "too many were lost since", *BACK, AGAIN],
        "leaving": ["a task", "told to drain", "too many were lost since"],  # a second order to drain does nothing
        "told": [
            "a task",
            "told to drain",
            "result",
            "deadline",
            "its job is not sent",
            "too many were lost since",
            "an operator expires it",  # it goes anyhow
            *BACK,
            AGAIN,
        ],
        "lost": [event for event in SEEN.events if event not in ("READY", "PING", "late result", SEEN.rows[-1].event)],
    },
    "LINK": {"silent": ["a second"], "linked": []},  # PINGs follow the first answer
}


@pytest.mark.parametrize(("name", "machine"), [("WORKER", WORKER), ("SEEN", SEEN), ("LINK", LINK)])
def test_every_state_with_every_event_has_a_row_or_a_reason(name: str, machine: Machine) -> None:
    found = {state: set(events) for state, events in machine.blank().items()}
    assert found == {state: set(events) for state, events in BLANK[name].items()}


@pytest.mark.parametrize("machine", [WORKER, SEEN, LINK])
def test_every_state_is_reached_from_the_first(machine: Machine) -> None:
    reached = {machine.states[0]}
    for _ in machine.states:
        reached |= {row.next for row in machine.rows if row.state in reached}
    assert reached == set(machine.states)


@pytest.mark.parametrize("machine", [WORKER, SEEN, LINK])
def test_the_readme_quotes_every_row(machine: Machine) -> None:
    is_quoted("pingpong", machine)


# ---- whatever comes --------------------------------------------------------------------------------------------------

OPTIONS = Options(max_deliveries=3)
KEYS = st.sampled_from([b"v", b"w"])
BODIES = st.sampled_from([READY, PING, PONG, EXIT, b"ping"])
ASKED = st.integers(1, 9).map(lambda number: Received([[b"c", b"", number.to_bytes(8, "little"), b"ping"]], FRONTEND))
RATES = st.sampled_from([0.0, 0.5, 100.0, None, None])
AT_BROKER = st.one_of(
    st.builds(lambda key, body: Received([[key, b"", body]], BACKEND), KEYS, BODIES),
    ASKED,
    st.builds(
        lambda key, body, reason: Unsent([key, b"", body], reason, BACKEND),
        KEYS,
        BODIES,
        st.sampled_from(["unreachable", "full"]),
    ),
    st.builds(lambda key: Connected(BACKEND, key), KEYS),
    st.builds(lambda key: Disconnected(BACKEND, key), KEYS),
    st.builds(lambda order, key: Ordered(order(key)), st.sampled_from([Drain, Undrain, Expire, Requeue]), KEYS),
    st.builds(lambda rate, client: Ordered(Throttle(rate, client)), RATES, st.sampled_from([b"", b"c"])),
    st.integers(1, 9).map(lambda number: Ordered(Requeue(b"", b"c", number.to_bytes(8, "little")))),
    st.just(Paused(4.0)),
    st.just(Woken()),
)
AT_PEER = st.one_of(
    st.builds(lambda bodies: Received([[b"", body] for body in bodies]), st.lists(BODIES, min_size=1, max_size=3)),
    st.sampled_from([Connected(), Disconnected(), Paused(4.0), Woken(), Unsent([b"", PING], "full")]),
)
AT_WORKER = st.one_of(AT_PEER, st.sampled_from([Ordered(Slow(0.0)), Ordered(Slow(1.5)), Ordered(Leave())]))
WAITS = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0, 31.0])


@given(st.lists(st.tuples(WAITS, AT_BROKER), max_size=60))
def test_a_broker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Broker(OPTIONS), script)


@given(st.lists(st.tuples(WAITS, AT_WORKER), max_size=30))
def test_a_worker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Worker(OPTIONS), script)


@given(st.lists(st.tuples(WAITS, AT_PEER), max_size=30))
def test_a_client_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Client(OPTIONS), script)
