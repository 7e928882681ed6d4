"""A trace that is attached to a lab of real nodes: told who is there, who comes, and what is said from then on."""

from __future__ import annotations

from engine.core import Seat
from engine.labs.live import LiveLab
from engine.parts.explain import Role
from engine.protocols.roundrobin import SYSTEM
from engine.system import System
from engine.tracing.trace import Trace
from tests.helpers.processes import WAIT, until


class Telling(Trace):
    """Keeps who was announced."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.told: list[tuple[str, str, str]] = []

    def seated(self, node: str, name: str, role: Role, seat: Seat) -> None:
        self.told.append((node, name, role))
        super().seated(node, name, role, seat)


def test_who_is_there_and_who_comes_is_told_and_then_nothing_more() -> None:
    with LiveLab(SYSTEM, bind=["inproc://audience"], workers=1) as lab:
        assert lab.wait_registered(1, WAIT) and lab.wait_linked(WAIT)
        trace = Telling(SYSTEM)
        lab.attach(trace)
        lab.add_workers(1)
        assert lab.wait_registered(2, WAIT)
        lab.ping()
        assert lab.wait_run(WAIT)
        until(lambda: any(entry.decoded.leg == "reply" and entry.direction == "in" for entry in trace.entries()))
        assert sorted(trace.told) == [
            ("broker", "broker", "broker"),
            ("client", "client", "client"),
            ("pool", "worker-1", "worker"),
            ("pool", "worker-2", "worker"),
        ]
        assert {"worker-2", "broker", "client"} <= {entry.seat for entry in trace.entries()}
        lab.detach(trace)
        until(lambda: not any(node.taps for node in lab._nodes.values()))
        total = trace.total
        lab.ping()
        assert lab.wait_run(WAIT)
        assert trace.total == total
