from __future__ import annotations

import pytest

from engine.parts.clocks import Offset
from engine.parts.legs import EVERY, KEPT, BrokerLegs, ClientLegs, join, sampled
from engine.parts.view import BrokerLeg, ClientLeg


def test_one_task_of_every_so_many_is_sampled() -> None:
    assert [n for n in range(40) if sampled(n.to_bytes(4, "little"))] == [0, EVERY, 2 * EVERY]
    assert sampled(b"")
    tagged = [n for n in range(40) if sampled(b"\x01 twelve byte"[:12] + n.to_bytes(4, "big"))]
    assert tagged == [0, EVERY, 2 * EVERY], "of an id with a random tag the number behind it counts"


def test_both_sides_keep_the_newest_only() -> None:
    broker, client = BrokerLegs(), ClientLegs()
    for number in range(KEPT + 1):
        broker.note(b"c", b"%d" % number, 1.0, 2.0, 3.0)
        client.note(b"%d" % number, 0.5, 4.0)
    assert len(broker.view()) == len(client.view()) == KEPT
    assert broker.view()[0] == BrokerLeg(b"c", b"1", 1.0, 2.0, 3.0)
    assert client.view()[-1] == ClientLeg(b"%d" % KEPT, 0.5, 4.0)


def test_joined_they_tell_where_the_time_went() -> None:
    legs = join(b"c", [ClientLeg(b"1", 1.0, 2.0)], [BrokerLeg(b"c", b"1", 1.1, 1.3, 1.6)])
    assert legs is not None and list(legs) == ["client", "backlog", "worker", "return"]
    assert [leg.summary().max for leg in legs.values()] == pytest.approx([0.1e6, 0.2e6, 0.3e6, 0.4e6])


def test_what_only_one_side_noted_tells_nothing() -> None:
    ours = [ClientLeg(b"1", 1.0, 2.0)]
    assert join(b"c", ours, []) is None
    assert join(b"c", ours, [BrokerLeg(b"d", b"1", 1.1, 1.3, 1.6)]) is None, "another client's"
    assert join(b"c", ours, [BrokerLeg(b"c", b"2", 1.1, 1.3, 1.6)]) is None, "another task"
    assert join(b"c", ours, [BrokerLeg(b"c", b"1", 9.1, 9.3, 9.6)]) is None, "another run's task of the same id"


def test_legs_by_two_clocks_are_corrected_and_what_the_error_covers_is_not_lost() -> None:
    ours, theirs = [ClientLeg(b"1", 1.0, 2.0)], [BrokerLeg(b"c", b"1", 51.1, 51.3, 51.6)]
    assert join(b"c", ours, theirs) is None
    legs = join(b"c", ours, theirs, Offset(50.0, 0.01))
    assert legs is not None
    assert [leg.summary().max for leg in legs.values()] == pytest.approx([0.1e6, 0.2e6, 0.3e6, 0.4e6])
    legs = join(b"c", ours, theirs, Offset(50.2, 0.15))
    assert legs is not None and legs["client"].summary().max == 0.0
