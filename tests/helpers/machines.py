"""State machines as their READMEs quote them, and cores that are told whatever comes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from engine.core import Core, Event, Started, Woken
from engine.parts.machine import Machine

PROTOCOLS = Path(__file__).parents[2] / "engine" / "protocols"


def quoted(machine: Machine) -> str:
    """The rows as a table, in the order in which a state map draws them."""
    lines = ["| state | event | what is done | next | rule |", "|---|---|---|---|---|"]
    for state in machine.states:
        for edge in machine.edges:
            if edge.state == state:
                done = "" if edge.action == "none" else edge.action
                lines.append(f"| {state} | {edge.event} | {done} | {edge.next} | {edge.rule} |")
    return "".join(f"{line}\n" for line in lines)


def is_quoted(system: str, machine: Machine) -> None:
    """Fails, with the table to put there, where the README of a system has another one or none."""
    text = (PROTOCOLS / system / "README.md").read_text(encoding="utf-8")
    assert quoted(machine) in text, f"the README has no such table:\n{quoted(machine)}"


class Way:
    """The states that a core passes, told by the rows that it counts; of a broker with one worker."""

    def __init__(self, machine: Machine, core: Core) -> None:
        self._machine, self._core = machine, core
        self._before = self._walked()

    def _walked(self) -> Counter[tuple[str, str]]:
        return Counter(dict(self._core.snapshot(0.0).walked))

    def rows(self) -> Counter[tuple[str, str]]:
        """Those of this machine that were gone through since it was asked last, by state and event."""
        now = self._walked()
        found, self._before = now - self._before, now
        mine = {(edge.state, edge.event) for edge in self._machine.edges}
        return Counter({place: times for place, times in found.items() if place in mine})

    def passed(self, start: str) -> list[str]:
        """The states into which those rows led, from ``start`` on."""
        left, at, path = self.rows(), start, []
        while out := [edge for edge in self._machine.edges if edge.state == at and left[edge.state, edge.event]]:
            left[at, out[0].event] -= 1
            at = out[0].next
            path.append(at)
        assert not +left, f"rows that do not follow from {start}: {+left}"
        return path


def play(core: Core, script: list[tuple[float, Event]]) -> None:
    """Start a core, and tell it one event after the other, each so many seconds later; it stays sound."""
    now = 50.0
    core.handle(Started(), now)
    for seconds, event in script:
        now += seconds
        core.handle(event, now)
        core.handle(Woken(), now)
        core.check()
