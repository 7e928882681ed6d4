"""The worker's states, each with everything that can arrive; then what it answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    Connected,
    Disconnected,
    Exit,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Send,
    Share,
    Started,
    Unsent,
)
from engine.parts.orders import Leave, Pack, Slots, Slow
from engine.protocols.roundrobin import data, packed
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.machine import Does, On
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.worker import Worker
from tests.helpers.roundrobin import PACE, Desk, ident

V = wire.VERSION
PING1, PING2, PING3 = (wire.link_ping(wire.link_id(n)) for n in (1, 2, 3))
PONG1, PONG2, PONG3 = (wire.link_pong(wire.link_id(n)) for n in (1, 2, 3))
CLAIM2, CLAIM3 = (wire.link_ping(wire.link_id(n, claim=True)) for n in (2, 3))
REG1, REG2 = (n.to_bytes(4, "little") for n in (1, 2))
REFUSED = "more tasks than any worker may hold"


def increment(number: int) -> Frames:
    return wire.increment(number.to_bytes(4, "little"))


def task(number: int, tracked: bool = True, client: bytes = b"c") -> Frames:
    return wire.delivery(b"", client, wire.ping(ident(number), tracked)[2:-1])[1:]


def stream(number: int, size: bytes = b"1024", tracked: bool = True) -> Frames:
    asked = wire.stream(ident(number), 1, tracked)
    return wire.delivery(b"", b"c", [*asked[2:6], size])[1:]


def answer(number: int) -> Frames:
    return [b"c", b"", V, wire.RESPONSE, ident(number), b""]


class Bench(Desk):
    """A worker on the desk, on the seed's lane, brought to a state."""

    def __init__(self, state: str = Does.WORKING, **options: float) -> None:
        self.worker = Worker(Options(**{**PACE, **options}), slots=10, seed=1)
        super().__init__(self.worker)
        assert self.do(Started()) == [PING1]
        if state != Does.LINKING:
            assert self.told(PONG1) == [wire.register(REG1, 10)]
        if state in (Does.WORKING, Does.LEAVING):
            assert self.told(wire.registered(REG1)) == []
            assert self.notes == [Note("good", "registered with 10 slots")]
        if state == Does.LEAVING:
            assert self.ordered(Leave()) == [wire.deregister(), PING2]
        self.notes.clear()

    @property
    def state(self) -> str:
        return self.worker.state


# ---- the table: state, what arrives, what is sent, next state -------------------------------------------------------

STATES = (Does.LINKING, Does.REGISTERING, Does.WORKING, Does.LEAVING)
L, R, W, B = Does.LINKING, Does.REGISTERING, Does.WORKING, Does.LEAVING
DONE = [answer(7), increment(1)]
TABLE = [
    (L, PONG1, [wire.register(REG1, 10)], R),
    (L, PONG2, [], L),
    (L, wire.registered(REG1), [], L),
    (L, wire.link_ping(b"x"), [wire.link_pong(b"x")], L),
    (L, task(7), DONE, L),
    (R, PONG1, [], R),
    (R, wire.registered(REG1), [], W),
    (R, wire.registered(REG2), [], R),
    (R, wire.link_ping(b"x"), [wire.link_pong(b"x")], R),
    (R, task(7), DONE, R),
    (W, PONG1, [], W),
    (W, wire.registered(REG1), [], W),
    (W, wire.link_ping(b"x"), [wire.link_pong(b"x")], W),
    (W, task(7), DONE, W),
    (B, PONG1, [], B),
    (B, wire.registered(REG1), [], B),
    (B, wire.link_ping(b"x"), [wire.link_pong(b"x")], B),
    (B, task(7), DONE, B),
]


@pytest.mark.parametrize(("state", "frames", "sent", "then"), TABLE)
def test_every_state_with_everything_that_a_broker_sends(
    state: str, frames: Frames, sent: list[Frames], then: str
) -> None:
    bench = Bench(state)
    assert bench.told(frames) == sent and bench.state is then
    assert bench.others == [] and bench.worker.violations.total == 0


def test_leaving_ends_with_the_pong_of_the_goodbye() -> None:
    bench = Bench(Does.LEAVING)
    assert bench.told(PONG2) == [] and bench.others == [Exit("left the broker")]


@pytest.mark.parametrize("state", STATES)
def test_mistakes_are_counted_in_every_state(state: str) -> None:
    bench = Bench(state)
    reply = [b"", V, wire.RESPONSE, ident(1), b"", b"w"]
    assert bench.told(reply, [b"junk"], []) == [] and bench.state == state
    assert bench.worker.violations.total == 3 and bench.others == []


# ---- joining --------------------------------------------------------------------------------------------------------


def test_ping_and_register_are_repeated_every_heartbeat_until_answered() -> None:
    bench = Bench(Does.LINKING)
    assert bench.core.wake_at() == 102.0 and bench.at(102.0) == [PING1] and bench.at(103.0) == []
    assert bench.told(PONG1) == [wire.register(REG1, 10)]
    assert bench.at(105.0) == [PING2, wire.register(REG1, 10)]
    assert bench.told(wire.registered(REG1)) == [] and bench.state == Does.WORKING
    assert bench.at(106.0) == [] and bench.others == []


def test_r4_when_pongs_stop_it_opens_a_new_socket_and_registers_again() -> None:
    bench = Bench()
    assert bench.at(102.0) == [CLAIM2] and bench.at(104.0) == [CLAIM2]
    assert (bench.at(106.0), bench.state, bench.others) == ([PING3], Does.LINKING, [Reopen()])
    assert bench.notes == [Note("bad", "no PONG from the broker: linking anew")]
    assert bench.told(PONG2) == bench.told(wire.link_pong(CLAIM2[3])) == [], "of the old link"
    assert bench.told(PONG3) == [wire.register(REG2, 10)]
    assert bench.told(wire.registered(REG2)) == [] and bench.state == Does.WORKING
    assert bench.others == [Reopen()]


@pytest.mark.parametrize("state", [Does.LINKING, Does.REGISTERING, Does.WORKING])
def test_r4_a_connection_that_ended_is_a_new_link_and_it_registers_again(state: str) -> None:
    bench = Bench(state)
    assert bench.do(Connected()) == [], "its PING says all"
    assert bench.do(Disconnected()) == [PING2] and bench.state == Does.LINKING and not bench.others
    known = [] if state == Does.LINKING else [Note("warn", "the connection to the broker ended: linking anew")]
    assert bench.notes == known
    assert bench.do(Connected()) == []
    number = REG1 if state == Does.LINKING else REG2
    assert bench.told(PONG2) == [wire.register(number, 10)] and bench.told(wire.registered(number)) == []
    assert bench.worker.snapshot(bench.now).joined


def test_r10_a_goodbye_whose_connection_ended_is_said_again() -> None:
    bench = Bench(Does.LEAVING)
    assert bench.do(Disconnected()) == [wire.deregister(), PING2] and not bench.others
    assert bench.told(PONG2) == [] and bench.others == [Exit("left the broker")]


def test_r4_a_broker_that_knows_us_echoes_the_claim() -> None:
    bench = Bench()
    assert bench.at(102.0) == [CLAIM2] and bench.told(wire.link_pong(CLAIM2[3])) == []
    assert bench.state == Does.WORKING and bench.at(104.0) == [CLAIM3] and not bench.others and not bench.notes


def test_r4_a_broker_that_does_not_know_us_denies_it_and_we_register_again() -> None:
    bench = Bench()
    bench.ordered(Slow(5.0))
    bench.told(task(1))
    assert bench.at(102.0) == [CLAIM2] and bench.told(PONG2) == [wire.register(REG2, 10)]
    assert bench.state == Does.REGISTERING and [note.level for note in bench.notes] == ["warn"]
    assert bench.told(PONG2) == [], "once"
    assert bench.told(wire.registered(REG1)) == [], "of the registration before"
    assert bench.told(wire.registered(REG2), task(2)) == [] and bench.at(104.0) == [CLAIM3]
    assert bench.ordered(Slow(0.0)) == [answer(1), answer(2), increment(1)] and bench.others == []


def test_r4_an_unanswered_registration_falls_with_its_link() -> None:
    bench = Bench(Does.REGISTERING)
    for now in (102.0, 104.0):
        assert bench.at(now) == [PING2, wire.register(REG1, 10)]
    assert bench.at(106.0) == [PING3] and bench.state == Does.LINKING and bench.others == [Reopen()]


@pytest.mark.parametrize("state", [Does.LINKING, Does.REGISTERING, Does.WORKING])
def test_after_a_long_pause_it_registers_again(state: str) -> None:
    bench = Bench(state)
    assert bench.do(Paused(5.9)) == [] and bench.state == state and bench.others == []
    sent = bench.do(Paused(6.0))
    assert [frames[2] for frames in sent] == [wire.PING] and bench.state == Does.LINKING
    assert bench.others == [Reopen()] and [note.level for note in bench.notes] == ["warn"]


def test_a_link_that_never_opens_is_tried_for_ever() -> None:
    bench = Bench(Does.LINKING)
    for _ in range(50):
        sent = bench.at(bench.core.wake_at())
        assert [frames[2] for frames in sent] == [wire.PING] and bench.state == Does.LINKING
    assert bench.notes == [] and len(bench.others) == 16
    assert dict(bench.core.snapshot(bench.now).walked) == {(Does.LINKING, On.NO_PONG): 16}


# ---- tasks ----------------------------------------------------------------------------------------------------------


def test_tracked_or_not_an_increment_follows_every_task() -> None:
    bench = Bench()
    assert bench.told(task(1), task(2, tracked=False)) == [answer(1), increment(1), increment(2)]
    assert bench.worker.done == 2


def test_a_stream_is_right_to_the_last_byte() -> None:
    bench = Bench()
    for number, size in enumerate((1, 1024, 100_000)):
        (reply, inc) = bench.told(stream(number, b"%d" % size))
        assert reply[:5] == answer(number)[:5] and reply[6:] == [b""] and inc == increment(number + 1)
        assert data.wrong(reply[5], size) is None
        assert reply[5][3:11] == (number + 1).to_bytes(8, "little"), "R11: the handle is a counter"
    assert bench.told(stream(9, tracked=False)) == [increment(4)]


@pytest.mark.parametrize("size", [b"0", b"x", b"-1", b"1048577", b"99999999999999999999999", b""])
def test_r11_more_than_the_bound_or_nonsense_is_an_aborted_stream(size: bytes) -> None:
    bench = Bench()
    reply, inc = bench.told(stream(1, size))
    assert reply[5] == data.abort(1) and inc == increment(1)


def test_r5_an_unknown_command_is_counted_and_gives_its_slot_back() -> None:
    bench = Bench()
    assert bench.told([b"", V, wire.TRACKEXEC, ident(1), b"\x55", b"", b"c"]) == [increment(1)]
    assert bench.worker.unknown == 1 and bench.worker.done == 0


def test_slow_answers_later_and_in_order() -> None:
    bench = Bench()
    assert bench.ordered(Slow(1.5)) == [] and bench.told(task(1)) == []
    bench.now = 101.0
    assert bench.told(task(2)) == [] and bench.core.wake_at() == 101.5
    assert bench.core.snapshot(101.0).running == 2
    assert bench.at(101.5) == [answer(1), increment(1)]
    assert bench.core.wake_at() == 102.0, "the heartbeat"
    assert bench.ordered(Slow(0.0)) == [answer(2), increment(2)]
    assert bench.told(task(3)) == [answer(3), increment(3)]
    assert bench.ordered(Slow(-1.0)) == [] and bench.worker.delay == 0.0


def test_r4_a_task_of_an_old_link_is_answered_without_its_slot() -> None:
    bench = Bench()
    bench.ordered(Slow(10.0))
    bench.told(task(1))
    assert bench.at(106.0) == [PING2] and bench.told(PONG2) == [wire.register(REG2, 10)]
    assert bench.told(task(2)) == []
    assert bench.ordered(Slow(0.0)) == [answer(1), answer(2), increment(1)]


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.protocols.roundrobin.worker.MAX_SLOTS", 2)
    bench = Bench()
    bench.ordered(Slow(10.0))
    assert bench.told(task(1), task(2), task(3)) == []
    assert [one.reason for one in bench.worker.violations.newest()] == [REFUSED]
    assert bench.ordered(Slow(0.0)) == [answer(1), increment(1), answer(2), increment(2)]


# ---- leaving --------------------------------------------------------------------------------------------------------


def test_r10_it_finishes_what_it_holds_and_what_was_on_its_way() -> None:
    bench = Bench()
    bench.ordered(Slow(1.0))
    bench.told(task(1))
    assert bench.ordered(Leave()) == [wire.deregister(), PING2] and bench.ordered(Leave()) == []
    assert bench.told(task(2), PONG2) == [] and bench.others == []
    assert bench.at(101.0) == [answer(1), increment(1), answer(2), increment(2)]
    assert bench.others == [Exit("left the broker")]


def test_r10_a_broker_that_is_gone_holds_nobody() -> None:
    bench = Bench(Does.LEAVING)
    assert bench.at(105.9) == [PING2] and bench.others == []
    assert bench.core.wake_at() == 106.0
    bench.at(106.0)
    assert bench.others[-1] == Exit("left the broker")


def test_r10_what_is_held_outlasts_a_broker_that_is_gone() -> None:
    bench = Bench()
    bench.ordered(Slow(20.0))
    bench.told(task(1))
    bench.ordered(Leave())
    while bench.core.wake_at() < 120.0:
        assert bench.core.wake_at() > bench.now
        assert all(frames[2] == wire.PING for frames in bench.at(bench.core.wake_at()))
    assert Exit("left the broker") not in bench.others
    assert answer(1) in bench.at(120.0) and bench.others[-1] == Exit("left the broker")


def test_who_never_registered_just_goes() -> None:
    bench = Bench(Does.LINKING)
    assert bench.ordered(Leave()) == [] and bench.others == [Exit("left the broker")]


# ---- the contract ---------------------------------------------------------------------------------------------------


def test_a_workers_picture_of_itself() -> None:
    bench = Bench()
    bench.told(task(1))
    bench.do(Unsent(PING1, "full"))
    view = bench.core.snapshot(101.0)
    assert view[:6] == (101.0, "working", 10, 0, 1, 100.0)
    assert dict(view.terms) == {
        "links": "1",
        "lane": "seed",
        "delay": "0 s",
        "unknown tasks": "0",
        "violations": "0",
        "unsent": "1",
    }


def test_an_event_that_is_our_own_mistake_raises() -> None:
    for event in (Finished("key", True, b""), Ordered("nonsense")):
        with pytest.raises(TypeError, match="takes no"):
            Bench().do(event)


frame = st.one_of(
    st.sampled_from([b"", V, ident(1), b"STREAM_ID", b"10", *(bytes([n]) for n in range(12))]), st.binary(max_size=9)
)


@given(st.lists(st.lists(frame, max_size=9), min_size=1, max_size=5), st.sampled_from(STATES))
def test_any_frames_are_taken(messages: list[Frames], state: str) -> None:
    bench = Bench(state)
    bench.do(Received(messages))


# ---- the packed lane -------------------------------------------------------------------------------------------------


class Packing(Desk):
    """A worker at work that asked for the packed lane; ``agreed``: ours answers, else the original's echo."""

    def __init__(self, agreed: bool = True) -> None:
        self.worker = Worker(Options(packed=True, **PACE), slots=10, seed=1)
        super().__init__(self.worker)
        asked = wire.link_id(1, shares=True)
        assert self.do(Started()) == [wire.link_ping(asked)]
        assert self.pong(asked, agreed) == [wire.register(REG1, 10)]
        assert self.told(wire.registered(REG1)) == []
        assert dict(self.worker.snapshot(100.0).terms)["lane"] == ("packed" if agreed else "seed")

    def pong(self, asked: bytes, agreed: bool = True) -> list[Frames]:
        return self.told(wire.link_pong((wire.agreed(asked) or b"") if agreed else asked))


def delivered(*numbers: int, command: bytes = wire.TRACKEXEC) -> Frames:
    pairs: list[bytes | Frames] = []
    for number in numbers:
        pairs += (b"c", [command, ident(number), wire.APP_PING])
    return [packed.deliveries(pairs)]


def answered(*numbers: int, answer: packed.Data = True) -> Frames:
    values: list[packed.Data] = []
    for number in numbers:
        values += (b"c", ident(number), answer)
    return [packed.answers(values)]


def test_what_came_together_is_answered_together_and_is_its_own_increment() -> None:
    bench = Packing()
    assert bench.told(delivered(1, 2), delivered(3)) == [answered(1, 2, 3)]
    assert bench.told(delivered(4, command=wire.EXEC)) == [answered(4, answer=None)]
    assert bench.told(task(5)) == [answered(5)], "whichever lane it came over"
    assert bench.worker.done == 5 and bench.worker.violations.total == 0 and bench.others == []


def test_the_first_pong_of_a_link_says_whether_the_connection_may_be_shared() -> None:
    bench = Packing()
    assert bench.shares == [True], "before its REGISTER"
    bench.at(102.0)
    bench.pong(wire.link_id(2, claim=True, shares=True))
    assert bench.shares == [True], "once a link"
    assert bench.do(Disconnected()) == [wire.link_ping(wire.link_id(3, shares=True))]
    assert bench.pong(wire.link_id(3, shares=True), agreed=False) == [wire.register(REG2, 10)]
    assert bench.shares == [True, False]
    first = Worker(Options(packed=True, **PACE), slots=10, seed=1)
    first.handle(Started(), 100.0)
    pong = wire.link_pong(wire.agreed(wire.link_id(1, shares=True)) or b"")
    assert first.handle(Received([pong]), 100.0) == [Share(True), Send(wire.register(REG1, 10))]
    assert Bench().shares == [], "on the seed's lane nothing is asked"


def test_an_original_broker_echoes_and_gets_the_seeds_messages() -> None:
    bench = Packing(agreed=False)
    assert bench.told(task(7)) == DONE
    assert bench.told(delivered(8)) == [answer(8), increment(2)], "whichever lane it came over"
    assert bench.at(102.0) == [wire.link_ping(wire.link_id(2, claim=True, shares=True))] and bench.others == []


def test_a_slowed_worker_answers_together_what_is_due_together() -> None:
    bench = Packing()
    assert bench.ordered(Slow(1.0)) == [] and bench.told(delivered(1, 2)) == []
    bench.now = 100.5
    assert bench.told(delivered(3)) == [] and bench.at(101.0) == [answered(1, 2)] and bench.at(101.5) == [answered(3)]


def test_a_batch_of_answers_is_bounded() -> None:
    bench = Packing()
    numbers = range(packed.BATCH)
    assert bench.told(delivered(*numbers), delivered(99)) == [answered(*numbers), answered(99)]


def test_streams_are_packed_up_to_a_size() -> None:
    bench = Packing()
    small, large = stream(1, b"1024")[2:-2], stream(2, b"%d" % packed.SMALL)[2:-2]
    first, *rest = bench.told([packed.deliveries([b"c", large, b"c", small])])
    assert (first[:5], data.wrong(first[5], packed.SMALL)) == ([b"c", b"", V, wire.RESPONSE, ident(2)], None)
    assert rest[0] == increment(1)
    found = packed.read_answers(rest[1][0])
    assert not isinstance(found, str)
    ((client, task_id, packet),) = found
    assert (client, task_id) == (b"c", ident(1)) and isinstance(packet, bytes) and data.wrong(packet, 1024) is None
    assert len(rest) == 2


def test_unknown_commands_have_no_answer_and_give_their_slot_back() -> None:
    bench = Packing()
    assert bench.told([packed.deliveries([b"c", [wire.TRACKEXEC, ident(1), b"\x55"]])]) == [answered(1, answer=None)]
    assert (bench.worker.unknown, bench.worker.done) == (1, 0)


def test_r4_a_task_of_an_old_link_is_answered_on_the_seeds_lane_without_its_slot() -> None:
    bench = Packing()
    bench.ordered(Slow(7.0))
    assert bench.told(delivered(1)) == []
    bench.at(102.0)
    asked = wire.link_id(3, shares=True)
    assert bench.at(106.0) == [wire.link_ping(asked)] and bench.pong(asked) == [wire.register(REG2, 10)]
    assert bench.told(wire.registered(REG2), delivered(2)) == []
    assert bench.ordered(Slow(0.0)) == [answer(1), answered(2)]


def test_answers_go_before_a_new_link_and_before_a_pong_that_may_change_the_lane() -> None:
    bench = Packing()
    assert bench.at(102.0) == [wire.link_ping(wire.link_id(2, claim=True, shares=True))]
    echo = wire.link_pong(wire.link_id(2, claim=True, shares=True))
    assert bench.told(delivered(1), echo, delivered(2)) == [answered(1), answer(2), increment(1)]
    bench = Packing()
    bench.ordered(Slow(5.5))
    assert bench.told(delivered(1)) == [] and bench.at(104.0) != []
    sent = bench.at(106.0)
    assert sent == [answered(1), wire.link_ping(wire.link_id(3, shares=True))] and bench.others == [Reopen()]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (packed.DELIVERIES + b"\xc1", "unreadable packed frame"),
        (packed.deliveries([b"", [wire.EXEC, b"1", wire.APP_PING]]), "bad address"),
        (packed.results([b"1", b"w", None]), "wrong number of frames"),
    ],
)
def test_a_bad_packed_frame_is_counted(frame: bytes, reason: str) -> None:
    bench = Packing()
    assert bench.told([frame]) == []
    assert [one.reason for one in bench.worker.violations.newest()] == [reason]


def test_told_to_pack_it_asks_at_once_and_the_pong_decides() -> None:
    bench = Bench()
    asked = wire.link_id(2, claim=True, shares=True)
    assert bench.ordered(Pack(True)) == [wire.link_ping(asked)]
    assert bench.told(wire.link_pong(wire.agreed(asked) or b"")) == [] and bench.worker.link.packs
    assert bench.told(*(task(number) for number in (1, 2))) == [answered(1, 2)]
    assert bench.ordered(Pack(False)) == [CLAIM3] and bench.told(wire.link_pong(CLAIM3[3])) == []
    assert dict(bench.worker.snapshot(100.0).terms)["lane"] == "seed" and bench.state == Does.WORKING
    assert bench.told(task(3)) == [answer(3), increment(1)]


# ---- other slots ----------------------------------------------------------------------------------------------


def test_other_slots_are_said_at_once_where_it_holds_nothing_and_behind_an_answer_where_it_works() -> None:
    """Behind a PING a REGISTER begins anew, and what it holds would be taken back (R7)."""
    bench = Bench()
    assert bench.ordered(Slots(4)) == [wire.register(REG1, 4)] and bench.worker.snapshot(bench.now).slots == 4
    bench.ordered(Slow(1.0))
    bench.told(task(1))
    assert bench.ordered(Slots(2)) == []
    bench.now += 1.0
    said = bench.at(bench.now)
    assert said[-2:] == [increment(1), wire.register(REG1, 2)]
    assert bench.told(wire.registered(REG1)) == [] and bench.state == Does.WORKING


def test_other_slots_wait_for_the_registration_that_is_on_its_way() -> None:
    bench = Bench(Does.REGISTERING)
    assert bench.ordered(Slots(4)) == []
    assert bench.told(wire.registered(REG1)) == [wire.register(REG1, 4)]
    leaving = Bench(Does.LEAVING)
    assert leaving.ordered(Slots(4)) == []
