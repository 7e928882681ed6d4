"""What a system says of itself to the model checker (``engine.sim.explore``). All of it may be left out.

The rules of this file:

- A field may be ignored only if nothing that the core does ever depends on it: what is only shown or counted. Two
  states that differ in ignored fields alone are walked as one. The same holds for the order within a field.
- A property looks at pictures or at one step of a broker, and says in words what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


def _heartbeat(options: Any) -> float:
    """Seconds of one heartbeat round, by the usual name of the setting."""
    return float(getattr(options, "heartbeat", 1.0))


class Explored(NamedTuple):
    """``heartbeat(options)``: seconds of a heartbeat round, in which a scene's virtual time is bounded.

    ``ignored``: ``file.Class`` → its fields that can change nothing. ``unordered``: fields that hold a dict or list,
    the order of which can change nothing. ``options``: settings of the usual scene that
    are not the program's own. ``wrong(core)``: asked of every new state of a broker core; what is wrong with it in
    words, empty for nothing. ``step(before, core, now)``: the same of each step of one; ``before``: what
    ``mark(core, now)`` gave before the event. ``unreached``: why a row of a state machine, by its machine's title, its
    state and its event, is never walked in the smallest scenes.
    """

    heartbeat: Callable[[Any], float] = _heartbeat
    ignored: Mapping[str, frozenset[str]] = {}
    unordered: Mapping[str, frozenset[str]] = {}
    options: Mapping[str, Any] = {}
    wrong: Callable[[Any], str] = lambda core: ""
    mark: Callable[[Any, float], Any] = lambda core, now: None
    step: Callable[[Any, Any, float], str] = lambda before, core, now: ""
    unreached: Mapping[tuple[str, str, str], str] = {}


def because(title: str, reason: str, *rows: str) -> dict[tuple[str, str, str], str]:
    """Why these rows of one machine are never walked, each as ``state: event``. ValueError for what is no row."""
    found = {}
    for row in rows:
        state, event = row.split(": ", 1)
        found[title, state, event] = reason
    return found


TWO = "needs a second fault: all have joined when a walk begins"
LONG = "takes longer than one round of heartbeats"
MORE = "was not reached with two faults either"
BODY = "no task takes time or runs a command"
ORDER = "an order that no walk gives"
STORE = "only a broker with a store does that"
RIGHT = "a broker of ours does not say that"
FULL = "no queue and no list is ever full"
ONE = "a job of a walk is one task"
"""Reasons that several systems share."""


UNEXPLORED = Explored()
"""For a system that says nothing of itself."""
