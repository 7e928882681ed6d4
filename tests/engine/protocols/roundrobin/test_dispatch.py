"""What is written out for speed does what the plain way does: runs of packed answers, slots that are filled at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from engine.core import Command, Frames
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.dispatch import Dispatch
from engine.protocols.roundrobin.table import Worker
from tests.helpers.roundrobin import Front, ident

CLIENTS = (b"c", b"d")
WORKERS = (b"v", b"w")


def front() -> Front:
    """A broker with two workers of three slots, whose peers all speak packed."""
    desk = Front(packed=True)
    for peer in (*CLIENTS, *WORKERS):
        desk.told([peer, *wire.link_ping(wire.link_id(1, packs=True))])
    for worker in WORKERS:
        desk.join(worker, 3)
    return desk


def task(number: int, tracked: bool) -> Frames:
    """A task alone; of every fifth the worker does not know how to do it, every seventh brings an argument."""
    app = b"?" if number % 5 == 4 else wire.APP_PING
    more = [b"argument"] if number % 7 == 6 else []
    return [wire.TRACKEXEC if tracked else wire.EXEC, ident(number), app, *more]


def results(sent: list[Frames]) -> list[tuple[bytes, packed.Result]]:
    """What clients are told, in order for each."""
    told = []
    for frames in sent:
        if len(frames) == 2 and packed.kind(frames[1]) == packed.RESULTS:
            read = packed.read_results(frames[1])
            assert not isinstance(read, str)
            told += [(frames[0], result) for result in read]
    return sorted(told, key=lambda one: one[0])


def deliveries(sent: list[Frames]) -> list[tuple[bytes, bytes, bytes]]:
    """Who is given what: worker, client, id."""
    found = []
    for frames in sent:
        if len(frames) == 2 and packed.kind(frames[1]) == packed.DELIVERIES:
            read = packed.read_deliveries(frames[1])
            assert not isinstance(read, str)
            found += [(frames[0], client, message[1]) for client, message in read]
    return found


DATA = some.sampled_from([True, True, True, None, b"data", b"x" * (packed.SMALL + 1)])
HELD = [(CLIENTS[number % 2], ident(number)) for number in range(6)]  # the others wait until a slot is free
ASKED = some.sampled_from([*HELD, (b"d", ident(0)), (b"c", ident(12))])
ANSWERS = some.lists(some.tuples(ASKED, DATA).map(lambda one: (*one[0], one[1])), min_size=1, max_size=20)


ALL = [True] * 12
SAID = [(*held, True) for held in HELD]


@example(wants=ALL, said=[SAID[::2], SAID[1::2]])  # all that each holds
@example(wants=[False] * 12, said=[[SAID[0], (*HELD[2], None), SAID[4], SAID[0]]])  # no reply was wanted
@example(wants=ALL, said=[[SAID[0], (*HELD[2], None), SAID[1], SAID[0], SAID[4]]])  # one of another's, one twice
@given(wants=some.lists(some.booleans(), min_size=12, max_size=12), said=some.lists(ANSWERS, min_size=1, max_size=4))
def test_a_frame_of_answers_is_each_of_them_by_itself(wants: list[bool], said: list[list[packed.Answer]]) -> None:
    """Also where tasks are unknown, another's, answered twice, want no reply, or nobody knows how to do them."""
    together, apart = front(), front()
    for desk in (together, apart):
        for number, tracked in enumerate(wants):
            desk.told([CLIENTS[number % 2], packed.tasks([task(number, tracked)])])
    for turn, answers in enumerate(said):
        worker = WORKERS[turn % 2]
        whole = together.told([worker, packed.answers([value for answer in answers for value in answer])])
        single = [frames for answer in answers for frames in apart.told([worker, packed.answers(list(answer))])]
        assert results(whole) == results(single)
        assert sorted(deliveries(whole)) == sorted(deliveries(single))
    assert seen(together) == seen(apart)


def seen(desk: Front) -> tuple[object, ...]:
    """The books, the slots, what peers got wrong, and the tasks that were noted."""
    return desk.books, desk.free, desk.wrongs, desk.broker.snapshot(desk.now).legs


# ---- a slot that is filled at once ---------------------------------------------------------------------------------

MOVES = some.lists(
    some.one_of(some.integers(1, 6), some.sampled_from(["reply", "increment", "both", "exec"])), max_size=40
)


@given(moves=MOVES, slots=some.integers(1, 3))
def test_a_slot_that_is_filled_at_once_is_given_what_the_order_of_ready_workers_would_give_it(
    moves: list[int | str], slots: int
) -> None:
    quick, plain = Front(), Front()
    assert play(quick, moves, slots) == within(lambda: play(plain, moves, slots))
    assert quick.broker.snapshot(quick.now).walked == plain.broker.snapshot(plain.now).walked


def within(act: Callable[[], list[Frames]]) -> list[Frames]:
    """Do this where a slot is given back to the order of ready workers first."""

    def put(pool: Dispatch, worker: Worker, now: float, out: list[Command]) -> None:
        pool.ready.put(worker)
        pool.drain(now, out)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatch, "fill", put)
        return act()


def play(desk: Front, moves: list[int | str], slots: int) -> list[Frames]:
    """Tasks come in, so many at once, and workers answer the oldest that they hold; all that is sent."""
    sent: list[Frames] = []
    held: list[tuple[bytes, bytes]] = []  # worker, id; oldest first
    owed: list[bytes] = []
    number = 0
    for worker in WORKERS:
        desk.join(worker, slots)
    for move in moves:
        messages: list[Frames] = []
        if isinstance(move, int):
            messages = [[b"c", *wire.ping(ident(number + n), True)] for n in range(move)]
            number += move
        elif move == "exec":
            messages = [[b"c", *wire.ping(ident(number), False)]]
            number += 1
        else:
            if move != "increment" and held:
                worker, name = held.pop(0)
                messages.append([worker, *wire.reply(b"c", name)])
                owed.append(worker)
            if move != "reply" and owed:
                messages.append([owed.pop(0), *wire.increment(b"inc1")])
        told = desk.told(*messages) if messages else []
        sent += told
        held += [(frames[0], frames[4]) for frames in told if frames[3] == wire.TRACKEXEC]
    return sent
