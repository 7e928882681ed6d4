"""The traces that are attached to the nodes of a lab.

Attaching never blocks: a node announces its cores and begins to show their events on its own thread, so
nothing is shown of a core that was not announced. While there is no trace, no node has a tap for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from engine.core import Seat
from engine.drive.node import Node
from engine.parts.explain import Role
from engine.tracing.trace import Trace

ROLES: Mapping[str, Role] = {"pool": "worker", "client": "client"}
"""Of who sits at a node, by its name up to a dot; everybody else's is a broker."""


class Taps:
    """``nodes``: those of the lab, by name."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._traces: list[Trace] = []

    def attach(self, trace: Trace) -> None:
        """Attach a trace: it is told the seats, and shown all events from now on."""
        self._traces.append(trace)
        for node in self._nodes.values():
            node.attach(trace.tap, partial(_seated, trace, node.name))

    def detach(self, trace: Trace) -> None:
        """Detach a trace."""
        self._traces.remove(trace)
        for node in self._nodes.values():
            node.detach(trace.tap)

    def came(self, node: Node) -> None:
        """Add a node."""
        for trace in self._traces:
            node.attach(trace.tap, partial(_seated, trace, node.name))

    def left(self, node: str, name: str) -> None:
        """Note that this seat is gone."""
        for trace in self._traces:
            trace.left(node, name)


def _seated(trace: Trace, node: str, name: str, seat: Seat) -> None:
    trace.seated(node, name, ROLES.get(node.partition(".")[0], "broker"), seat)
