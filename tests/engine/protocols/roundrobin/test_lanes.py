"""The broker's two lanes: who is on which, what is collected, when it goes; and that the lane changes nothing else."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Command, Frames, Note, Send, Share
from engine.parts.inflight import TaskKey
from engine.parts.orders import Pack
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.lanes import KEPT, Lanes
from tests.helpers import roundrobin as says
from tests.helpers.examples import examples
from tests.helpers.roundrobin import Front, given_packed, ident, relayed, submitted

SPOKE = wire.link_pong(bytes(8))  # so that it may be given tasks at once
ASK, YES = wire.link_id(7, packs=True), wire.agreed(wire.link_id(7, packs=True)) or b""


def task(number: int, command: bytes = wire.TRACKEXEC, app: bytes = wire.APP_PING) -> Frames:
    return [command, ident(number), app]


# ---- Lanes on their own ----------------------------------------------------------------------------------------------


def test_a_peer_packs_while_its_newest_ping_asks() -> None:
    lanes, out = Lanes(True), list[Command]()
    assert lanes.pinged(b"w", ASK, out) == YES and b"w" in lanes.peers
    assert lanes.pinged(b"w", ident(8), out) == ident(8) and b"w" not in lanes.peers and out == []
    lanes.check()


def test_that_a_peer_was_told_that_it_may_share_its_connection_is_said_once() -> None:
    lanes, out = Lanes(True), list[Command]()
    ask = wire.link_id(7, shares=True)
    assert lanes.pinged(b"c", ASK, out) == YES and out == [], "a client does not"
    assert lanes.pinged(b"w", ask, out) == b"\7\0\0SEAT\0" and b"w" in lanes.peers and out == [Share(True)]
    assert lanes.pinged(b"v", ask, out) == b"\7\0\0SEAT\0" and len(out) == 1
    lanes.switch(False)
    assert lanes.pinged(b"w", ask, out) == ask and len(out) == 1


def test_another_program_under_the_same_name_gets_what_was_collected_over_the_seeds_lane() -> None:
    lanes, out = Lanes(True), list[Command]()
    lanes.pinged(b"w", ASK, out)
    lanes.deliver(b"w", b"c", task(1), out)
    lanes.relay(b"w", ident(2), b"v", b"data", out)
    assert out == [] and lanes.pinged(b"w", ident(8), out) == ident(8)
    assert out == [
        Send([b"w", b"", wire.VERSION, *task(1), b"", b"c"]),
        Send([b"w", b"", wire.VERSION, wire.RESPONSE, ident(2), b"data", b"", b"v"]),
    ]
    lanes.check()
    lanes.pinged(b"w", ASK, out)
    lanes.deliver(b"w", b"c", task(1), out)
    lanes.pinged(b"w", ident(8), out)
    lanes.pinged(b"w", ASK, out)
    lanes.relay(b"w", ident(2), b"v", b"data", out)
    lanes.pinged(b"w", ident(8), out)
    assert out[:2] == out[2:], "one without the other"


def test_a_broker_that_does_not_pack_echoes() -> None:
    lanes, out = Lanes(False), list[Command]()
    assert lanes.pinged(b"w", ASK, out) == ASK and not lanes.peers and out == []
    lanes.check()


def test_a_broker_that_is_told_to_pack_agrees_from_the_next_ping_on_and_told_not_to_reads_what_is_under_way() -> None:
    front = front_with(b"w", packed=False)
    assert front.ordered(Pack(True)) == [] and front.pingt(1)[0][:1] == [b"w"]
    for peer in (b"w", b"c"):
        assert front.told([peer, *wire.link_ping(ASK)]) == [[peer, *wire.link_pong(YES)]]
    assert front.told(submitted(b"c", 2)) == [given_packed(b"w", 2)]
    assert front.ordered(Pack(False)) == []
    assert front.told(submitted(b"c", 3)) == [says.given(b"w", 3)]
    assert front.told([b"w", *wire.link_ping(ASK)])[0] == [b"w", *wire.link_pong(ASK)]
    answers = packed.answers([b"c", ident(2), True])
    assert front.told([b"w", answers]) == [relayed(2, b"w")] and front.wrongs == []


def test_peers_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEPT == 200_000
    monkeypatch.setattr("engine.protocols.roundrobin.lanes.KEPT", 2)
    lanes = Lanes(True)
    for peer in (b"a", b"b", b"a", b"c"):
        lanes.pinged(peer, ASK, [])
    assert list(lanes.peers) == [b"a", b"c"], "the one that was silent longest is forgotten"


def test_a_batch_goes_at_the_flush_or_when_it_is_full() -> None:
    lanes, out = Lanes(True), list[Command]()
    for peer in (b"w", b"c"):
        lanes.pinged(peer, ASK, out)
    for number in range(packed.BATCH + 1):
        lanes.deliver(b"w", b"c", task(number), out)
        lanes.relay(b"c", ident(number), b"w", None, out)
    assert [send.frames[0] for send in out if isinstance(send, Send)] == [b"w", b"c"] and len(out) == 2
    with pytest.raises(AssertionError, match="was not sent"):
        lanes.check()
    lanes.flush(out)
    lanes.check()
    assert out[2:] == [
        Send([b"c", packed.results([ident(packed.BATCH), b"w", None])]),
        Send([b"w", packed.deliveries([b"c", task(packed.BATCH)])]),
    ]
    lanes.flush(out)
    assert len(out) == 4, "and nothing else was sent"


# ---- the broker's peers, packing or not ------------------------------------------------------------------------------


def front_with(*workers: bytes, slots: int = 10, clients: Sequence[bytes] = (b"c",), **options: Any) -> Front:
    front = Front(**{"packed": True, **options})
    for peer in (*workers, *clients):
        front.told([peer, *wire.link_ping(ASK)])
    for worker in workers:
        front.join(worker, slots)
    front.notes.clear()
    return front


def test_packed_from_end_to_end_the_slot_comes_back_with_the_answer() -> None:
    front = front_with(b"w")
    assert front.told(submitted(b"c", 1, 2)) == [given_packed(b"w", 1, 2)] and front.books == (2, 0, {}, 2, 0, 0)
    assert front.free == {b"w": 8}
    answers = packed.answers([b"c", ident(1), True, b"c", ident(2), True])
    results = packed.results([ident(1), b"w", None, ident(2), b"w", None])
    assert front.told([b"w", answers]) == [[b"c", results]]
    assert front.free == {b"w": 10} and front.books == (2, 2, {}, 0, 0, 0) and front.wrongs == []


def test_a_ping_is_answered_yes_and_the_broker_can_be_told_not_to() -> None:
    assert Front(packed=True).told([b"x", *wire.link_ping(ASK)]) == [[b"x", *wire.link_pong(YES)]]
    front = front_with(b"w", packed=False)
    assert front.told([b"x", *wire.link_ping(ASK)]) == [[b"x", *wire.link_pong(ASK)]]
    assert front.told(submitted(b"c", 1)) == [] and front.books == (0, 0, {}, 0, 0, 0)
    assert front.wrongs == [(b"c", "wrong number of frames", 1)]


def test_r4_a_ping_may_ask_and_claim_at_once() -> None:
    claim = wire.link_id(7, claim=True, packs=True)
    front = Front(packed=True)
    assert front.told([b"w", *wire.link_ping(claim)]) == [[b"w", *wire.link_pong(YES)]], "denied, and agreed to"
    front = front_with(b"w")
    assert front.told([b"w", *wire.link_ping(claim)]) == [[b"w", *wire.link_pong(YES[:7] + b"\x80")]]


def test_a_packing_client_and_a_worker_of_the_original() -> None:
    front = front_with(b"p")
    front.join(b"w")
    front.told([b"p", *wire.deregister()])
    assert front.told(submitted(b"c", 1, 2)) == [
        [b"w", b"", wire.VERSION, *task(number), b"", b"c"] for number in (1, 2)
    ]
    assert front.told([b"w", *wire.reply(b"c", ident(1))], [b"w", *wire.reply(b"c", ident(2), b"data")]) == [
        [b"c", packed.results([ident(1), b"w", None, ident(2), b"w", b"data"])]
    ]
    assert front.free == {b"w": 8}, "its slots come back with its INCREMENTs"
    assert front.increment(b"w") == front.increment(b"w") == [] and front.free == {b"w": 10} and front.wrongs == []


def test_a_client_of_the_original_and_a_packing_worker() -> None:
    front = front_with(b"w", clients=())
    assert front.told([b"c", *wire.ping(ident(1), True)], [b"c", *wire.ping(ident(2), False)]) == [
        [b"w", packed.deliveries([b"c", task(1), b"c", task(2, wire.EXEC)])]
    ]
    assert front.told([b"w", packed.answers([b"c", ident(1), b"data", b"c", ident(2), None])]) == [
        [b"c", b"", wire.VERSION, wire.RESPONSE, ident(1), b"data", b"", b"w"]
    ]
    assert front.free == {b"w": 10} and front.books == (2, 2, {}, 0, 0, 0) and front.wrongs == []


def test_a_packing_worker_may_answer_on_the_seeds_lane() -> None:
    front = front_with(b"w")
    front.told(submitted(b"c", 1))
    assert front.reply(b"w", 1) == [[b"c", packed.results([ident(1), b"w", None])]] and front.free == {b"w": 9}
    assert front.increment(b"w") == [] and front.free == {b"w": 10} and front.wrongs == []


def test_what_is_large_takes_the_seeds_lane() -> None:
    front = front_with(b"w")
    large = [*task(1, app=b"\x55"), b"x" * packed.SMALL]
    assert front.told([b"c", packed.tasks([large])]) == [[b"w", b"", wire.VERSION, *large, b"", b"c"]]
    answer = b"y" * (packed.SMALL + 1)
    assert front.told([b"w", packed.answers([b"c", ident(1), answer])]) == [
        [b"c", b"", wire.VERSION, wire.RESPONSE, ident(1), answer, b"", b"w"]
    ]
    assert front.free == {b"w": 10} and front.wrongs == []


def test_r1_an_id_in_use_is_refused_and_the_rest_of_its_batch_is_not() -> None:
    front = front_with(b"w")
    again = [wire.ping(ident(1), True)[2:-1], wire.ping(ident(1), False)[2:-1], wire.ping(ident(2), True)[2:-1]]
    assert front.told([b"c", packed.tasks(again)]) == [given_packed(b"w", 1, 2)]
    assert front.told(submitted(b"c", 1, 2)) == [] and front.broker.pool.records.again == 2
    assert front.wrongs == [(b"c", "id already in use", 1)] and front.books == (2, 0, {}, 2, 0, 0)


def test_r2_a_full_backlog_drops_task_by_task() -> None:
    front = front_with(max_backlog=2)
    assert front.told(submitted(b"c", 1, 2, 3, 4)) == [] and front.books == (4, 0, {}, 0, 2, 2)


def test_r2_slots_that_come_back_take_what_waits_in_one_batch() -> None:
    front = front_with(b"w", slots=2)
    assert front.told(submitted(b"c", 1, 2, 3, 4)) == [given_packed(b"w", 1, 2)]
    assert front.told([b"w", packed.answers([b"c", ident(1), True, b"c", ident(2), True])]) == [
        [b"c", packed.results([ident(1), b"w", None, ident(2), b"w", None])],
        given_packed(b"w", 3, 4),
    ]


def test_r3_a_refused_batch_was_not_delivered_and_its_worker_is_lost() -> None:
    front = front_with(b"w", b"v", slots=2)
    to_w, to_v = front.told(submitted(b"c", 1, 2, 3, 4))
    assert (to_w, to_v) == (given_packed(b"w", 1, 3), given_packed(b"v", 2, 4))
    assert front.unsent(to_w) == [] and front.states == {b"v": "busy", b"w": "lost"}
    assert [(one.key[1], one.attempt) for one in front.broker.pool.backlog.fresh] == [(ident(1), 0), (ident(3), 0)]


def test_r3_the_first_answer_ends_a_task_whoever_gives_it() -> None:
    front = front_with(b"w", slots=2)
    front.told(submitted(b"c", 1, 2))
    front.at(106.0)
    front.told([b"v", *wire.link_ping(ASK)])
    assert front.join(b"v")[1:] == [given_packed(b"v", 1)], "alone, for either may have ended w"
    answers = packed.answers([b"c", ident(1), True, b"c", ident(2), True])
    assert front.told([b"w", answers]) == [[b"c", packed.results([ident(1), b"w", None, ident(2), b"w", None])]]
    assert front.free == {b"v": 9}, "it is still at work on it"
    assert front.told([b"v", packed.answers([b"c", ident(1), True])]) == [] and front.free == {b"v": 10}
    assert front.broker.late == 1 and front.books == (2, 2, {}, 0, 0, 0) and front.wrongs == []


def test_r3_a_quiet_end_that_comes_late_changes_nothing() -> None:
    front = front_with(b"w", b"v", slots=1)
    front.told([b"c", packed.tasks([task(1, wire.EXEC), task(2)])])
    front.at(101.0)
    front.told([b"v", *wire.link_ping(ASK)])
    front.at(106.5)
    assert front.states == {b"v": "late", b"w": "lost"}
    assert front.told([b"w", packed.answers([b"c", ident(1), None])]) == [] and front.broker.late == 1
    assert front.books == (2, 0, {}, 1, 1, 0) and front.wrongs == []


def test_r5_what_nobody_understands_or_wants_answered_ends_by_its_id() -> None:
    front = front_with(b"w")
    front.told([b"c", packed.tasks([task(1, wire.EXEC), task(2, app=b"\x55"), task(3, wire.EXEC), task(4)])])
    assert front.told([b"w", packed.answers([b"c", ident(3), None, b"c", ident(2), None])]) == []
    assert front.books == (4, 1, {"unanswered": 1}, 2, 0, 0) and front.free == {b"w": 8} and front.wrongs == []


def test_r5_a_reply_to_a_task_that_wants_none_ends_it_and_is_counted() -> None:
    front = front_with(b"w")
    front.told([b"c", packed.tasks([task(1, wire.EXEC)])])
    assert front.told([b"w", packed.answers([b"c", ident(1), True])]) == []
    assert front.wrongs == [(b"w", "reply to a task that wants none", 1)]
    assert front.books == (1, 1, {}, 0, 0, 0) and front.free == {b"w": 10}


def test_r5_an_answer_beyond_what_is_held_is_a_violation_and_frees_nothing() -> None:
    front = front_with(b"w", b"v")
    front.told(submitted(b"c", 1))
    answer = packed.answers([b"c", ident(1), True])
    assert front.told([b"v", answer]) == front.told([b"v", packed.answers([b"x", ident(9), None])]) == []
    assert front.wrongs == [(b"v", "reply to a task that it does not hold", 2)] and front.free == {b"w": 9, b"v": 10}
    assert front.told([b"stranger", answer]) == [] and front.broker.late == 1
    assert front.books == (1, 0, {}, 1, 0, 0)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (packed.TASKS + b"\xc1", "unreadable packed frame"),
        (packed.ANSWERS + b"\x91\xc0", "wrong number of tasks"),
        (packed.deliveries([b"c", task(1)]), "packed frame of a wrong kind"),
        (packed.results([ident(1), b"w", None]), "packed frame of a wrong kind"),
        (packed.MAGIC, "packed frame of a wrong kind"),
        (b"GET / HTTP/1.1", "wrong number of frames"),
        (b"", "wrong number of frames"),
    ],
)
def test_r6_a_bad_frame_is_counted_and_is_no_sign_of_life(frame: bytes, reason: str) -> None:
    front = front_with(b"w")
    front.now = 101.0
    assert front.told([b"w", frame]) == [] and front.wrongs == [(b"w", reason, 1)]
    assert front.broker.pool.liveness.last(b"w") == 100.0 and front.books == (0, 0, {}, 0, 0, 0)


def test_r6_a_good_frame_is_a_sign_of_life() -> None:
    front = front_with(b"w")
    front.now = 101.0
    front.told(submitted(b"w", 1))
    assert front.broker.pool.liveness.last(b"w") == 101.0
    front.now = 102.0
    front.told([b"w", packed.answers([b"w", ident(1), True])])
    assert front.broker.pool.liveness.last(b"w") == 102.0 and front.free == {b"w": 10} and front.wrongs == []


def test_r7_a_worker_that_answers_after_its_ping_opens_no_new_link() -> None:
    front = front_with(b"w")
    front.told([b"c", packed.tasks([task(1, wire.EXEC), task(2)])], [b"w", *wire.link_ping(ASK)])
    front.told([b"w", packed.answers([b"c", ident(1), None])])
    assert front.join(b"w", 5)[1:] == [] and front.free == {b"w": 4}, "it keeps what it holds"
    front.told([b"w", *wire.link_ping(ASK)])
    assert front.join(b"w", 5)[1:] == [given_packed(b"w", 2)], "and loses it over a new one"


def test_r8_a_client_that_is_gone_turns_its_successes_into_failures() -> None:
    front = front_with(b"w")
    front.told(submitted(b"c", 1, 2))
    (results,) = front.told([b"w", packed.answers([b"c", ident(1), True, b"c", ident(2), True])])
    assert front.unsent(results) == [] and front.books == (2, 0, {"client gone": 2}, 0, 0, 0)


def test_r9_an_answer_after_the_deadline_is_late() -> None:
    front = front_with(b"w", task_deadline=3.0)
    front.told(submitted(b"c", 1))
    front.at(103.0)
    assert front.books == (1, 0, {"deadline": 1}, 0, 0, 0) and front.free == {b"w": 10}
    assert front.told([b"w", packed.answers([b"c", ident(1), True])]) == []
    assert front.broker.late == 1 and front.wrongs == [] and front.free == {b"w": 10}
    front.told([b"w", packed.answers([b"c", ident(1), True])])
    assert front.wrongs == [(b"w", "reply to a task that it does not hold", 1)]


def test_r10_what_was_given_before_the_goodbye_comes_before_its_pong() -> None:
    front = front_with(b"w")
    goodbye = [[b"w", *wire.deregister()], [b"w", *wire.link_ping(ASK)]]
    assert front.told(submitted(b"c", 1), *goodbye) == [given_packed(b"w", 1), [b"w", *wire.link_pong(YES)]]
    assert front.told([b"w", packed.answers([b"c", ident(1), True])]) == [
        [b"c", packed.results([ident(1), b"w", None])]
    ]
    assert front.notes[-1] == Note("info", "w1 left", b"w") and front.states == {}


# ---- the same life over both lanes -----------------------------------------------------------------------------------


STALE = ("INCREMENT beyond what it holds", "reply to a task that it does not hold")
"""What a worker does that was lost, registers anew and answers an old task: on the seed's lane its RESPONSE names that
task and its INCREMENT none, a packed answer is both at once. So they break different rules.
"""


class Life:
    """One broker and what its workers hold in their own eyes; told the same things on either lane."""

    def __init__(self, packs: bool, loses: bool) -> None:
        """``loses``: workers may be lost, and answer afterwards."""
        self.packs, self.loses = packs, loses
        self.front = Front(packed=packs, max_backlog=6, task_deadline=40.0)
        self.held: dict[bytes, deque[tuple[bytes, Frames]]] = defaultdict(deque)
        self.results: list[tuple[bytes, bytes, bytes]] = []  # client, id, worker
        for client in (b"c", b"d"):
            self.tell([client, *wire.link_ping(ASK)])

    def tell(self, *messages: Frames) -> None:
        self.hear(self.front.told(*messages))

    def hear(self, sent: list[Frames]) -> None:
        for frames in sent:
            peer = frames[0]
            if len(frames) == 2:
                assert self.packs
                if packed.kind(frames[1]) == packed.DELIVERIES:
                    pairs = packed.read_deliveries(frames[1])
                    assert not isinstance(pairs, str)
                    self.held[peer] += pairs
                else:
                    triples = packed.read_results(frames[1])
                    assert not isinstance(triples, str)
                    self.results += [(peer, one[0], one[1]) for one in triples]
            elif wire.at_peer(frames[1:]) is wire.TASK:
                self.held[peer].append((frames[-1], frames[3:-2]))
            elif wire.at_peer(frames[1:]) is wire.REPLY:
                self.results.append((peer, frames[4], frames[-1]))

    def submit(self, client: bytes, tasks: list[Frames]) -> None:
        if self.packs:
            self.tell([client, packed.tasks(tasks)])
        else:
            self.tell(*([client, b"", wire.VERSION, *one, b""] for one in tasks))

    def answer(self, worker: bytes, n: int) -> None:
        held = self.held[worker]
        done = [held.popleft() for _ in range(min(n, len(held)))]
        if not done:
            return
        wants = [one[0] == wire.TRACKEXEC and one[2] == wire.APP_PING for _, one in done]
        if self.packs:
            flat: list[packed.Data] = []
            for (client, one), wanted in zip(done, wants, strict=True):
                flat += (client, one[1], True if wanted else None)
            self.tell([worker, packed.answers(flat)])
            return
        replies = [wire.reply(client, one[1]) for (client, one), wanted in zip(done, wants, strict=True) if wanted]
        # all replies first, so that an answer of the same batch is not overtaken by the slot that another frees
        self.tell(*([worker, *frames] for frames in (*replies, *[wire.increment(b"inc1")] * len(done))))

    def act(self, act: str, who: int, n: int, numbers: list[int], kind: tuple[bytes, bytes]) -> None:
        worker, client = (b"u", b"v", b"w")[who % 3], (b"c", b"d")[who % 2]
        match act:
            case "join":
                self.held[worker].clear()
                self.tell([worker, *wire.link_ping(ASK)], [worker, *wire.register(b"reg1", 1 + n)], [worker, *SPOKE])
            case "register":
                self.tell([worker, *wire.register(b"reg1", 1 + n)], [worker, *SPOKE])
            case "submit":
                self.submit(client, [[kind[0], ident(number), kind[1]] for number in numbers])
            case "answer":
                self.answer(worker, n)
            case "ping":
                self.tell([worker, *wire.link_ping(ASK)])
            case "leave":
                self.tell([worker, *wire.deregister()])
            case "pass":
                self.hear(self.front.at(self.front.now + n))

    @property
    def state(self) -> Any:
        """All that a broker knows which is not of the lane."""
        pool = self.front.broker.pool
        workers = {
            key: (one.slots, one.owed, one.done, one.failed, one.written_off, one.leaving, [t.key for t in one.quiet])
            for key, one in (*pool.workers.items(), *pool.lost.items())
        }
        held: dict[bytes, list[TaskKey]] = {key: [task.key for task in one.held] for key, one in pool.workers.items()}
        return (
            self.front.books,
            workers,
            held,
            [(task.key, task.attempt) for task in pool.backlog.fresh],
            [one.key for one in pool.ready],
            list(pool.lost),
            [(key, pool.liveness.last(key), one.opened) for key, one in pool.workers.items()],
            pool.former,
            pool.records.redelivered,
            [wrong for wrong in self.front.wrongs if not (self.loses and wrong[1] in STALE)],
            self.held,
            sorted(self.results),
        )


def script(acts: Sequence[str], kinds: Sequence[tuple[bytes, bytes]]) -> st.SearchStrategy[Any]:
    act = st.tuples(
        st.sampled_from(acts),
        st.integers(0, 5),
        st.integers(1, 6),
        st.lists(st.integers(0, 60), min_size=3, max_size=6, unique=True),
        st.sampled_from(kinds),
    )
    return st.lists(act, min_size=25, max_size=50)


def same_over_both_lanes(acts: Any, loses: bool) -> None:
    seed, ours = Life(False, loses), Life(True, loses)
    for life in (seed, ours):
        for who in range(2):
            life.act("join", who, 3, [], (b"", b""))
    for act in acts:
        seed.act(*act)
        ours.act(*act)
        assert ours.state == seed.state, act


TRACKED = (wire.TRACKEXEC, wire.APP_PING)
FAIR = ("join", "register", "submit", "submit", "submit", "answer", "answer", "answer", "ping")


@examples(100, derandomize=True, database=None)
@given(script((*FAIR, "leave", "pass"), [TRACKED]))
def test_the_lane_changes_no_book_no_slot_and_no_order(acts: Any) -> None:
    same_over_both_lanes(acts, loses=True)


@examples(100, derandomize=True, database=None)
@given(
    script(
        ("register", "submit", "submit", "answer", "answer"),
        [TRACKED, (wire.EXEC, wire.APP_PING), (wire.TRACKEXEC, b"\x55")],
    )
)
def test_nor_for_tasks_that_end_quietly(acts: Any) -> None:
    """While nothing is lost: then an INCREMENT that comes late ends the wrong task on the seed's lane, and ours not."""
    same_over_both_lanes(acts, loses=False)


PEERS = (b"u", b"v", b"c")
numbers = st.integers(0, 5).map(ident)
frames = st.one_of(
    st.builds(
        lambda peer, tasks: [peer, packed.tasks(tasks)],
        st.sampled_from(PEERS),
        st.lists(
            st.builds(lambda way, number: [way, number, wire.APP_PING], st.sampled_from(wire.EXECUTE), numbers),
            min_size=1,
            max_size=4,
        ),
    ),
    st.builds(
        lambda peer, answers: [peer, packed.answers([value for answer in answers for value in answer])],
        st.sampled_from(PEERS),
        st.lists(
            st.tuples(st.sampled_from(PEERS), numbers, st.sampled_from([True, None, b"data"])), min_size=1, max_size=4
        ),
    ),
    st.builds(
        lambda peer, more: [peer, *more],
        st.sampled_from(PEERS),
        st.sampled_from(
            [
                wire.link_ping(ASK),
                wire.link_ping(ident(9)),
                wire.register(b"reg1", 2),
                wire.deregister(),
                wire.increment(b"inc1"),
                wire.reply(b"c", ident(1)),
                wire.ping(ident(2), True),
            ]
        ),
    ),
)


@examples(150, derandomize=True, database=None)
@given(st.lists(st.lists(frames, min_size=1, max_size=4) | st.sampled_from([1.0, 7.0]), max_size=30))
def test_whatever_peers_pack_the_books_balance(events: list[list[Frames] | float]) -> None:
    """Both lanes, from peers that hold to nothing; the desk checks every invariant after every event."""
    front = Front(packed=True, task_deadline=10.0, max_backlog=5)
    for event in events:
        sent = front.at(front.now + event) if isinstance(event, float) else front.told(*event)
        pinged = {one[0] for one in sent if wire.at_peer(one[1:]) is wire.LINK_PONG}
        for one in sent:
            assert len(one) > 2 or one[0] in front.broker.pool.lanes.peers or one[0] in pinged
    for worker in list(front.broker.pool.workers):
        front.told([worker, *wire.deregister()])
    front.at(front.now + 20.0)
    front.at(front.now + 20.0)
    books = front.books
    assert books[0] == books[1] + sum(books[2].values()) + books[4] + books[5] and books[3] == 0
