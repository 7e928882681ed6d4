"""An operator's orders to a broker."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.labs.sandbox import Sandbox
from engine.labs.steered import WORDS, inverse, limits, refuse, said
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Drain, Inspect, Throttle, Undrain
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options
from tests.helpers.processes import WAIT, free_endpoint, until

ROUND, TALK = SYSTEMS["roundrobin"], SYSTEMS["conversation"]


def test_a_system_says_what_its_broker_takes() -> None:
    refuse(ROUND, Undrain(b"w"))
    refuse(TALK, Drain(b"w"))
    with pytest.raises(
        Refused, match=r"conversation knows no undrain: a STOP takes .*; its broker takes drain, throttle, expire"
    ):
        refuse(TALK, Undrain(b"w"))
    with pytest.raises(
        Refused, match="roundrobin knows no Inspect; its broker takes drain, undrain, throttle, expire, requeue"
    ):
        refuse(ROUND, Inspect(b"w"))
    assert all(kind in WORDS for system in SYSTEMS.values() for kind in system.takes)


def test_what_takes_an_order_back() -> None:
    assert inverse(ROUND, Drain(b"w"), None) == Undrain(b"w") and inverse(ROUND, Undrain(b"w"), None) == Drain(b"w")
    view = Broker(Options()).snapshot(0.0)._replace(limits=((b"", 5.0), (b"c", 2.0)))
    assert inverse(ROUND, Throttle(0.0), view) == Throttle(5.0) and inverse(ROUND, Throttle(0.0), None) == Throttle(
        None
    )
    assert inverse(ROUND, Throttle(None, b"c"), view) == Throttle(2.0, b"c")
    assert inverse(TALK, Drain(b"w"), None) is None, "its worker is told to end"


def test_a_throttled_run_takes_its_time() -> None:
    with Sandbox(ROUND, workers=2) as lab:
        lab.speed = 1.0
        lab.advance(5.0)
        lab.steer(Throttle(20.0))
        lab.run(BulkSpec("ping", 40, in_flight=40, timeout=60.0))
        lab.advance(1.0)
        done = lab.run_view()
        assert done is not None and 18 <= done.ledger.succeeded <= 22
        lab.undo()
        lab.advance(0.5)
        done = lab.run_view()
        assert done is not None and done.state == "ended" and done.ledger.succeeded == 40


def test_a_worker_is_drained_given_tasks_again_and_that_is_undone() -> None:
    with LiveLab(ROUND, bind=(free_endpoint(),), workers=2) as lab:
        assert lab.wait_registered(2, WAIT)
        key = lab.table().workers[0].key

        def state() -> str:
            return next(row.state for row in lab.table().workers if row.key == key)

        lab.steer(Drain(key))
        until(lambda: state() == "drain")
        lab.undo()
        until(lambda: state() == "ready")
        lab.steer(Drain(key))
        lab.steer(Undrain(key))
        until(lambda: state() == "ready")
        lab.undo()
        until(lambda: state() == "drain")
        lab.undo()
        until(lambda: state() == "ready")
        with pytest.raises(Refused, match="no order that can be taken back"):
            lab.undo()


def test_limits_that_follow_each_other_at_once_are_taken_back_one_by_one() -> None:
    with LiveLab(ROUND, bind=(free_endpoint(),), workers=0, client=False) as lab:
        assert lab.steer(Throttle(5.0)) == "up to 5 tasks a second are given out"
        lab.steer(Throttle(7.0))
        lab.steer(Throttle(0.0))
        assert lab.undo() == "up to 7 tasks a second are given out"
        assert lab.table().limits == ((b"", 7.0),)
        lab.undo()
        assert lab.table().limits == ((b"", 5.0),)
        assert lab.undo() == "tasks are given out without a limit"
        with pytest.raises(Refused, match="it does not drain, or leaves by itself"):
            lab.steer(Undrain(b"nobody"))
        with pytest.raises(Refused, match="no order that can be taken back"):
            lab.undo()
        with pytest.raises(Refused, match="task 07 does not wait any more"):
            lab.discard(b"c", b"\7")
    with Sandbox(ROUND, workers=0) as sandbox:
        for rate in (5.0, 7.0, None):
            sandbox.steer(Throttle(rate))
        for before in ({b"": 7.0}, {b"": 5.0}, {}):
            sandbox.undo()
            sandbox.advance(1.0)
            assert limits(sandbox.feed.picture("broker")) == before


def test_a_workers_slots_are_changed_while_it_runs_and_that_is_undone() -> None:
    with LiveLab(ROUND, bind=(free_endpoint(),), workers=2, client=False) as lab:
        assert lab.wait_registered(2, WAIT)
        key = lab.table().workers[0].key

        def slots() -> int:
            return next(row.slots for row in lab.table().workers if row.key == key)

        lab.set_slots(key, 3)
        until(lambda: slots() == 3)
        lab.undo()
        until(lambda: slots() == 10)
        with pytest.raises(Refused, match="that worker is not in this process"):
            lab.set_slots(b"elsewhere", 3)
        with pytest.raises(Refused, match="a worker has 1 to"):
            lab.set_slots(key, 0)


@pytest.mark.parametrize("name", ["pingpong", "negotiated", "conversation"])
def test_who_says_its_slots_as_it_joins_has_them_until_it_leaves(name: str) -> None:
    lab = Sandbox(SYSTEMS[name], workers=1)
    with lab, pytest.raises(Refused, match=f"{name} changes no slots: .*(start|brings more)"):
        lab.set_slots(b"w", 3)


def test_what_came_of_an_order() -> None:
    assert said([Note("info", "a"), Note("warn", "b")]) == "a; b" and said([]) == ""
    with pytest.raises(Refused, match=r"^c$"):
        said([Note("info", "a"), Note("warn", "c", b"", True)])
    with pytest.raises(Refused, match="has left"):
        said(None)


def test_a_delay_and_a_lane_are_taken_back() -> None:
    with Sandbox(ROUND, workers=2) as lab:
        lab.advance(5.0)
        lab.slow(2.0)
        lab.slow(3.0)
        lab.choose_lane("packed")
        lab.choose_lane("seed")
        lanes = []
        for _ in range(2):
            lab.undo()
            lanes.append(lab.lane)
        assert lanes == ["packed", ""]
        assert lab.undo() == "workers here answer 2 s late"
        assert lab.undo() == "workers here answer at once"
        lab.advance(1.0)
        assert {dict(view.terms)["delay"] for view in lab.feed.picture("pool").values()} == {"0 s"}


def test_undo_says_what_it_can_not_take_back_and_goes_on_with_the_order_before() -> None:
    with Sandbox(ROUND, workers=2) as lab:
        lab.advance(5.0)
        lab.steer(Throttle(0.0))
        lab.advance(1.0)
        (worker, key), *_ = lab.workers().items()
        lab.stop_worker(key)
        lab.advance(5.0)
        with pytest.raises(Refused, match="a worker of this process to end, which nothing takes back"):
            lab.undo()
        lab.advance(1.0)
        assert worker not in lab.workers() and limits(lab.feed.picture("broker")) == {b"": 0.0}
        lab.undo()
        lab.advance(1.0)
        assert limits(lab.feed.picture("broker")) == {}
        with pytest.raises(Refused, match="no order that can be taken back"):
            lab.undo()


class Told(Sandbox):
    """Keeps what its broker is told."""

    def _order_broker(self, order: object) -> None:
        told.append(order)


told: list[object] = []


def test_the_stop_of_a_worker_elsewhere_is_a_drain_that_undo_takes_back() -> None:
    told.clear()
    with Told(ROUND, workers=1) as lab:
        lab.stop_worker(b"elsewhere")
        lab.undo()
        assert told == [Drain(b"elsewhere"), Undrain(b"elsewhere")]
    with Told(TALK, workers=1) as lab:
        lab.stop_worker(b"elsewhere")
        with pytest.raises(Refused, match="conversation does not take a drain back; undo again"):
            lab.undo()
        assert told[2:] == [Drain(b"elsewhere")]
