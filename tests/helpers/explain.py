"""One core on a table, for walking its state map: what it is told, what it says in words, where it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from engine.core import Core, Event, Exit, Frames, Ordered, Received, Send, Started, Woken
from engine.parts.explain import Explain, Role, StateMap


class Table:
    """``said``: what the last event made it send, in words. ``sent``: the same as frames. ``left``: it has exited."""

    def __init__(self, core: Core, explain: Explain, role: Role) -> None:
        self.core: Any = core
        self.now = 100.0
        self.said: list[str] = []
        self.sent: list[Frames] = []
        self.left = False
        self._explain, self._role = explain, role

    def do(self, event: Event) -> Table:
        """One event."""
        commands = self.core.handle(event, self.now)
        sends = [command for command in commands if isinstance(command, Send)]
        self.sent = [send.frames for send in sends]
        self.said = [
            message.command
            for send in sends
            for message in self._explain.decode(self._role, "out", send.frames, send.socket)
        ]
        self.left = self.left or any(isinstance(command, Exit) for command in commands)
        self.core.check()
        return self

    def start(self) -> Table:
        """The first event."""
        return self.do(Started())

    def hear(self, *messages: Frames, socket: str = "main") -> Table:
        """Messages, one after the other in one batch."""
        return self.do(Received([list(frames) for frames in messages], socket))

    def order(self, order: object) -> Table:
        """An operator's order."""
        return self.do(Ordered(order))

    def wait(self, seconds: float) -> Table:
        """Time passes."""
        self.now += seconds
        return self.do(Woken())


Scripts = Mapping[tuple[str, str], Callable[[], tuple[Table, Callable[[], object]]]]
"""(state, event) → a table that stands in the state, and what makes the event happen."""


def stands(table: Table, states: StateMap) -> str:
    """Where it stands; what is nowhere is the state for that."""
    if table.left:
        return next(state for state in ("left", "ended") if state in states.states)
    found = {state for state, times in states.current(table.core.snapshot(table.now)).items() if times}
    return found.pop() if len(found) == 1 else "unknown" if not found else f"several: {found}"


def counts(table: Table, states: StateMap) -> Counter[tuple[str, str]]:
    """How often each edge was walked, as far as the picture tells."""
    assert states.walked is not None
    return Counter(dict(states.walked(table.core.snapshot(table.now))))


def walk(states: StateMap, scripts: Scripts, also: Mapping[tuple[str, str], set[tuple[str, str]]] = {}) -> None:
    """Every edge is walked: it begins, ends and says what the map says, and there is no script without an edge.

    It is counted, and nothing else is; ``also``: edges that are walked in the same event, one of which may be its end.
    """
    assert {(edge.state, edge.event) for edge in states.edges} == scripts.keys()
    assert len(states.edges) == len(scripts)
    places = set(scripts)
    assert {edge.state for edge in states.edges} | {edge.next for edge in states.edges} == set(states.states)
    for edge in states.edges:
        table, happen = scripts[(edge.state, edge.event)]()
        assert stands(table, states) == edge.state, edge
        before = counts(table, states)
        happen()
        walked = {place: times for place, times in (counts(table, states) - before).items() if place in places}
        place = (edge.state, edge.event)
        assert walked == dict.fromkeys({place, *also.get(place, ())} - states.uncounted, 1), edge
        ends = {one.next for one in states.edges if (one.state, one.event) in also.get(place, ())}
        assert stands(table, states) in {edge.next, *ends}, edge
        promised = re.findall(r"[A-Z]{3,}|\bresult\b|\bjob\b", edge.action.partition("send ")[2])
        said = [word for words in table.said for word in words.split()]
        assert [word for word in promised if word not in said] == [], (edge, table.said)
        if edge.action == "none":
            assert table.said == [], (edge, table.said)
        assert edge.rule
