"""Every role of every system is told what nobody should say: it stays right, counts it, and serves its honest peers.

With ``ROUNDHOUSE_SLOW`` as often as F20 says; a fifth of that finds the same faults.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from itertools import count
from random import Random

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Frames, Note, Received
from engine.parts.view import BrokerView
from tests.helpers.session import STRANGERS, Session, said_by
from tests.hostile.torture import torture

SHARE = 1 if os.environ.get("ROUNDHOUSE_SLOW") else 5
NEARLY_RIGHT = 2_000 // SHARE  # messages for each role
RANDOM = 20_000 // SHARE  # for each system, by F20
JOINS = 50_000 // SHARE  # of one peer
BATCH = 100
GROWTH = (512 if SHARE == 1 else 256) * 1024  # bytes that a broker may grow by after a quarter of the messages
ROLES = [(name, role, False) for name in SYSTEMS for role in ("broker", "worker-0", "client")]
PAIRED = [(name, role, True) for name, system in SYSTEMS.items() if system.paired for role in ("broker", "fallback")]


@pytest.mark.parametrize(("name", "role", "pair"), ROLES + PAIRED)
def test_a_core_that_is_told_what_is_nearly_right_stays_right(name: str, role: str, pair: bool) -> None:
    """The world checks every core after every event."""
    session = torture(name, role, pair, seed=1, messages=NEARLY_RIGHT)
    assert session.told >= NEARLY_RIGHT or role not in session.brokers


def picture(session: Session) -> BrokerView:
    view: BrokerView = session.world.picture("broker")
    return view


def counted(session: Session) -> int:
    """Messages that the broker has refused; a client's request is no violation in a conversation."""
    return sum(n for name, n in picture(session).counters if name in ("violations", "refused requests"))


def state(session: Session) -> tuple[object, ...]:
    """What no stranger may change."""
    view = picture(session)
    rows = tuple((row.key, row.slots, row.free, row.in_flight, row.done, row.failed) for row in view.workers)
    return rows, view.ledger, view.backlog, view.in_flight


def tell(session: Session, socket: str, messages: Iterator[Frames], n: int) -> int:
    """Hand the broker so many messages in batches; the notes that it made of them. Its growth is bounded."""
    core, now, notes, quarter = session.world.core("broker"), session.world.clock("broker"), 0, 0
    tracemalloc.start()
    try:
        for done in range(0, n, BATCH):
            commands = core.handle(Received([next(messages) for _ in range(BATCH)], socket), now)
            notes += sum(isinstance(command, Note) for command in commands)
            del commands
            if done == n // 4:
                quarter = tracemalloc.get_traced_memory()[0]
        growth = tracemalloc.get_traced_memory()[0] - quarter
    finally:
        tracemalloc.stop()
    core.check()
    assert growth < GROWTH, f"{growth:,} bytes"
    return notes


@pytest.mark.parametrize("name", SYSTEMS)
def test_random_messages_are_all_counted_and_change_nothing(name: str) -> None:
    session = Session(SYSTEMS[name], 1)
    session.open()
    session.world.run_for(5.0)
    before, expected = state(session), counted(session)
    random = Random(1)

    def garbage() -> Iterator[Frames]:
        while True:
            frames = [random.randbytes(random.choice((1, 8, 12, 200))) for _ in range(random.choice((1, 2, 3, 6, 40)))]
            yield [random.choice(STRANGERS), *frames]

    def connections() -> Iterator[Frames]:
        for n in count():
            yield [b"%d" % n, b""]  # it is open; the broker closes it on what it hears
            yield [b"%d" % n, random.randbytes(200)]

    for socket in session.sockets:
        stream = socket.kind == "stream"
        notes = tell(session, socket.name, connections() if stream else garbage(), RANDOM)
        expected += RANDOM // 2 if stream else RANDOM
        assert counted(session) == expected, socket.name
        assert notes < 100, "a stranger can fill the log"
    assert state(session) == before
    session.bulk(n=50)
    session.world.run_for(10.0)
    run = session.world.picture("client").run
    assert run is not None and run.passed


@pytest.mark.parametrize("name", SYSTEMS)
def test_joins_of_one_peer_are_one_worker_at_most(name: str) -> None:
    system = SYSTEMS[name]
    socket, opening = said_by(system, "worker-0", 2.0)
    session = Session(system, 1)
    session.open()
    session.world.run_for(1.0)
    known = len(picture(session).workers)

    def joins() -> Iterator[Frames]:
        while True:
            for frames in opening:
                yield [b"joiner", *frames]

    tell(session, socket, joins(), JOINS)
    assert len(picture(session).workers) in (known, known + 1)
    assert picture(session).ledger.balanced
    session.world.run_for(30.0)
    assert len([row for row in picture(session).workers if row.state != "lost"]) == known
    session.bulk(n=50)
    session.world.run_for(10.0)
    run = session.world.picture("client").run
    assert run is not None and run.passed
