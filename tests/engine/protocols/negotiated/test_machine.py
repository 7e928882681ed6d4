"""Every state with every event of negotiated's machines: which have no row, and why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Event, Frames, Ordered, Paused, Received, Unsent, Woken
from engine.parts.bulk import BulkSpec
from engine.parts.machine import Machine
from engine.parts.orders import ClockSet, Drain, Expire, Leave, Requeue, Slow, Throttle, Undrain, Withdraw
from engine.protocols.negotiated import SYSTEM, HandBack, Options, Publish, Serve, ShowPair, backup, names, primary
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.machine import CLIENT_LINK, PAIR, SEEN, WORK, WORKER_LINK
from engine.protocols.negotiated.tasks import FRONTEND
from tests.helpers.examples import examples
from tests.helpers.machines import is_quoted, play
from tests.helpers.negotiated import FALLBACK, HERE

MACHINES = {
    "WORKER_LINK": WORKER_LINK,
    "CLIENT_LINK": CLIENT_LINK,
    "WORK": WORK,
    "SEEN": SEEN,
    "PAIR": PAIR,
}

# A message that is not expected, for it comes late, changes nothing; a link is silent or told of a connection as well
# while a handshake message is out, and repeats that all the same.
LINKED_ONLY = ["PONG", "FORCENEGOTIATE", "connected again", "silence"]


def others(machine: Machine, *events: str) -> list[str]:
    """All events but these."""
    return [event for event in machine.events if event not in events]


ORDERS = ["told to drain no more", "an operator expires it", "an operator takes a task back"]

# States, and the events that can not happen in them.
BLANK: dict[str, dict[str, list[str]]] = {
    "WORKER_LINK": {
        "new": others(WORKER_LINK, "start", "it has left"),
        "checking": ["READYOK", "it offers nothing any more", "start", *LINKED_ONLY, "WORKREQUEST", "some intervals"],
        "asking": [
            "CONFIG",
            "READYOK",
            "it offers nothing any more",
            "start",
            *LINKED_ONLY,
            "WORKREQUEST",
            "some intervals",
        ],
        "joining": ["CONFIG", "CHANGEBROKER", "start", *LINKED_ONLY, "WORKREQUEST", "some intervals"],
        # a worker that has nothing to finish any more is joining
        "linked": ["CONFIG", "READYOK", "CHANGEBROKER", "it has left", "start", "no answer", "some intervals"],
        "out": [
            *("CONFIG", "READYOK", "CHANGEBROKER", "it offers nothing any more", "start", *LINKED_ONLY, "WORKREQUEST"),
            *("an interval", "no answer"),
        ],
        "ended": list(WORKER_LINK.events),
    },
    "CLIENT_LINK": {
        "new": others(CLIENT_LINK, "start"),
        "checking": ["start", *LINKED_ONLY, "some intervals"],
        "asking": ["CONFIG", "start", *LINKED_ONLY, "some intervals"],
        "linked": ["CONFIG", "CHANGEBROKER", "start", "no answer", "some intervals"],
        "out": ["CONFIG", "CHANGEBROKER", "start", *LINKED_ONLY, "an interval", "no answer"],
        "ended": list(CLIENT_LINK.events),
    },
    # READYOK and its absence are the link's, until the worker leaves
    "WORK": {
        "working": ["nothing is held", "READYOK", "no READYOK for an interval"],
        "leaving": [],
        "left": list(WORK.events),
    },
    "SEEN": {  # nobody is given a task who is not known, or has no slot, or is to go
        "unknown": ["a task", "a task, the last slot", "a task for too long", "it can not be reached", *ORDERS],
        "ready": ORDERS[:1],  # it does not drain
        "busy": ["a task", "a task, the last slot", *ORDERS[:1]],
        "draining": ["a task", "a task, the last slot"],
    },
    "PAIR": {  # who asks or waits is not alone; the backup must hear the primary before it may take over
        "primary": ["hears nobody", "handed back", "told to serve"],
        "backup": ["silence of the other, and a request", "hears nobody", "handed back"],
        "active": ["silence of the other, and a request", "told to serve"],
        "passive": ["hears nobody", "handed back", "told to serve"],
    },
}


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_with_every_event_has_a_row_or_a_reason(name: str) -> None:
    found = {state: set(events) for state, events in MACHINES[name].blank().items()}
    assert found == {state: set(events) for state, events in BLANK[name].items()}


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_is_reached_from_the_first(name: str) -> None:
    machine = MACHINES[name]
    reached = set(machine.states[:2]) if machine is PAIR else {machine.states[0]}
    for _ in machine.states:
        reached |= {row.next for row in machine.rows if row.state in reached}
    assert reached == set(machine.states)


@pytest.mark.parametrize("name", MACHINES)
def test_the_readme_quotes_every_row(name: str) -> None:
    is_quoted("negotiated", MACHINES[name])


def test_two_machines_of_one_role_have_no_state_in_common() -> None:
    """Their counts are told in one list, by state and event."""
    assert not {*WORKER_LINK.states} & {*WORK.states} and not {*SEEN.states} & {*PAIR.states}


# ---- whatever comes --------------------------------------------------------------------------------------------------

OPTIONS = Options(max_deliveries=2)
PAIRED = Options(fallback=FALLBACK)
OTHER, STRANGER = "tcp://127.0.0.1:2", "tcp://192.0.2.1:1"
GROUP = Config(1, 1.0, 30.0, (Address(HERE, "tcp://127.0.0.1:6817"), Address(OTHER, OTHER)))
KEYS = st.sampled_from([b"v", b"w"])
TASK = st.integers(1, 4).map(lambda number: wire.task_identifier((b"c", b"%d" % number)))
HELD = st.lists(TASK, max_size=2)
TIMES = st.sampled_from([50.0, 50.0, 60.0, 900.0])
VERSIONS = st.sampled_from([1, 1, 1, 2])
READY = st.builds(
    lambda services, slots, holding, time, version: wire.build(
        names.READY,
        {"services": services, "slots": slots, "holding": list(set(holding)), "time": time}
        | {"config_version": version, "heartbeat_interval": 1.0},
    ),
    st.sampled_from([[], ["ping"], ["ping", "data"]]),
    st.integers(1, 3),
    HELD,
    TIMES,
    VERSIONS,
)
PING = st.builds(
    lambda holding, time, version: wire.build(
        names.PING, {"time": time, "config_version": version} | ({} if holding is None else {"holding": holding})
    ),
    st.none() | HELD.map(lambda held: list(set(held))),
    TIMES,
    VERSIONS,
)
CHECK = st.sampled_from(["json", "json", "yaml"]).map(
    lambda kind: wire.build(names.CHECKCONFIG, {"config_type": kind, "config_version": 1})
)
NEED = st.just(wire.build(names.NEEDBROKER, {"identity": "w", "services": []}))
ASK = st.builds(
    lambda number, service: wire.build(names.WORKREQUEST, {names.IDENTIFIER: b"%d" % number, "service": service}),
    st.integers(1, 4),
    st.sampled_from(["ping", "ping", "data", "nobody"]),
)
ANSWER = TASK.map(lambda task: wire.build(names.WORKREPLY, {names.IDENTIFIER: task}))
GIVE = TASK.map(
    lambda task: wire.build(
        names.WORKREQUEST, {"time": 1.0, "config_version": 1, names.IDENTIFIER: task, "service": "ping"}
    )
)
RATES = st.sampled_from([0.0, 0.5, 100.0, None, None])
AT_BROKER = st.one_of(
    st.builds(lambda key, frames: Received([[key, *frames]]), KEYS, st.one_of(READY, PING, ANSWER, CHECK, NEED)),
    st.one_of(CHECK, ASK, ASK, PING, NEED).map(lambda frames: Received([[b"c", *frames]], FRONTEND)),
    st.builds(lambda key, frames: Unsent([key, *frames], "unreachable"), KEYS, GIVE),
    KEYS.map(lambda key: Connected("main", key)),
    KEYS.map(lambda key: Disconnected("main", key)),
    st.builds(lambda order, key: Ordered(order(key)), st.sampled_from([Drain, Undrain, Expire, Requeue]), KEYS),
    st.builds(lambda rate, client: Ordered(Throttle(rate, client)), RATES, st.sampled_from([b"", b"c"])),
    st.integers(1, 4).map(lambda number: Ordered(Requeue(b"", b"c", b"%d" % number))),
    st.sampled_from([Ordered(Withdraw(b"c")), Ordered(Publish(2)), Ordered(Publish(1)), Paused(4.0), Woken()]),
)
STATES = st.sampled_from(["primary", "backup", "active", "passive"])


def beat(state: str, sequence: int, echo: int) -> Frames:
    header = {"state": state, "sequence": sequence, "echo": echo, "replica": -1}
    return wire.build(names.BROKERSTATE, header)


AT_PAIR = st.one_of(
    AT_BROKER,
    st.builds(lambda state, echo: Received([[b"fallback", *beat(state, 3, echo)]], "peer"), STATES, st.integers(1, 9)),
    st.sampled_from([Ordered(HandBack()), Ordered(Serve()), Ordered(ShowPair())]),
)
CONFIG = wire.build(
    names.CONFIG,
    {"config_type": "json", "config_version": 1, "config_hash": GROUP.hash},
    configs.encode(GROUP, "json"),
)
ERRORS = st.builds(
    lambda code, more: wire.build(names.DISCONNECTERROR, {"code": code, "message": "no", **more}),
    st.sampled_from([301, 301, 301, 400, 403, 408, 415, 426, 426, 429, 503, 599]),
    st.sampled_from([{}, {"endpoint": OTHER}, {"endpoint": HERE}, {"endpoint": STRANGER}]),
)
TO_PEER = st.one_of(
    st.sampled_from(
        [
            CONFIG,
            CONFIG,
            wire.build(names.CONFIG, {"config_type": "json", "config_version": 1, "config_hash": "none"}),
            wire.build(names.READYOK, {"time": 50.0, "heartbeat_interval": 1.0}),
            wire.build(names.READYOK, {"time": 50.0, "heartbeat_interval": 1.0}),
            wire.build(names.PONG, {"time": 50.0, "echo": 50.0, "config_version": 1}),
            wire.build(names.FORCENEGOTIATE, {}),
            *(wire.build(names.CHANGEBROKER, {"endpoint": endpoint}) for endpoint in (HERE, OTHER, STRANGER, "")),
        ]
    ),
    ERRORS,
    GIVE,
)
TO_CLIENT = st.one_of(
    TO_PEER,
    st.sampled_from([b"\0" * 8, b"\1" + b"\0" * 7]).map(
        lambda task: wire.build(names.WORKREPLY, {names.IDENTIFIER: task})
    ),
    st.just(wire.build(names.DISCONNECTERROR, {"code": 503, "message": "no", names.IDENTIFIER: b"\0" * 8})),
)
LIFE: list[Event] = [Connected(), Disconnected(), Paused(4.0), Woken(), Ordered(ClockSet(0.0)), Ordered(ClockSet(99.0))]
AT_WORKER = st.one_of(
    st.lists(TO_PEER, min_size=1, max_size=3).map(Received),
    st.sampled_from([*LIFE, Ordered(Slow(0.0)), Ordered(Slow(1.5)), Ordered(Leave())]),
)
AT_CLIENT = st.one_of(
    st.lists(TO_CLIENT, min_size=1, max_size=3).map(Received),
    st.sampled_from([*LIFE, Ordered(BulkSpec("ping", 3))]),
)
WAITS = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0, 31.0])
STEPS = examples(100)


@STEPS
@given(st.lists(st.tuples(WAITS, AT_BROKER), max_size=60))
def test_a_broker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(SYSTEM.broker(OPTIONS, (HERE,)).core, script)


@pytest.mark.parametrize("make", [primary, backup])
@STEPS
@given(script=st.lists(st.tuples(WAITS, AT_PAIR), max_size=60))
def test_a_broker_of_a_pair_has_a_row_for_whatever_comes(make: Any, script: list[tuple[float, Event]]) -> None:
    play(make(PAIRED, (HERE,)).core, script)


@STEPS
@given(st.lists(st.tuples(WAITS, AT_WORKER), max_size=40))
def test_a_worker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(SYSTEM.worker(OPTIONS, HERE, 1, 2).core, script)


@STEPS
@given(st.lists(st.tuples(WAITS, AT_CLIENT), max_size=40))
def test_a_client_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(SYSTEM.client(OPTIONS, HERE, 1).core, script)
