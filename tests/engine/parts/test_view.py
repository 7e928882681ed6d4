from __future__ import annotations

import copy
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import SYSTEMS
from engine.core import Received
from engine.errors import Refused
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView, ClientView, LedgerView, WorkerView
from engine.protocols.conversation import broker as conversation
from engine.protocols.pingpong import broker as pingpong
from engine.protocols.roundrobin import broker as roundrobin
from engine.system import System

amounts = st.integers(0, 1_000)


@given(amounts, st.lists(st.tuples(st.text(max_size=3), amounts), max_size=4), amounts, amounts, amounts)
def test_a_ledger_balances_exactly_where_its_sides_agree(
    succeeded: int, failed: list[tuple[str, int]], in_flight: int, queued: int, dropped: int
) -> None:
    total = succeeded + sum(n for _, n in failed) + in_flight + queued + dropped
    for sent in (total - 1, total, total + 1):
        view = LedgerView(sent, succeeded, tuple(failed), in_flight, queued, dropped)
        assert view.balanced == (sent == total)


def test_pictures_need_only_what_every_protocol_has_and_are_immutable_all_through() -> None:
    ledger = LedgerView(0, 0, (), 0, 0, 0)
    pictures = (
        BrokerView(at=1.0, workers=(), backlog=0, in_flight=0, ledger=ledger, counters=(), incidents=()),
        WorkerView(at=1.0, state="up", slots=1, running=0, done=0, broker_heard=0.0),
        ClientView(at=1.0, linked=True, run=None, late=0),
    )
    for picture in pictures:
        assert hash(picture) == hash(copy.deepcopy(picture))  # a list or a dict anywhere would not hash


@pytest.mark.parametrize("system", [name for name, one in SYSTEMS.items() if isinstance(one, System)])
def test_a_picture_made_of_what_changed_is_the_one_made_of_everything(system: str) -> None:
    """At moments of a run in which workers come, go, are killed, cut off and frozen, and somebody talks nonsense."""
    pick = random.Random(5)
    with Sandbox(SYSTEMS[system], workers=6, slots=2, seed=3) as sandbox:
        sandbox.settle()
        acts: list[Callable[[], object]] = [
            lambda: sandbox.run(BulkSpec("ping", pick.randrange(40), 0, 4)),
            lambda: sandbox.add_workers(3),
            lambda: sandbox.remove_workers(1),
            lambda: sandbox.kill(pick.choice(list(sandbox.workers()))),
            lambda: sandbox.world.cut(pick.choice(list(sandbox.workers())), "broker"),
            lambda: sandbox.world.heal(pick.choice(list(sandbox.workers())), "broker"),
            lambda: sandbox.world.freeze(pick.choice(list(sandbox.workers())), 5.0),
            lambda: nonsense(sandbox),
            lambda: sandbox.advance(90.0),
        ]
        for _ in range(120):
            with suppress(Refused, IndexError):
                pick.choice(acts)()
            sandbox.advance(pick.choice((0.001, 0.05, 0.3, 1.0, 4.0)))
            core, now = sandbox.world.core("broker"), sandbox.world.clock("broker")
            made = core.snapshot(now)
            for one in workers_of(core):
                one.row = None
            assert core.snapshot(now).workers == made.workers


def nonsense(sandbox: Sandbox) -> None:
    """A worker tells the broker what is no message."""
    key = sandbox.key(sorted(sandbox.workers())[0])
    sandbox.world.core("broker").handle(Received([[key, b"\xff" * 9]]), sandbox.world.clock("broker"))


def workers_of(core: Any) -> list[Any]:
    """Whatever has a row in its picture."""
    match core:
        case pingpong.Broker():
            return list(core.table)
        case roundrobin.Broker():
            return [*core.pool.workers.values(), *core.pool.lost.values()]
        case conversation.Broker():
            return list(core.links.values())
        case _:
            return list(core.service.dispatcher.members.values())
