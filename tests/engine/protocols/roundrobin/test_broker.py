"""What each message means to the broker: the seed's rules, then the rulings, each under its number in README.md."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

from engine.core import NEVER, Disconnected, Finished, Frames, Note, Ordered, Paused, Started
from engine.parts.limits import MAX_ROUTING_ID
from engine.parts.orders import Discard, Drain, Leave, Move, Throttle, Undrain, Withdraw
from engine.protocols.roundrobin import messages as wire
from tests.helpers.examples import examples
from tests.helpers.roundrobin import Front, given, ident, relayed, submitted

V = wire.VERSION
REGISTERED = [b"", V, wire.RESPONSE, b"reg1", b""]


def front_with(*workers: bytes, slots: int = 10, **options: object) -> Front:
    front = Front(**options)
    for worker in workers:
        front.join(worker, slots)
    front.notes.clear()
    return front


# ---- the seed's rules -----------------------------------------------------------------------------------------------


def test_link_pings_are_answered_whoever_sends_them() -> None:
    front = front_with(b"w")
    for peer in (b"w", b"stranger"):
        assert front.told([peer, *wire.link_ping(ident(5))]) == [[peer, *wire.link_pong(ident(5))]]
    assert front.wrongs == [] and front.free == {b"w": 10}


def test_seed_rule_2_register_is_answered_and_overwrites_slots() -> None:
    front = Front()
    assert front.join(b"w", 10) == [[b"w", *REGISTERED]]
    assert front.free == {b"w": 10} and front.notes == [Note("good", "w1 joined", b"w")]
    assert front.join(b"w", 3) == [[b"w", *REGISTERED]]
    assert front.free == {b"w": 3} and len(front.notes) == 1


def test_register_without_a_response_is_run_and_not_answered() -> None:
    front = Front()
    assert front.told([b"w", b"", V, wire.EXEC, b"reg1", wire.APP_REGISTER, b"4", b""]) == []
    assert front.free == {b"w": 4}


def test_seed_rule_3_deregister_removes_and_is_ignored_where_nobody_is() -> None:
    front = front_with(b"w")
    assert front.told([b"w", *wire.deregister()]) == [] and front.states == {}
    assert front.told([b"w", *wire.deregister()], [b"x", *wire.deregister()]) == []
    assert front.notes == [Note("info", "w1 left", b"w")] and front.wrongs == []


def test_seed_rule_1_a_task_goes_out_and_its_reply_comes_back() -> None:
    front = front_with(b"w")
    assert front.pingt(5) == [given(b"w", 5)] and front.free == {b"w": 9} and front.books == (1, 0, {}, 1, 0, 0)
    assert front.reply(b"w", 5) == [relayed(5, b"w")] and front.free == {b"w": 9} and front.books == (1, 1, {}, 0, 0, 0)
    assert front.increment(b"w") == [] and front.free == {b"w": 10} and front.wrongs == []


def test_an_exec_task_ends_with_its_increment() -> None:
    front = front_with(b"w")
    assert front.ping(5) == [[b"w", b"", V, wire.EXEC, ident(5), wire.APP_PING, b"", b"c"]]
    assert front.books == (1, 0, {}, 1, 0, 0)
    assert front.increment(b"w") == [] and front.free == {b"w": 10} and front.books == (1, 1, {}, 0, 0, 0)


def test_a_stream_passes_through_unread() -> None:
    front = front_with(b"w")
    request = wire.stream(b"\1\0\0\0", 1024)
    assert front.told([b"c", *request]) == [[b"w", *request, b"c"]]
    answer = wire.reply(b"c", b"\1\0\0\0", b"anything")
    assert front.told([b"w", *answer]) == [[b"c", *answer[1:], b"w"]]
    assert front.wrongs == []


def test_seed_rule_5_least_recently_used_first_past_the_saturated() -> None:
    front = front_with(b"a", b"b")
    front.join(b"a", 1)
    assert [front.pingt(n)[0][0] for n in range(4)] == [b"b", b"a", b"b", b"b"]


def test_increment_moves_its_worker_to_the_bottom() -> None:
    front = front_with(b"a", b"b", b"c")
    front.pingt(0)  # a; the table is b c a
    front.reply(b"a", 0)
    front.pingt(1)  # b; the table is c a b
    front.increment(b"a")  # c b a
    assert [front.pingt(n)[0][0] for n in (2, 3, 4)] == [b"c", b"b", b"a"]


def test_seed_rule_6_what_waited_goes_first() -> None:
    front = Front()
    assert front.pingt(0) == front.pingt(1) == [] and front.books == (2, 0, {}, 0, 2, 0)
    assert front.join(b"w", 1) == [[b"w", *REGISTERED], given(b"w", 0)]
    assert front.pingt(2) == [] and front.reply(b"w", 0) == [relayed(0, b"w")]
    assert front.increment(b"w") == [given(b"w", 1)] and front.books == (3, 1, {}, 1, 1, 0)


# ---- R1, R2: one task, one record; the backlog ----------------------------------------------------------------------


def test_r1_an_id_in_use_is_refused_and_free_again_afterwards() -> None:
    front = front_with(b"w", slots=1)
    front.pingt(0)
    assert front.ping(0) == [], "held"
    front.pingt(1)
    assert front.ping(1) == [], "queued"
    assert front.pingt(0, client=b"d") == [], "another client's, queued"
    assert front.wrongs == [(b"c", "id already in use", 2)] and front.books == (3, 0, {}, 1, 2, 0)
    front.reply(b"w", 0)
    assert front.increment(b"w") == [given(b"w", 1)] and front.pingt(0) == []
    assert front.books == (4, 1, {}, 1, 2, 0)


def test_r1_a_task_that_is_asked_for_again_while_it_is_here_is_counted_and_is_no_violation() -> None:
    front = front_with(b"w", slots=1)
    front.pingt(0)
    front.pingt(1)
    assert front.pingt(0) == front.pingt(1) == [] and front.wrongs == []
    assert dict(front.broker.snapshot(front.now).counters)["asked again"] == 2
    assert front.books == (2, 0, {}, 1, 1, 0)
    assert front.reply(b"w", 0) == [relayed(0, b"w")], "answered once"


def test_routing_ids_that_no_socket_can_have_are_refused_at_the_first_message() -> None:
    front = Front(packed=True)
    long = b"x" * (MAX_ROUTING_ID + 1)
    assert front.join(long) == [] == front.told([long, *wire.link_ping(ident(1))]) == front.told(submitted(long, 1))
    assert front.wrongs == [(long, "routing id of a wrong length", 3)] and front.states == {}
    assert front.join(long[1:]) != [] and front.books == (0, 0, {}, 0, 0, 0)


def test_r1_a_drained_backlog_sends_nothing_twice() -> None:
    """The original sends the new message a second time after draining."""
    front = Front()
    for number in range(20):
        front.pingt(number)
    sent = front.join(b"w", 10) + front.pingt(20)
    for number in range(21):
        sent += front.reply(b"w", number) + front.increment(b"w")
    assert [frames[4] for frames in sent if frames[0] == b"w" and frames[3] == wire.TRACKEXEC] == [
        ident(number) for number in range(21)
    ]


def test_r2_the_backlog_is_bounded() -> None:
    front = Front(max_backlog=2)
    for number in range(5):
        assert front.pingt(number) == []
    assert front.books == (5, 0, {}, 0, 2, 3)
    assert front.notes == [Note("bad", "the backlog is full: tasks are dropped", b"c")], "said once"
    assert front.join(b"w")[1:] == [given(b"w", 0), given(b"w", 1)]


# ---- R3, R4: workers are lost and come back -------------------------------------------------------------------------


def test_r3_silent_workers_are_pinged_and_then_lost_with_their_tasks_going_to_others() -> None:
    front = front_with(b"a", b"b")
    front.pingt(0)
    front.ping(1)
    pings = front.at(102.0)
    assert [(frames[0], frames[3]) for frames in pings] == [(b"a", wire.PING), (b"b", wire.PING)]
    front.now = 105.0
    assert front.told([b"b", *wire.link_pong(pings[1][4])]) == []
    assert front.at(106.0) == [], "b holds something, so the suspect waits"
    assert front.states == {b"b": "ready", b"a": "lost"} and front.free == {b"b": 9}
    assert front.notes == [Note("bad", "w1 lost (silent), 1 task taken back", b"a")]
    assert front.increment(b"b") == [given(b"b", 0)] and front.books == (2, 1, {}, 1, 0, 0)
    assert front.reply(b"b", 0) == [relayed(0, b"b")] and front.books == (2, 2, {}, 0, 0, 0)


def test_any_message_is_a_sign_of_life_but_a_malformed_one() -> None:
    front = front_with(b"a", b"b")
    front.now = 105.0
    front.told([b"a", *wire.increment(b"i")], [b"b", *wire.increment(b"i"), b"x"])
    front.at(106.0)
    assert front.states == {b"a": "ready", b"b": "lost"}


def test_r3_a_task_is_delivered_so_often_and_no_more() -> None:
    front = front_with(b"a", max_deliveries=2)
    front.pingt(0)
    front.at(106.0)
    assert front.books == (1, 0, {}, 0, 1, 0)
    assert front.join(b"b")[1:] == [given(b"b", 0)]
    front.at(112.0)
    assert front.books == (1, 0, {"undeliverable": 1}, 0, 0, 0)


@pytest.mark.parametrize("reason", ["unreachable", "full"])
def test_r3_a_refused_delivery_loses_the_worker_at_once_and_does_not_count(reason: str) -> None:
    front = front_with(b"a", b"b", b"c", max_deliveries=1)
    assert front.pingt(0) == [given(b"a", 0)]
    assert front.unsent(given(b"a", 0), reason) == [given(b"b", 0)]
    assert front.unsent(given(b"b", 0), reason) == [given(b"c", 0)]
    assert front.states == {b"c": "ready", b"a": "lost", b"b": "lost"} and front.books == (1, 0, {}, 1, 0, 0)
    assert front.notes[0] == Note("bad", f"w1 lost ({reason}), 1 task taken back", b"a")


def test_r3_what_else_it_held_was_delivered_and_counts() -> None:
    front = front_with(b"a", slots=2, max_deliveries=1)
    front.pingt(0)
    front.pingt(1)
    assert front.unsent(given(b"a", 1)) == []
    assert front.books == (2, 0, {"undeliverable": 1}, 0, 1, 0)


def test_a_refused_heartbeat_loses_the_worker_too_and_other_refusals_only_count() -> None:
    front = front_with(b"a")
    assert front.unsent([b"stranger", *wire.link_pong(ident(1))]) == [] and front.states == {b"a": "ready"}
    assert front.unsent([b"a", *wire.link_ping(ident(1))]) == [] and front.states == {b"a": "lost"}
    assert front.broker.unsent == 2


def test_r3_the_first_reply_wins_and_the_second_is_late() -> None:
    front = front_with(b"a", b"b")
    front.pingt(0)
    front.unsent([b"a", *wire.link_ping(ident(1))])  # a is lost, b has the task
    assert front.reply(b"a", 0) == [relayed(0, b"a")], "it was given the task, so it may answer"
    assert front.books == (1, 1, {}, 0, 0, 0) and front.free == {b"b": 9}, "b still works on it"
    assert front.reply(b"b", 0) == [] and front.broker.late == 1
    assert front.increment(b"b") == [] and front.free == {b"b": 10}
    assert front.increment(b"a") == [] and front.broker.late == 2 and front.wrongs == []


def test_r3_a_former_holder_may_answer_what_is_queued_again() -> None:
    front = front_with(b"a")
    front.pingt(0)
    front.at(106.0)
    assert front.reply(b"a", 0) == [relayed(0, b"a")] and front.books == (1, 1, {}, 0, 0, 0)
    assert front.join(b"b")[1:] == [], "nothing is left to do"


@pytest.mark.parametrize("sign", [wire.link_ping(ident(9)), wire.link_pong(ident(9))])
def test_r4_a_lost_worker_that_is_heard_is_a_worker_again(sign: Frames) -> None:
    front = front_with(b"a", slots=3)
    front.at(106.0)
    front.pingt(0)
    front.now = 120.0
    answered = [[b"a", *wire.link_pong(ident(9))]] if sign[2] == wire.PING else []
    assert front.told([b"a", *sign]) == [*answered, given(b"a", 0)]
    assert front.states == {b"a": "ready"} and front.free == {b"a": 2}
    assert front.notes[-1] == Note("good", "w1 is back", b"a")


def test_r4_a_forgotten_worker_has_to_register() -> None:
    front = front_with(b"a", lost_shown=10.0)
    front.at(106.0)
    front.at(116.0)
    front.told([b"a", *wire.link_ping(ident(9))], [b"a", *wire.link_pong(ident(9))])
    assert front.states == {} and front.broker.late == 1
    front.join(b"a")
    assert front.states == {b"a": "ready"}


def test_r4_who_takes_itself_for_registered_and_is_not_is_told() -> None:
    front = front_with(b"w")
    claim, denial = wire.link_id(7, claim=True), wire.link_id(7)
    assert front.told([b"w", *wire.link_ping(claim)]) == [[b"w", *wire.link_pong(claim)]]
    assert front.told([b"x", *wire.link_ping(claim)]) == [[b"x", *wire.link_pong(denial)]]
    assert front.broker.denied == 1 and front.wrongs == []
    front.at(106.0)
    assert front.told([b"w", *wire.link_ping(claim)]) == [[b"w", *wire.link_pong(claim)]], "lost, and so back"
    front.told([b"w", *wire.deregister()])
    assert front.told([b"w", *wire.link_ping(claim)]) == [[b"w", *wire.link_pong(denial)]]


def test_r14_who_claims_a_lost_workers_name_behind_one_that_does_not_is_told_and_nobody_dies() -> None:
    front = front_with(b"w")
    front.do(Disconnected(peer=b"w"))
    stranger, claim = wire.link_id(1), wire.link_id(7, claim=True)
    assert front.told([b"w", *wire.link_ping(stranger)]) == [[b"w", *wire.link_pong(stranger)]]
    assert front.told([b"w", *wire.link_ping(claim)]) == [[b"w", *wire.link_pong(wire.link_id(7))]]
    assert front.broker.denied == 1 and front.states == {b"w": "lost"}
    assert front.join(b"w") == [[b"w", *REGISTERED]] and front.states == {b"w": "ready"}


def test_r10_a_drained_worker_stays_empty_until_it_leaves_or_drains_no_more() -> None:
    front = front_with(b"w", slots=1)
    claim = wire.link_id(7, claim=True)
    front.ordered(Drain(b"w"))
    assert front.told([b"w", *wire.link_ping(claim)]) == [[b"w", *wire.link_pong(claim)]]
    assert front.pingt(0) == [] and front.states == {b"w": "drain"}
    assert front.ordered(Undrain(b"w")) == [given(b"w", 0)] and front.states == {b"w": "busy"}
    front.ordered(Drain(b"w"))
    front.reply(b"w", 0)
    front.increment(b"w")
    assert front.states == {b"w": "drain"}
    assert front.join(b"w") == [[b"w", *REGISTERED]] and front.states == {b"w": "ready"}
    front.ordered(Drain(b"w"))
    front.told([b"w", *wire.deregister()])
    assert front.states == {}
    front.ordered(Undrain(b"w"))
    assert front.notes[-1] == Note("warn", "it does not drain, or leaves by itself", b"w", True)


def test_a_pause_and_a_rate_hold_tasks_up_and_let_them_go_in_their_order() -> None:
    front = front_with(b"w", b"v", slots=10)
    assert front.ordered(Throttle(0.0)) == [] and front.pingt(0) == front.pingt(1) == front.pingt(2) == []
    assert front.at(100.2) == [] and front.books[4] == 3
    assert front.broker.snapshot(100.2).terms[0] == ("dispatch", "paused")
    assert front.ordered(Throttle(4.0)) == [given(b"w", 0)]
    assert front.broker.wake_at() == pytest.approx(100.45) and front.at(100.4) == []
    assert front.at(100.46) == [given(b"v", 1)]
    assert front.ordered(Throttle(None)) == [given(b"w", 2)] and front.broker.snapshot(100.46).limits == ()


def test_the_tasks_of_one_client_are_held_up_and_others_pass_them() -> None:
    front = front_with(b"w", slots=10)
    front.ordered(Throttle(0.0, b"c"))
    assert front.pingt(0) == front.pingt(1) == front.pingt(2) == []
    other = front.told([b"d", *wire.ping(ident(7), True)])
    assert len(other) == 1 and other[0][0] == b"w"
    front.ordered(Discard(b"c", ident(0)))
    front.ordered(Move(b"c", ident(2), True))
    assert front.books[4] == 2
    assert front.ordered(Throttle(None, b"c")) == [given(b"w", 2), given(b"w", 1)]
    front.ordered(Throttle(5.0, b"c"))
    assert front.pingt(3) == [given(b"w", 3)] and front.pingt(4) == []
    front.ordered(Withdraw(b"c"))
    assert front.at(100.5) == [] and front.books[4] == 0


def test_a_suspect_waits_while_all_is_paused() -> None:
    front = front_with(b"w", b"v")
    front.pingt(0)
    front.ordered(Throttle(0.0))
    assert front.unsent([b"w", *wire.link_ping(ident(9))], "unreachable") == []
    assert front.ordered(Throttle(None)) == [given(b"v", 0)]


def test_r10_who_says_goodbye_while_it_drains_leaves_with_its_last_task() -> None:
    front = front_with(b"w")
    front.ping(0)
    front.ordered(Drain(b"w"))
    front.told([b"w", *wire.deregister()])
    front.ordered(Undrain(b"w"))
    assert front.states == {b"w": "drain"} and front.increment(b"w") == [] and front.states == {}


def test_r4_a_lost_worker_that_registers_gets_the_reply_before_any_task() -> None:
    front = front_with(b"a")
    front.at(106.0)
    front.pingt(0)
    assert front.join(b"a", 2) == [[b"a", *REGISTERED], given(b"a", 0)] and front.free == {b"a": 1}
    assert front.notes[-1] == Note("good", "w1 is back", b"a")


def test_f10_late_messages_of_the_lost_are_counted() -> None:
    front = front_with(b"a")
    front.pingt(0)
    front.pingt(1)
    front.reply(b"a", 0)
    front.at(106.0)
    assert front.increment(b"a") == [] and front.increment(b"stranger") == []
    assert front.reply(b"a", 0) == [] and front.reply(b"stranger", 1) == []
    assert front.broker.late == 4 and front.wrongs == [] and front.states == {b"a": "lost"}


# ---- R12: suspects --------------------------------------------------------------------------------------------------


def lost_with(*numbers: int, others: tuple[bytes, ...] = (b"b", b"c")) -> Front:
    """a was lost with these tasks; each of the others holds one more and has slots left."""
    front = front_with(b"a", slots=len(numbers))
    for number in numbers:
        assert front.pingt(number) == [given(b"a", number)]
    for other in others:
        front.join(other)
    for number, other in enumerate(others, 100):
        assert front.pingt(number) == [given(other, number)]
    assert front.unsent([b"a", *wire.link_ping(ident(1))]) == []
    front.notes.clear()
    return front


def ended(front: Front, worker: bytes, number: int) -> list[Frames]:
    """What is given when a worker has replied and its INCREMENT comes."""
    assert front.reply(worker, number) == [relayed(number, worker)]
    return front.increment(worker)


def test_r12_a_suspect_goes_alone_to_an_empty_worker_and_new_tasks_to_the_others() -> None:
    front = lost_with(0, 1)
    assert list(front.broker.pool.backlog.suspects.kept) == [front.broker.pool.workers[key] for key in (b"b", b"c")]
    assert front.pingt(2) == [], "both are kept, each for one of two suspects"
    assert ended(front, b"c", 101) == [given(b"c", 0)], "whoever is empty first takes the older one"
    assert ended(front, b"b", 100) == [given(b"b", 1)] and front.free == {b"b": 9, b"c": 9}
    assert front.pingt(3) == [], "nobody gets anything beside a suspect"
    assert ended(front, b"b", 1) == [given(b"b", 2), given(b"b", 3)], "it held itself well"
    assert ended(front, b"c", 0) == [] and front.pingt(4) == [given(b"b", 4)]
    assert front.books == (7, 4, {}, 3, 0, 0)


def test_r12_no_more_are_kept_than_suspects_wait() -> None:
    front = lost_with(0)
    assert [front.pingt(number)[0][0] for number in (1, 2, 3)] == [b"c", b"c", b"c"], "b is kept"
    assert front.join(b"d")[1:] == [given(b"d", 0)], "empty, and needed before b is"
    assert [front.pingt(number)[0][0] for number in (4, 5)] == [b"c", b"b"], "b is not kept any more"


def test_r12_who_leaves_is_kept_no_longer_and_another_one_is() -> None:
    front = lost_with(0)
    front.told([b"b", *wire.deregister()])
    assert front.pingt(1) == [], "c is kept"
    assert ended(front, b"c", 101) == [given(b"c", 0)]
    assert ended(front, b"b", 100) == [] and front.states == {b"a": "lost", b"c": "ready"}


def test_r12_who_is_kept_and_registers_anew_is_kept_again_if_it_comes_to_that() -> None:
    front = lost_with(0)
    assert front.join(b"b", 1)[1:] == [] and front.free == {b"b": 0, b"c": 9}, "no slot to keep"
    assert front.pingt(1) == [], "so c is"
    assert ended(front, b"b", 100) == [given(b"b", 0), given(b"c", 1)], "and c is kept no longer"


def test_r12_a_suspect_stays_alone_when_its_worker_registers_again() -> None:
    front = lost_with(0, others=(b"b",))
    assert ended(front, b"b", 100) == [given(b"b", 0)]
    assert front.join(b"b")[1:] == [] and front.pingt(1) == []
    assert ended(front, b"b", 0) == [given(b"b", 1)]


def test_r12_a_late_reply_to_a_waiting_suspect_sets_its_worker_free() -> None:
    front = lost_with(0, others=(b"b",))
    assert front.pingt(1) == []
    assert front.reply(b"a", 0) == [given(b"b", 1), relayed(0, b"a")]


def test_r12_poison_ends_alone() -> None:
    front = front_with(b"w", max_deliveries=3)
    for number in range(3):
        front.pingt(number)
    for _ in range(2):
        front.told([b"w", *wire.link_ping(ident(9))])
        assert front.join(b"w")[1:] == [given(b"w", 0)]
    front.told([b"w", *wire.link_ping(ident(9))])
    assert front.join(b"w")[1:] == [given(b"w", 1)] and front.books == (3, 0, {"undeliverable": 1}, 1, 1, 0)
    assert ended(front, b"w", 1) == [given(b"w", 2)] and ended(front, b"w", 2) == []
    assert front.books == (3, 2, {"undeliverable": 1}, 0, 0, 0) and front.free == {b"w": 10}


def test_r12_what_was_refused_is_no_suspect() -> None:
    front = front_with(b"a", slots=2)
    front.pingt(0)
    front.pingt(1)
    front.unsent(given(b"a", 1))
    assert front.join(b"b", 2)[1:] == [given(b"b", 0)], "that one was delivered, and goes alone"
    assert front.join(b"c", 2)[1:] == [given(b"c", 1)] and front.pingt(2) == [given(b"c", 2)]


def test_r12_suspects_count_against_the_backlog() -> None:
    front = front_with(b"a", max_backlog=1)
    front.pingt(0)
    front.at(106.0)
    front.pingt(1)
    assert front.books == (2, 0, {}, 0, 1, 1)


# ---- R5: slots ------------------------------------------------------------------------------------------------------


def test_r5_an_increment_beyond_what_is_held_is_a_violation_and_changes_nothing() -> None:
    front = front_with(b"w", slots=2)
    assert front.increment(b"w") == [] and front.free == {b"w": 2}
    front.pingt(0)
    assert front.increment(b"w") == [], "not answered yet"
    assert front.free == {b"w": 1} and front.wrongs == [(b"w", "INCREMENT beyond what it holds", 2)]
    assert front.books == (1, 0, {}, 1, 0, 0)


def test_r5_answers_come_before_silent_tasks() -> None:
    front = front_with(b"w", slots=3)
    front.ping(0)
    front.pingt(1)
    front.ping(2)
    front.reply(b"w", 1)
    assert front.increment(b"w") == [] and front.books == (3, 1, {}, 2, 0, 0)
    front.increment(b"w")
    assert [task.key[1] for task in front.broker.pool.workers[b"w"].held] == [ident(2)], "the oldest first"
    front.increment(b"w")
    assert front.books == (3, 3, {}, 0, 0, 0) and front.free == {b"w": 3} and front.wrongs == []


def test_r5_an_unknown_command_leaks_no_slot() -> None:
    front = front_with(b"w", slots=2)
    odd = [b"", V, wire.TRACKEXEC, ident(0), b"\x55", b"argument", b""]
    assert front.told([b"c", *odd]) == [[b"w", *odd, b"c"]]
    assert front.increment(b"w") == [] and front.free == {b"w": 2} and front.books == (1, 0, {"unanswered": 1}, 0, 0, 0)
    front.told([b"c", *odd])
    assert front.reply(b"w", 0) == [relayed(0, b"w")], "a worker that knows it may answer"
    assert front.increment(b"w") == [] and front.free == {b"w": 2} and front.wrongs == []


def test_r5_registering_while_busy_inflates_nothing() -> None:
    front = front_with(b"w", slots=3)
    for number in range(3):
        front.pingt(number)
    front.join(b"w", 2)
    assert front.free == {b"w": 0} and front.states == {b"w": "busy"}
    front.reply(b"w", 0)
    front.increment(b"w")
    assert front.free == {b"w": 0}, "two held, two slots"
    front.join(b"w", 5)
    assert front.free == {b"w": 3}


@pytest.mark.parametrize("slots", [b"1000000000", b"-5", b"9223372036854775808", b"x", b"0", b""])
def test_r5_f7_hostile_slots_leave_the_table_as_it_is(slots: bytes) -> None:
    front = front_with(b"w", slots=3)
    hostile = [b"", V, wire.TRACKEXEC, b"reg1", wire.APP_REGISTER, slots, b""]
    assert front.told([b"w", *hostile], [b"x", *hostile]) == []
    assert front.free == {b"w": 3}
    assert front.wrongs == [(b"w", "REGISTER with bad slots", 1), (b"x", "REGISTER with bad slots", 1)]


def test_r2_what_tasks_bring_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queued or in flight: the broker keeps a task until it has ended, to give it again."""
    request = wire.stream(ident(1), 1024)
    size = sum(map(len, request[2:-1]))
    monkeypatch.setattr("engine.protocols.roundrobin.records.MAX_HELD", 2 * size)
    front = front_with(b"w", slots=1)
    for number in (1, 2, 3):
        front.told([b"c", *wire.stream(ident(number), 1024)])
    assert front.pingt(4) == [] and front.books == (4, 0, {}, 1, 2, 1), "one without arguments still goes"
    assert front.notes == [Note("bad", "the backlog is full: tasks are dropped", b"c")]
    front.reply(b"w", 1)
    assert front.told([b"c", *wire.stream(ident(5), 1024)]) == [] and front.books == (5, 1, {}, 0, 3, 1)


def test_a_full_table_refuses_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.protocols.roundrobin.table.MAX_WORKERS", 1)
    front = front_with(b"w")
    assert front.join(b"x") == [] and front.wrongs == [(b"x", "too many workers", 1)]
    assert front.join(b"w") == [[b"w", *REGISTERED]]


# ---- R6, R8: mistakes, and who may write to whom --------------------------------------------------------------------


def test_r6_malformed_input_is_counted_and_the_broker_goes_on() -> None:
    front = front_with(b"w")
    front.pingt(0)
    assert front.told([b"x"], [b"x", b"", b"HTTP/1.1", b"\1", b"a", b""], [b"x", b"", V, b"\1", b"a", b""], []) == [
        [b"x", *wire.link_pong(b"a")]
    ]
    assert front.wrongs == [
        (b"", "wrong number of frames", 1),
        (b"x", "wrong number of frames", 1),
        (b"x", "wrong version", 1),
    ]
    assert front.reply(b"w", 0) == [relayed(0, b"w")]


def test_r8_nobody_writes_to_anybody_but_to_the_client_of_what_he_holds() -> None:
    front = front_with(b"a", b"b")
    front.pingt(0)
    assert front.reply(b"b", 0) == [], "another's task"
    assert front.reply(b"a", 0, client=b"victim") == [], "another's client"
    assert front.reply(b"a", 1) == [], "no task"
    assert front.reply(b"stranger", 0) == []
    assert front.wrongs == [
        (b"a", "reply to a task that it does not hold", 2),
        (b"b", "reply to a task that it does not hold", 1),
    ]
    assert front.broker.late == 1 and front.books == (1, 0, {}, 1, 0, 0)
    assert front.reply(b"a", 0) == [relayed(0, b"a")]
    assert front.reply(b"a", 0) == [] and front.broker.late == 2, "answered already"


def test_a_reply_to_an_exec_task_is_refused() -> None:
    front = front_with(b"w")
    front.ping(0)
    assert front.reply(b"w", 0) == [] and front.wrongs == [(b"w", "reply to a task that wants none", 1)]
    front.increment(b"w")
    assert front.books == (1, 1, {}, 0, 0, 0) and front.free == {b"w": 10}


def test_r8_f5_a_client_that_is_gone_is_counted() -> None:
    front = front_with(b"w")
    front.pingt(0)
    (answer,) = front.reply(b"w", 0)
    assert front.unsent(answer) == [] and front.books == (1, 0, {"client gone": 1}, 0, 0, 0)
    assert front.states == {b"w": "ready"}


# ---- R7: a known worker registers -----------------------------------------------------------------------------------


def test_r7_alone_it_keeps_what_it_holds() -> None:
    front = front_with(b"w", slots=2)
    front.pingt(0)
    front.pingt(1)
    front.told([b"w", *wire.link_ping(ident(1))])
    front.reply(b"w", 0)
    assert front.join(b"w", 2) == [[b"w", *REGISTERED]] and front.free == {b"w": 0}
    assert front.reply(b"w", 1) == [relayed(1, b"w")] and front.wrongs == []


def test_r7_f6_behind_a_link_ping_its_old_tasks_are_handed_out_again() -> None:
    front = front_with(b"w", slots=2)
    front.pingt(0)
    front.pingt(1)
    front.reply(b"w", 0)  # and its INCREMENT never came
    front.now = 101.0
    front.told([b"w", *wire.link_ping(ident(1))])
    assert front.join(b"w", 2) == [[b"w", *REGISTERED], given(b"w", 1)] and front.free == {b"w": 1}
    assert front.reply(b"w", 1) == [relayed(1, b"w")]
    assert front.increment(b"w") == [] and front.free == {b"w": 2}
    assert front.increment(b"w") == [] and front.free == {b"w": 2} and front.broker.late == 1, "the old link's"
    assert front.books == (2, 2, {}, 0, 0, 0)


def test_r7_what_was_given_over_the_new_link_stays() -> None:
    front = front_with(b"a", b"b", slots=2)
    front.pingt(0)  # a
    front.pingt(1)  # b
    front.now = 101.0
    front.told([b"a", *wire.link_ping(ident(1))])
    front.now = 101.1
    assert front.pingt(2) == [given(b"a", 2)]
    assert front.join(b"a", 2) == [[b"a", *REGISTERED]]
    assert [task.key[1] for task in front.broker.pool.workers[b"a"].held] == [ident(2)]
    assert front.reply(b"b", 1) == [relayed(1, b"b")] and front.increment(b"b") == [given(b"b", 0)]


def test_r7_a_heartbeat_before_the_registration_completes_nothing_twice() -> None:
    front = front_with(b"a", b"b")
    front.pingt(0)
    front.told([b"a", *wire.link_ping(ident(1))])
    assert front.join(b"a")[1:] == [given(b"b", 0)]
    assert front.reply(b"a", 0) == [relayed(0, b"a")] and front.reply(b"b", 0) == []
    front.increment(b"a")
    front.increment(b"b")
    assert front.free == {b"a": 10, b"b": 10} and front.books == (1, 1, {}, 0, 0, 0) and front.wrongs == []


# ---- R9, R10: deadlines, pauses, leaving ----------------------------------------------------------------------------


def alive(front: Front, until: float, *workers: bytes) -> list[Frames]:
    """What is sent besides heartbeats while these workers answer every second."""
    sent: list[Frames] = []
    while front.now < until:
        sent += front.at(front.now + 1.0)
        for worker in workers:
            front.told([worker, *wire.link_pong(ident(1))])
    return [frames for frames in sent if frames[3] != wire.PING]


def test_r9_a_task_that_is_not_answered_fails_and_gives_its_slot_back() -> None:
    front = front_with(b"w", slots=1, task_deadline=10.0)
    front.pingt(0)
    front.pingt(1)
    assert alive(front, 109.0, b"w") == [] and front.free == {b"w": 0}
    assert alive(front, 110.0, b"w") == [given(b"w", 1)] and front.books == (2, 0, {"deadline": 1}, 1, 0, 0)
    assert front.reply(b"w", 0) == [] and front.broker.late == 1, "too late"
    assert front.reply(b"w", 1) == [relayed(1, b"w")]
    front.increment(b"w")
    assert front.free == {b"w": 1}
    front.increment(b"w")
    assert front.free == {b"w": 1} and front.broker.late == 2 and front.wrongs == []


def test_r9_a_slot_whose_increment_does_not_come_is_freed() -> None:
    front = front_with(b"w", slots=1, task_deadline=10.0)
    front.pingt(0)
    front.now = 105.0
    front.reply(b"w", 0)
    front.pingt(1)
    assert alive(front, 114.0, b"w") == []
    assert alive(front, 115.0, b"w") == [given(b"w", 1)] and front.broker.pool.unpaid == 1
    assert front.increment(b"w") == [] and front.broker.late == 1 and front.books == (2, 1, {}, 1, 0, 0)


def test_r9_our_own_pause_is_nobodys_fault() -> None:
    front = front_with(b"w", task_deadline=10.0)
    front.pingt(0)
    front.now = 400.0
    assert front.do(Paused(299.0)) == []
    assert [frames[3] for frames in front.at(400.0)] == [], "one second of silence, one second of work"
    assert front.states == {b"w": "ready"} and front.books == (1, 0, {}, 1, 0, 0)
    assert front.notes == [Note("warn", "the broker did not run for 299.0 s, nobody is blamed for it")]


def test_r9_a_worker_that_linked_anew_during_our_pause_is_not_lost() -> None:
    """It took us for gone: answers to what it said before go nowhere, and its new link is there in a moment."""
    front = front_with(b"w")
    front.pingt(0)
    front.do(Paused(10.0))
    front.notes.clear()
    assert front.unsent([b"w", *wire.link_pong(ident(5))]) == []
    assert front.states == {b"w": "ready"}
    assert front.books == (1, 0, {}, 1, 0, 0) and front.notes == []
    front.now += front.broker.pool.options.heartbeat
    front.unsent([b"w", *wire.link_pong(ident(5))], "unreachable")
    assert front.states == {b"w": "lost"} and front.books == (1, 0, {}, 0, 1, 0)


def test_r9_a_task_that_can_not_be_given_after_a_pause_goes_to_another() -> None:
    front = front_with(b"w", b"v", slots=1)
    front.do(Paused(10.0))
    assert front.pingt(0) == [given(b"w", 0)]
    assert front.unsent(given(b"w", 0), "unreachable") == [given(b"v", 0)]


@pytest.mark.parametrize("order", [True, False], ids=["operator", "worker"])
def test_r10_f9_leaving_with_tasks_in_flight_drains(order: bool) -> None:
    front = front_with(b"w")

    def leave() -> list[Frames]:
        return front.ordered(Drain(b"w")) if order else front.told([b"w", *wire.deregister()])

    front.pingt(0)
    front.ping(1)
    assert leave() == leave() == [] and front.states == {b"w": "drain"}, "twice is once"
    assert front.pingt(2) == []
    assert front.reply(b"w", 0) == [relayed(0, b"w")] and front.increment(b"w") == []
    assert front.states == {b"w": "drain"}
    assert front.increment(b"w") == [] and front.books == (3, 2, {}, 0, 1, 0)
    assert front.states == ({b"w": "drain"} if order else {})
    left = [] if order else ["w1 left"]
    assert [note.text for note in front.notes] == ["w1 drains: 2 slots in use", *left]
    assert front.at(500.0) == []


def test_r10_a_draining_worker_may_register_again_or_be_lost_for_good() -> None:
    front = front_with(b"a", b"b")
    front.pingt(0)
    front.pingt(1)
    front.told([b"a", *wire.deregister()], [b"b", *wire.deregister()])
    assert front.join(b"a") == [[b"a", *REGISTERED]] and front.states == {b"a": "ready", b"b": "drain"}
    front.now = 105.0
    front.told([b"a", *wire.link_pong(ident(1))])
    assert front.at(106.0) == []
    assert front.reply(b"a", 0) == [relayed(0, b"a")] and front.increment(b"a") == [given(b"a", 1)]
    assert front.states == {b"a": "ready"}, "who said goodbye is not remembered"
    front.told([b"b", *wire.link_ping(ident(1))])
    assert front.states == {b"a": "ready"}


def test_a_lost_worker_that_leaves_is_forgotten() -> None:
    front = front_with(b"a")
    front.at(106.0)
    assert front.told([b"a", *wire.deregister()]) == [] and front.states == {}


# ---- the contract ---------------------------------------------------------------------------------------------------


def test_an_idle_broker_does_nothing_and_never_wakes() -> None:
    front = Front()
    assert front.do(Started()) == [] and front.broker.wake_at() == NEVER and front.at(1e6) == []


def test_an_event_that_is_our_own_mistake_raises() -> None:
    for event in (Finished("key", True, b""), Ordered(Leave())):
        with pytest.raises(TypeError, match="takes no"):
            Front().do(event)


peers = st.sampled_from([b"a", b"b", b"c", b"d", b""])
idents = st.sampled_from([ident(n) for n in range(3)])
honest = st.one_of(
    st.builds(wire.ping, idents, st.booleans()),
    st.builds(wire.stream, idents, st.just(1024)),
    st.builds(wire.reply, peers, idents, st.none() | st.just(b"2R")),
    st.builds(wire.register, idents, st.integers(0, 3)),
    st.builds(wire.increment, idents),
    st.builds(wire.link_ping, idents),
    st.builds(wire.link_pong, idents),
    st.just(wire.deregister()),
    st.just([b"", V, wire.TRACKEXEC, ident(0), b"\x55", b""]),
)
frame = st.one_of(st.sampled_from([b"", V, b"10", *(bytes([n]) for n in range(12))]), idents, st.binary(max_size=9))


@given_by(st.lists(frame, max_size=9))
def test_r6_f20_any_frames_change_nothing_where_they_are_wrong(frames: Frames) -> None:
    front = front_with(b"a", slots=1)
    front.pingt(0, client=b"d")
    front.pingt(1, client=b"d")
    before, wrongs = (front.books, front.free, front.states), front.broker.violations.total
    sent = front.told([b"a", *frames]) + front.told(frames)
    if front.broker.violations.total == wrongs + 2:
        assert sent == [] and (front.books, front.free, front.states) == before


@examples(150)
@given_by(st.data())
def test_whatever_peers_do_the_books_balance_and_nothing_is_answered_twice(data: st.DataObject) -> None:
    front = Front(max_backlog=3, task_deadline=20.0)
    ledger = front.broker.pool.ledger
    accepted: Counter[tuple[bytes, bytes]] = Counter()
    answered: Counter[tuple[bytes, bytes]] = Counter()
    for _ in range(data.draw(st.integers(1, 60))):
        step = data.draw(st.sampled_from(["tell"] * 8 + ["wake", "pause"]))
        sent: list[Frames] = []
        if step == "tell":
            peer, frames = data.draw(st.tuples(peers, honest))
            before = ledger.sent
            sent = front.told([peer, *frames])
            if ledger.sent > before:
                accepted[(peer, frames[3])] += 1
        elif step == "wake":
            sent = front.at(front.now + data.draw(st.sampled_from([0.5, 2.0, 7.0, 40.0])))
        else:
            front.now += 10.0
            front.do(Paused(10.0))
        answered.update((frames[0], frames[4]) for frames in sent if frames[3] == wire.RESPONSE and len(frames) > 6)
        if sent and data.draw(st.integers(0, 4)) == 0:
            refused = sent[data.draw(st.integers(0, len(sent) - 1))]
            front.unsent(refused)
        view = front.broker.snapshot(front.now)
        assert view.ledger.balanced and all(0 <= row.free <= row.slots for row in view.workers)
    assert answered <= accepted, "a task was answered twice"


def test_r16_an_original_gets_its_first_task_when_it_knows_its_commands() -> None:
    """It installs them behind REGISTER's answer: of 150 tasks that followed at once 71 were dropped there."""
    front = Front()
    front.pingt(0)
    assert front.told([b"a", *wire.register(b"reg1", 2)]) == [[b"a", *REGISTERED]]
    assert front.core.wake_at() == pytest.approx(front.now + 0.02) and front.free == {b"a": 2}
    assert front.pingt(1) == [] and front.at(100.019) == []
    assert front.join(b"b", 1) == [[b"b", *REGISTERED], given(b"b", 0)], "one that says anything goes first"
    assert front.told([b"a", *wire.register(b"reg1", 2)]) == [[b"a", *REGISTERED]], "no new link"
    assert front.at(100.02) == [given(b"a", 1)] and front.books == (2, 0, {}, 2, 0, 0)


@pytest.mark.parametrize("word", [wire.link_pong(bytes(8)), wire.increment(b"inc1"), wire.link_ping(ident(1))])
def test_r16_or_as_soon_as_it_says_anything_else(word: Frames) -> None:
    front = Front()
    front.told([b"a", *wire.register(b"reg1", 2)])
    assert front.pingt(0) == []
    assert given(b"a", 0) in front.told([b"a", *word])


def test_r16_on_a_new_link_of_a_known_worker_too_and_never_for_one_that_packs() -> None:
    front = Front()
    front.join(b"a", 1)
    front.told([b"a", *wire.link_ping(ident(1))], [b"a", *wire.register(b"reg2", 1)])
    assert front.pingt(0) == [] and front.at(100.02) == [given(b"a", 0)]
    front.told([b"b", *wire.link_ping(wire.link_id(1, packs=True))])
    front.told([b"b", *wire.register(b"reg1", 1)])
    assert [frames[0] for frames in front.pingt(1)] == [b"b"]


def test_r16_one_of_ours_needs_no_time_on_either_lane() -> None:
    for number, packs in enumerate((False, True)):
        front = Front()
        front.told([b"w", *wire.link_ping(wire.link_id(1, packs=packs))])
        front.told([b"w", *wire.register(b"reg1", 1)])
        assert front.pingt(number) == [given(b"w", number)], "over the seed's lane, as this broker does not pack"


def test_r16_who_leaves_or_is_lost_meanwhile_gets_nothing() -> None:
    front = Front()
    front.told([b"a", *wire.register(b"reg1", 2)], [b"b", *wire.register(b"reg1", 2)], [b"a", *wire.deregister()])
    front.do(Disconnected(peer=b"b"))
    front.pingt(0)
    assert front.at(100.02) == [] and front.states == {b"b": "lost"} and front.books == (1, 0, {}, 0, 1, 0)
