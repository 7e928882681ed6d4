"""Refreshes that cost too much come less often, with a clock and a cost of the test's own."""

from __future__ import annotations

import pytest

from console.pictures.governor import SHARE, RefreshGovernor
from console.pictures.samples import HERTZ

SECONDS = 60


class Machine:
    """A thread on which every refresh costs the same."""

    def __init__(self, cost: float) -> None:
        self.cost, self.now, self.spent = cost, 100.0, 5.0
        self.calm = RefreshGovernor(lambda: self.now, lambda: self.spent)

    def drawn(self, beats: int) -> int:
        """How often it was drawn in so many beats, none of which comes at its exact time."""
        before = self.spent
        for beat in range(beats):
            self.now += 1 / HERTZ + (0.02 if beat % 2 else -0.02)
            if self.calm.due():
                self.spent += self.cost
        return round((self.spent - before) / self.cost)


def test_what_is_cheap_is_drawn_at_every_beat() -> None:
    assert Machine(0.019).drawn(SECONDS * HERTZ) == SECONDS * HERTZ


@pytest.mark.parametrize(("cost", "a_second"), [(0.04, 2), (0.09, 1)])
def test_what_is_dear_is_drawn_as_often_as_its_share_allows(cost: float, a_second: float) -> None:
    machine = Machine(cost)
    machine.drawn(20 * HERTZ)
    drawn = machine.drawn(SECONDS * HERTZ)
    assert drawn == pytest.approx(SECONDS * a_second, abs=2)
    assert drawn * cost / SECONDS <= SHARE * 1.2


def test_it_is_drawn_once_a_second_whatever_that_costs() -> None:
    machine = Machine(3.0)
    machine.drawn(20 * HERTZ)
    assert machine.drawn(SECONDS * HERTZ) == pytest.approx(SECONDS, abs=1)


def test_it_is_quick_again_when_it_is_cheap_again() -> None:
    machine = Machine(0.2)
    machine.drawn(SECONDS * HERTZ)
    machine.cost = 0.005
    machine.drawn(30 * HERTZ)
    assert machine.drawn(SECONDS * HERTZ) == SECONDS * HERTZ


def test_keys_and_screens_between_two_refreshes_do_not_make_the_next_ones_seem_dear() -> None:
    machine = Machine(0.005)
    machine.drawn(20 * HERTZ)
    machine.spent += 0.3  # a command line was opened, typed and closed: so a run begins
    assert machine.drawn(3 * HERTZ) == 3 * HERTZ


def test_time_that_a_closed_lab_takes_along_does_not_make_the_next_refreshes_free() -> None:
    machine = Machine(0.04)
    machine.drawn(20 * HERTZ)
    machine.spent -= 1000.0
    assert machine.drawn(SECONDS * HERTZ) == pytest.approx(SECONDS * 2, abs=3)
