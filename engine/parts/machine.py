"""State machines as tables: a core names its state and what happened, and the row says what follows.

The rules of this file:

- A ``Machine`` is one role's table and never changes. A ``Walk`` goes through it for one core and counts each row.
- A row is found by state, event and guard. What has no row can not happen: asking for it is our own mistake.
- A row's action is for people. The core does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from engine.parts.explain import Edge, StateMap, walked
from engine.parts.view import BrokerView, ClientView, Walked, WorkerView


class Row(NamedTuple):
    """What happens in a state, what is done then, and where that leads.

    ``guard``: what must hold as well, in words that follow the event's.
    """

    state: str
    event: str
    action: str
    next: str
    rule: str
    guard: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """By what it is found."""
        return self.state, self.event, self.guard

    @property
    def edge(self) -> Edge:
        """The row as a state map draws it."""
        event = f"{self.event} {self.guard}" if self.guard else self.event
        return Edge(self.state, event, self.action, self.next, self.rule)


class Machine:
    """The state machine of one role."""

    __slots__ = ("edges", "events", "rows", "states")

    def __init__(self, states: Sequence[str], rows: Sequence[Row]) -> None:
        self.states, self.rows = tuple(states), tuple(rows)
        self.events = tuple(dict.fromkeys(row.event for row in rows))
        self.edges = tuple(row.edge for row in rows)
        if len({row.key for row in rows}) != len(self.rows):
            raise ValueError("two rows for one state, event and guard")
        if {state for row in rows for state in (row.state, row.next)} - set(states):
            raise ValueError("a row of a state that is not in the list")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """It never changes, so copies of a core share it."""
        return self

    def blank(self) -> dict[str, list[str]]:
        """Each state, and the events that have no row in it, whatever the guard."""
        known = {(row.state, row.event) for row in self.rows}
        return {state: [event for event in self.events if (state, event) not in known] for state in self.states}


class Tally:
    """How often one core went through one row, and where that leads."""

    __slots__ = ("next", "times")

    def __init__(self, next: str, times: int = 0) -> None:
        self.next, self.times = next, times


class Walk:
    """How often one core went through each row of a machine."""

    __slots__ = ("_machine", "_tallies")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._tallies = {row.key: Tally(row.next) for row in machine.rows}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Only the counts are copied; a tally that the core holds as well stays one."""
        copy = type(self)(self._machine)
        for key, tally in self._tallies.items():
            copy._tallies[key] = memo.setdefault(id(tally), Tally(tally.next, tally.times))
        return copy

    def step(self, state: str, event: str, guard: str = "") -> str:
        """Count the row, and give its next state. Raises LookupError where there is none."""
        try:
            tally = self._tallies[state, event, guard]
        except KeyError:
            raise LookupError(f"no row for {state!r}, {event!r}, {guard!r}") from None
        tally.times += 1
        return tally.next

    def tally(self, state: str, event: str, guard: str = "") -> Tally:
        """The tally of a row that each task goes through: a core that holds it counts without a look-up."""
        return self._tallies[state, event, guard]

    def walked(self) -> Walked:
        """The rows that were gone through, each by its state and event, and how often."""
        pairs = zip(self._machine.edges, self._tallies.values(), strict=True)
        return tuple(((edge.state, edge.event), tally.times) for edge, tally in pairs if tally.times)


def summed(counts: Iterable[Walked]) -> Walked:
    """What several walks of one machine counted, together."""
    found: Counter[tuple[str, str]] = Counter()
    for one in counts:
        found.update(dict(one))
    return tuple(found.items())


def row_states(picture: BrokerView) -> Counter[str]:
    """How many workers are in which state, where their rows name it."""
    return Counter(dict(row.terms)["state"] for row in picture.workers)


def maps_of(
    worker: Machine, seen: Machine, link: Machine, stands: Callable[[BrokerView], Mapping[str, int]] = row_states
) -> tuple[StateMap, ...]:
    """A worker, a worker as its broker sees it, and a client's link, whose first state is the one without a broker."""
    silent, linked = link.states[:2]

    def at_worker(picture: WorkerView) -> Counter[str]:
        return Counter([picture.state])

    def at_client(picture: ClientView) -> Counter[str]:
        return Counter([linked if picture.linked else silent])

    return (
        StateMap("worker", "Worker", worker.states, worker.edges, at_worker, walked=walked),
        StateMap("broker", "A worker at the broker", seen.states, seen.edges, stands, walked=walked),
        StateMap("client", "The client's link", link.states, link.edges, at_client, walked=walked),
    )
