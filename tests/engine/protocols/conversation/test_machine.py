"""Every state with every event of the conversation's machines: which have no row, and why."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import MAIN, Connected, Disconnected, Event, Finished, Ordered, Paused, Received, Unsent, Woken
from engine.parts.bulk import BulkSpec
from engine.parts.machine import Machine
from engine.parts.orders import Drain, Expire, Leave, Slow, Throttle, Withdraw
from engine.protocols.conversation import frontend, header
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.client import Client
from engine.protocols.conversation.frontend import CancelJob, Hold, Release, StopWorkers, Submit, TaskEnded
from engine.protocols.conversation.jobfrontend import FRONTEND
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.machine import JOB, LINK, SEEN, WORKER, Cl, On, Sv, visits
from engine.protocols.conversation.messages import STATUS
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.worker import Worker
from tests.helpers.conversation import array, message
from tests.helpers.machines import is_quoted, play

MACHINES = {"WORKER": WORKER, "SEEN": SEEN, "JOB": JOB, "LINK": LINK}
TOLD = {On.JOB, On.STOP, On.STOP_NOW}  # while it greets these are violations
HOLDS = {*TOLD, On.DONE}
ENDS = {On.DISCONNECT, On.OPENING, On.SILENCE, On.EXPIRED, On.WRONG, On.UNSENT}

RATES = st.sampled_from([0.0, 0.5, 100.0, None, None])

# States, and the events that have no row in them.
BLANK: dict[str, dict[str, set[str]]] = {
    "WORKER": {
        # What comes then is not meant for it: the broker has not heard its opening yet.
        Cl.INIT0: {*WORKER.events} - {On.BEAT, On.GREETED, On.LEAVE, On.IDLE},
        Cl.INIT1: {*HOLDS, On.OWED, On.PASS},
        Cl.LOOP0: {On.GREETED, On.OK, On.PASS},  # an OK then is a violation
        Cl.UPDATE0: {*WORKER.events} - {On.PASS},  # passed through
        Cl.UPDATE1: {On.GREETED, On.OWED, On.IDLE, On.PASS},  # any OK is the one that it waits for
        Cl.EXIT0: {*WORKER.events},  # the core takes nothing more
        Cl.EXIT1: {*WORKER.events},
    },
    # What a worker says that has no row is a violation, and no event of the machine.
    "SEEN": {
        Sv.INIT0: {*SEEN.events} - {On.PASS},  # passed through, like the others with this event alone
        Sv.INIT1: {*SEEN.events} - {On.OK_N, On.ALIVE, *ENDS},
        Sv.INIT2: {*SEEN.events} - {On.PASS},
        Sv.LOOP0: {*SEEN.events} - {On.PASS},
        Sv.LOOP1: {*SEEN.events} - {On.PASS},
        Sv.LOOP2: {On.OK_N, On.PASS},
        Sv.LOOP3: {*SEEN.events} - {On.PASS},
        Sv.EXIT: {*SEEN.events},  # whoever comes back has a new link
    },
    "JOB": {
        "new": {*JOB.events} - {On.SUBMITTED},
        "waiting": {On.SUBMITTED, On.BACK, On.ENDED, On.RELEASE},  # none of its tasks was given; a release is refused
        "running": {On.SUBMITTED, On.RELEASE},
        "held": {On.SUBMITTED, On.GIVEN, On.HOLD},
        "cancelled": {*JOB.events} - {On.ENDED},  # what is out ends, however it comes back
        "finished": {*JOB.events},  # orders are refused
    },
    "LINK": {"silent": {On.ANSWERED}, "linked": set()},
}


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_with_every_event_has_a_row_or_a_reason(name: str) -> None:
    assert {state: set(events) for state, events in MACHINES[name].blank().items()} == BLANK[name]


@pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))
def test_every_state_is_reached_from_the_first(machine: Machine) -> None:
    reached = {machine.states[0]}
    for _ in machine.states:
        reached |= {row.next for row in machine.rows if row.state in reached}
    assert reached == set(machine.states)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))
def test_the_readme_quotes_every_row(machine: Machine) -> None:
    is_quoted("conversation", machine)


def test_states_are_named_as_on_the_wire_and_in_the_seed() -> None:
    assert WORKER.states == Cl.NAMES and SEEN.states == Sv.NAMES
    assert set(JOB.states) == {"new", *STATUS}


def test_a_state_is_entered_by_its_rows_and_not_by_what_befalls_the_connection() -> None:
    walked = (
        ((Cl.INIT0, On.GREETED), 2),
        ((Cl.INIT1, On.OK), 1),
        ((Cl.INIT1, On.SILENCE), 1),
        ((Cl.LOOP0, "JOB that fits"), 3),
        ((Cl.LOOP0, On.BEAT), 9),
        ((Cl.LOOP0, On.LEAVE), 1),
    )
    entered = {"CL_INIT0": "2", "CL_INIT1": "2", "CL_LOOP0": "4"}
    assert dict(visits(WORKER, walked, begun=1)) == dict.fromkeys(Cl.NAMES, "0") | entered


# ---- whatever comes --------------------------------------------------------------------------------------------------

OPTIONS = Options(tries=2)
WORDS = ("OK(0)", "OK(2)", "OK(3)", "STOP(1)", "STOP(now)", "ERROR(1)", "ERROR(2)", "ERROR(3)", "JOB 1/1 #1 :ping")
MORE = ("JOB 1/2 #2 echo", "JOB 1/2 #3 echo 9", "UPDATE 1/1 done free 2", "UPDATE 2/1 failed free 0", "ff")
CHUNKS = st.sampled_from([message(words) for words in (*WORDS, *MORE)])
BEATS = st.integers(0, 4).map(lambda count: count.to_bytes(4, "little"))
FRAMES = st.one_of(CHUNKS.map(lambda chunk: [chunk]), BEATS.map(lambda beat: [b"", beat]), st.just([b""]))
REQUESTS = st.one_of(
    st.builds(Submit, st.builds(array, st.sampled_from([":ping", "echo"]), st.integers(1, 3)), st.integers(1, 3)),
    st.builds(Hold, st.integers(1, 4)),
    st.builds(Release, st.integers(1, 4)),
    st.builds(CancelJob, st.integers(1, 4)),
    st.builds(StopWorkers, st.sampled_from([0, 1, header.STOP_NOW])),
)
PEERS = st.sampled_from([b"v", b"w"])
JOINS = [[b"w", b""], [b"w", message("OK(2)")]]
AT_BROKER = st.one_of(
    st.builds(lambda peer, frames: Received([[peer, *frames]]), PEERS, FRAMES),
    st.builds(lambda peer, chunk: Received([[peer, chunk]], STREAM), PEERS, st.one_of(CHUNKS, st.just(b""))),
    st.builds(lambda asked: Received([[b"c", frontend.pack_request(1, asked)]], FRONTEND), REQUESTS),
    st.just(Received([list(frames) for frames in JOINS])),
    st.builds(lambda peer, socket: Unsent([peer, b"x"], "full", socket), PEERS, st.sampled_from([MAIN, STREAM])),
    st.builds(lambda peer: Connected(MAIN, peer), PEERS),
    st.builds(lambda peer: Disconnected(MAIN, peer), PEERS),
    st.sampled_from([Ordered(Drain(b"w")), Ordered(Expire(b"w")), Ordered(Withdraw(b"c")), Paused(4.0), Woken()]),
    st.builds(lambda rate, client: Ordered(Throttle(rate, client)), RATES, st.sampled_from([b"", b"c"])),
)
AT_PEER = st.one_of(
    st.builds(lambda all_: Received(all_), st.lists(FRAMES.map(list), min_size=1, max_size=3)),
    st.sampled_from([Connected(), Disconnected(), Paused(4.0), Woken(), Unsent([b"x"], "full")]),
)
GREETING = Received([[message("OK(0)")], [message("OK(2)")]])
AT_WORKER = st.one_of(
    AT_PEER,
    st.just(GREETING),
    st.sampled_from([Ordered(Slow(0.0)), Ordered(Slow(1.5)), Ordered(Leave())]),
    st.builds(lambda key: Finished(key, True, b"done"), st.integers(1, 4)),
)
AT_CLIENT = st.one_of(
    AT_PEER,
    st.builds(lambda ref: Received([[frontend.pack_answer(TaskEnded(ref, 1, 1, True, "", None))]]), st.integers(0, 3)),
    st.sampled_from([Ordered(BulkSpec("ping", 2)), Received([[b""]])]),
)
WAITS = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0, 31.0])


@given(st.lists(st.tuples(WAITS, AT_BROKER), max_size=60))
def test_a_broker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    core = Broker(OPTIONS)
    play(core, script)
    view = core.snapshot(0.0)
    times = Counter(dict(view.walked))
    greeted = times[Sv.INIT0, On.PASS] - sum(times[Sv.INIT1, event] for event in (On.OK_N, *ENDS))
    assert greeted == int(dict(view.terms)["greeting"])
    assert times[Sv.INIT1, On.OK_N] - sum(times[Sv.LOOP2, event] for event in ENDS) == len(view.workers)


@given(st.lists(st.tuples(WAITS, AT_WORKER), max_size=30))
def test_a_worker_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Worker(OPTIONS, 2), script)


@given(st.lists(st.tuples(WAITS, AT_CLIENT), max_size=30))
def test_a_client_has_a_row_for_whatever_comes(script: list[tuple[float, Event]]) -> None:
    play(Client(OPTIONS), script)
