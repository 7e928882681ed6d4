"""State machines as their READMEs quote them, and cores that are told whatever comes."""

from __future__ import annotations

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


def play(core: Core, script: list[tuple[float, Event]]) -> None:
    """Start a core, and tell it one event after the other, each so many seconds later; it stays sound."""
    now = 50.0
    core.handle(Started(), now)
    for seconds, event in script:
        now += seconds
        core.handle(event, now)
        core.handle(Woken(), now)
        core.check()
