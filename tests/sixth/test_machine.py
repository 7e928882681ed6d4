"""The sixth system's state machines: which events have no row in which state, and a row for whatever comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Event, Ordered, Paused, Received, Unsent, Woken
from engine.parts.machine import Machine
from engine.parts.orders import Drain, Leave, Slow
from tests.helpers.machines import play
from tests.sixth.mdp import messages
from tests.sixth.mdp.broker import Broker
from tests.sixth.mdp.client import Client
from tests.sixth.mdp.machine import LINK, SEEN, WORKER
from tests.sixth.mdp.options import Options
from tests.sixth.mdp.worker import Worker

BLANK: dict[str, dict[str, list[str]]] = {
    "WORKER": {
        "registering": ["done"],
        "ready": ["done"],
        "working": [],
        "left": list(WORKER.events),  # the core takes nothing more
    },
    "SEEN": {
        "unknown": [event for event in SEEN.events if event not in ("READY", "HEARTBEAT", "REPLY", "DISCONNECT")],
        "idle": ["REPLY", "deadline"],  # its REPLY is one to no request
        "busy": ["a request"],
        "draining": ["a request", "told to drain"],  # a second order to drain does nothing
    },
    "LINK": {"silent": [], "linked": []},
}


@pytest.mark.parametrize(("name", "machine"), [("WORKER", WORKER), ("SEEN", SEEN), ("LINK", LINK)])
def test_every_state_with_every_event_has_a_row_or_a_reason(name: str, machine: Machine) -> None:
    found = {state: set(events) for state, events in machine.blank().items()}
    assert found == {state: set(events) for state, events in BLANK[name].items()}


OPTIONS = Options()
SERVICE = OPTIONS.service.encode()
KEYS = st.sampled_from([b"v", b"w"])
FROM_WORKERS = st.sampled_from(
    [
        messages.to_broker(messages.READY, SERVICE),
        messages.to_broker(messages.HEARTBEAT),
        messages.to_broker(messages.DISCONNECT),
        messages.to_broker(messages.REPLY, b"c", b"", b"ping"),
        messages.to_broker(b"?"),
    ]
)
AT_BROKER = st.one_of(
    st.builds(lambda key, frames: Received([[key, *frames]]), KEYS, FROM_WORKERS),
    st.just(Received([[b"c", *messages.ask(SERVICE, b"ping")]])),
    st.builds(
        lambda key, command: Unsent(messages.to_worker(key, command, b"c", b"", b"ping"), "unreachable"),
        KEYS,
        st.sampled_from([messages.REQUEST, messages.HEARTBEAT]),
    ),
    st.builds(lambda key: Ordered(Drain(key)), KEYS),
    st.sampled_from([Paused(4.0), Woken()]),
)
AT_WORKER = st.one_of(
    st.lists(
        st.sampled_from(
            [
                messages.to_worker(b"w", messages.REQUEST, b"c", b"", b"ping")[1:],
                messages.to_worker(b"w", messages.HEARTBEAT)[1:],
                messages.to_worker(b"w", messages.DISCONNECT)[1:],
            ]
        ),
        min_size=1,
        max_size=3,
    ).map(Received),
    st.sampled_from(
        [Ordered(Slow(0.0)), Ordered(Slow(1.5)), Ordered(Leave()), Paused(4.0), Connected(), Disconnected(), Woken()]
    ),
)
AT_CLIENT = st.sampled_from(
    [
        Received([messages.reply(b"c", messages.MMI_SERVICE, messages.FOUND)[1:]]),
        Paused(4.0),
        Connected(),
        Disconnected(),
        Woken(),
    ]
)
WAITS = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0, 31.0])


@given(st.lists(st.tuples(WAITS, AT_BROKER), max_size=60))
def test_a_broker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Broker(OPTIONS), script)


@given(st.lists(st.tuples(WAITS, AT_WORKER), max_size=30))
def test_a_worker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Worker(OPTIONS, "worker"), script)


@given(st.lists(st.tuples(WAITS, AT_CLIENT), max_size=30))
def test_a_client_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Client(OPTIONS, "client"), script)
