"""What a core does is worked out once."""

from __future__ import annotations

from typing import Any

from engine.catalogue import SYSTEMS
from engine.core import NEVER, Command, Event, Note, Received, Started, Woken
from engine.sim.explore.fingerprint import Copier
from engine.sim.explore.scene import Scene
from engine.sim.explore.seats import Kept, Parts, Seat


class Counter:
    """A core that counts up to three, and then is wrong."""

    def __init__(self) -> None:
        self.count = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        self.count += 1
        if type(event) is Received:
            event.messages[0].clear()
        return [Note("info", str(self.count))]

    def wake_at(self) -> float:
        return NEVER

    def check(self) -> None:
        assert self.count < 4, "too many"

    def snapshot(self, now: float) -> Any:
        return self.count


def parts() -> Parts:
    return Parts(Copier(None, {}))


def test_a_step_is_worked_out_once() -> None:
    all_ = parts()
    part = all_.part(Counter())
    first = all_.step(part, Woken(), 1.0)
    assert all_.step(part, Woken(), 1.0) is first and all_.worked == 1
    assert first.part is not part and all_.step(part, Woken(), 2.0).part is first.part
    assert all_.worked == 2 and len(all_) == 2
    assert (all_.picture(part, 1.0), all_.picture(first.part, 1.0)) == (0, 1)


def test_a_core_may_take_a_message_apart() -> None:
    all_, message = parts(), [b"a", b"b"]
    all_.step(all_.part(Counter()), Received([message]), 1.0)
    assert message == [b"a", b"b"]


def test_what_is_wrong_is_kept_with_the_step() -> None:
    all_ = parts()
    part = all_.part(Counter())
    for _ in range(3):
        step = all_.step(part, Started(), 1.0)
        assert not step.wrong
        part = step.part
    assert all_.step(part, Started(), 1.0).wrong == "too many"


def test_a_system_may_ask_for_more() -> None:
    all_ = Parts(Copier(None, {}), lambda core: "two" if core.count == 2 else "")
    step = all_.step(all_.part(Counter()), Woken(), 1.0)
    assert not step.wrong and all_.step(step.part, Woken(), 1.0).wrong == "two"


def test_what_is_let_go_comes_back_when_it_is_reached_again() -> None:
    all_ = parts()
    part = all_.part(Counter())
    after = all_.step(part, Woken(), 1.0).part
    all_.let_go({part.number})
    assert (after.blob, all_.kept) == (b"", 1)
    assert all_.step(part, Woken(), 1.0).part is after and after.blob and all_.kept == 2


def test_values_have_numbers() -> None:
    kept: Kept[Seat] = Kept()
    gone = kept.number(Seat(None))
    assert kept.number(Seat(None)) == gone and kept.values[gone].wake == NEVER
    all_ = parts()
    seat = Seat(all_.part(Counter()), offset=2.0)
    assert kept.number(seat) != gone and seat.wake == NEVER


def test_a_seat_wakes_by_its_own_clock() -> None:
    scene = Scene(next(iter(SYSTEMS.values())))
    all_ = Parts(Copier(scene.settings, {}))
    core = scene.system.worker(scene.settings, scene.system.endpoint, 1, 1).core
    part = all_.step(all_.part(core), Started(), 10.0).part
    assert Seat(part, offset=1.0).wake == Seat(part).wake - 1.0
