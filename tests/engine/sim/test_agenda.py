from __future__ import annotations

from engine.sim.agenda import Agenda


def test_entries_come_in_order_of_time_and_then_of_entry() -> None:
    agenda = Agenda()
    seen: list[tuple[float, str]] = []
    for seconds, word in ((2.0, "c"), (1.0, "a"), (1.0, "b")):
        agenda.after(seconds, lambda word: seen.append((agenda.now, word)), word)
    while agenda.step(10.0):
        pass
    assert seen == [(1.0, "a"), (1.0, "b"), (2.0, "c")]
    assert agenda.now == 10.0


def test_nothing_comes_before_its_time_and_the_past_comes_now() -> None:
    agenda = Agenda()
    seen: list[float] = []
    agenda.after(5.0, lambda: seen.append(agenda.now))
    assert not agenda.step(4.0)
    assert agenda.now == 4.0 and seen == []
    agenda.at(1.0, lambda: seen.append(agenda.now))
    assert agenda.step(4.0)
    assert seen == [4.0]
    assert agenda.step(5.0)
    assert seen == [4.0, 5.0]
    assert not agenda.step(5.0)


def test_the_clock_never_goes_back() -> None:
    agenda = Agenda()
    agenda.step(3.0)
    agenda.step(1.0)
    assert agenda.now == 3.0
