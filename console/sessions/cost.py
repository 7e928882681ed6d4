"""Traces that measure their own cost, so that a screen can show it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from engine.labs.content import BrokerLab, QueueLab
from engine.system import System
from engine.tracing.operations import Operations
from engine.tracing.trace import Trace

KEPT = 8_000  # messages in the ring
MEASURE = 2.0  # seconds over which the cost is averaged


class CostMeter:
    """Counts the seconds that each thread spends in the tap.

    ``elsewhere``: seconds that others have spent for it by now. ``lost``: messages of theirs that were not heard.
    """

    total: int

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.elsewhere: Callable[[], float] = lambda: 0.0
        self.lost: Callable[[], int] = lambda: 0
        self._spent: dict[str, float] = {}  # by node
        self._last = (time.perf_counter(), 0.0, 0)
        self._cost = ""

    def tap(self, node: str, name: str, now: float, event: Any, commands: Any) -> None:
        """As the trace's own."""
        began = time.perf_counter()
        super().tap(node, name, now, event, commands)  # type: ignore[misc]
        self._spent[node] = self._spent.get(node, 0.0) + time.perf_counter() - began

    def cost(self) -> str:
        """What it has cost lately, in words."""
        at, spent = time.perf_counter(), sum(list(self._spent.values())) + self.elsewhere()
        since, before, total = self._last
        if at - since >= MEASURE or not self._cost:
            each = (spent - before) / max(1, self.total - total) * 1e6
            share = (spent - before) / max(1e-9, at - since)
            self._cost = (
                f"tracing costs {each:.1f}µs a message, {share:.1%} of a processor" if self.total else "tracing"
            )
            self._last = (at, spent, self.total)
        lost = self.lost()
        return f"{self._cost} · {lost:,} lost" if lost else self._cost


class MeteredTrace(CostMeter, Trace):
    """Of a system with a broker."""

    def __init__(self, system: System) -> None:
        super().__init__(system, KEPT)


class MeteredOperations(CostMeter, Operations):
    """Of disk queues. ``queues``: their names, the first one first."""

    def __init__(self, queues: tuple[str, ...]) -> None:
        super().__init__(queues, KEPT)


def metered_trace(lab: BrokerLab) -> MeteredTrace:
    """A trace of a lab with a broker."""
    return MeteredTrace(lab.system)


def metered_operations(lab: QueueLab) -> MeteredOperations:
    """A trace of a queue lab; what other processes spend on it, and lose, is counted from now on."""
    trace = MeteredOperations(tuple(queue.name for queue in lab.view().queues))
    spent, lost = lab.listening()
    trace.elsewhere = lambda: lab.listening()[0] - spent
    trace.lost = lambda: lab.listening()[1] - lost
    return trace
