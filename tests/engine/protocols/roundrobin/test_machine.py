"""Every state with every event of round robin's machines: which have no row, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Event, Frames, Ordered, Paused, Received, Unsent, Woken
from engine.parts.machine import Machine
from engine.parts.orders import Drain, Expire, Leave, Requeue, Slow, Throttle, Undrain, Withdraw
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.client import Client
from engine.protocols.roundrobin.machine import LINK, SEEN, WORKER, On
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.worker import Worker
from tests.helpers.machines import is_quoted, play
from tests.helpers.roundrobin import ident

HEARD = (On.PING, On.PONG, On.REGISTER, On.RESPONSE)
ENDS = (On.DEREGISTER, On.DRAIN, On.FORGOTTEN, On.TOO_MANY)

# States, and the events that can not happen in them.
BLANK: dict[str, dict[str, list[str]]] = {
    "WORKER": {
        "linking": [On.REGISTERED, On.NO_RESPONSE, On.DONE],  # nothing is asked for; an old answer is passed over
        "registering": [On.DONE],
        "working": [On.REGISTERED, On.NO_RESPONSE, On.DONE],
        "leaving": [On.REGISTERED, On.NO_RESPONSE, On.PAUSED, On.LEAVE],  # a second order to leave does nothing
        "left": list(WORKER.events),  # the core takes nothing more
    },
    "SEEN": {
        # Whoever is unknown may be a client; a PING that claims nothing, or a PONG, says nothing of a worker.
        "unknown": [event for event in SEEN.events if event not in (On.REGISTER, On.PING, On.RESPONSE)],
        "ready": [On.UNDRAIN, On.FORGOTTEN, On.TOO_MANY],
        "busy": [On.TASK, On.UNDRAIN, On.FORGOTTEN, On.TOO_MANY],
        "draining": [On.TASK, On.DRAIN, On.FORGOTTEN, On.TOO_MANY],  # told twice: passed over
        "lost": [event for event in SEEN.events if event not in (*HEARD, *ENDS)],  # it holds nothing
    },
    "LINK": {"linking": [], "linked": []},
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
    is_quoted("roundrobin", machine)


# ---- whatever comes --------------------------------------------------------------------------------------------------

OPTIONS = Options(packed=True, max_deliveries=2, task_deadline=10.0, lost_shown=8.0)
KEYS = st.sampled_from([b"v", b"w", b"c"])
REASONS = st.sampled_from(["unreachable", "full"])
NUMBERS = st.integers(1, 6)


def answers(number: int, answer: packed.Data) -> Frames:
    return [packed.answers([b"c", ident(number), answer])]


TO_BROKER: st.SearchStrategy[Frames] = st.one_of(
    st.builds(wire.register, st.just(b"reg1"), st.integers(1, 3)),
    st.builds(wire.link_id, NUMBERS, st.booleans(), st.booleans()).map(wire.link_ping),
    NUMBERS.map(lambda number: wire.link_pong(number.to_bytes(8, "little"))),
    st.just(wire.deregister()),
    st.just(wire.increment(b"inc1")),
    NUMBERS.map(lambda number: wire.reply(b"c", ident(number))),
    st.builds(answers, NUMBERS, st.sampled_from([True, None])),
    st.builds(wire.ping, NUMBERS.map(ident), st.booleans()),
    NUMBERS.map(lambda number: [packed.tasks([wire.ping(ident(number), True)[2:-1]])]),
)
AT_BROKER = st.one_of(
    st.lists(st.builds(lambda key, frames: [key, *frames], KEYS, TO_BROKER), min_size=1, max_size=4).map(Received),
    st.builds(lambda key, why: Unsent([key, *wire.link_ping(ident(1))], why), KEYS, REASONS),
    st.builds(lambda key: Connected(peer=key), KEYS),
    st.builds(lambda key: Disconnected(peer=key), KEYS),
    st.builds(lambda order, key: Ordered(order(key)), st.sampled_from([Drain, Undrain, Expire, Requeue]), KEYS),
    NUMBERS.map(lambda number: Ordered(Requeue(b"", b"c", ident(number)))),
    st.builds(lambda rate: Ordered(Throttle(rate)), st.sampled_from([None, 0.0, 0.5])),
    st.builds(lambda key, rate: Ordered(Throttle(rate, key)), KEYS, st.sampled_from([None, 0.0, 0.5])),
    st.builds(lambda key: Ordered(Withdraw(key)), KEYS),
    st.sampled_from([Paused(4.0), Woken()]),
)
PONGS = st.builds(wire.link_id, NUMBERS, st.booleans(), st.booleans()).map(
    lambda made: wire.link_pong(wire.agreed(made) or made)
)
TO_PEER: st.SearchStrategy[Frames] = st.one_of(
    PONGS,
    NUMBERS.map(lambda number: wire.registered(number.to_bytes(4, "little"))),
    NUMBERS.map(lambda number: wire.delivery(b"w", b"c", wire.ping(ident(number), True)[2:-1])[1:]),
    NUMBERS.map(lambda number: wire.relayed(b"c", ident(number), b"w")[1:]),
    st.just(wire.link_ping(ident(1))),
)
AT_PEER = st.one_of(
    st.lists(TO_PEER, min_size=1, max_size=4).map(Received),
    st.sampled_from(
        [Connected(), Disconnected(), Paused(4.0), Paused(9.0), Woken(), Unsent(wire.link_ping(ident(1)), "full")]
    ),
)
AT_WORKER = st.one_of(AT_PEER, st.sampled_from([Ordered(Slow(0.0)), Ordered(Slow(1.5)), Ordered(Leave())]))
WAITS = st.sampled_from([0.0, 0.0, 0.5, 2.0, 7.0, 31.0])


@given(st.lists(st.tuples(WAITS, AT_BROKER), max_size=60))
def test_a_broker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Broker(OPTIONS), script)


@given(st.lists(st.tuples(WAITS, AT_WORKER), max_size=30))
def test_a_worker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Worker(OPTIONS, 2, 1), script)


@given(st.lists(st.tuples(WAITS, AT_PEER), max_size=30))
def test_a_client_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Client(OPTIONS), script)
