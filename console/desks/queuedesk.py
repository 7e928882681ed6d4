"""A pipeline at the console: its lab, and how the screens that show the protocol see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.desks.weighing import WeighedOperations
from console.pictures.queuebridge import QueueBridge, QueueLab, QueuePicture
from console.screens.machines import finding_lines, machine_lines
from console.widgets.ink import Parts
from engine.protocols.diskqueue.conduct import findings
from engine.protocols.diskqueue.explain import state_maps
from engine.tracing.operations import Operations


class QueueDesk:
    """A queue lab that runs. ``trace``: one that is always attached; None for none."""

    trace: Operations | None = None

    def __init__(self, lab: QueueLab) -> None:
        self.lab = lab
        self.bridge = QueueBridge(lab)

    def look(self, now: float) -> QueuePicture:
        """What the engine shows at monotonic ``now``."""
        return self.bridge.poll(now)

    def listen(self) -> Operations:
        """A trace to attach to its lab."""
        trace = WeighedOperations(tuple(queue.name for queue in self.lab.view().queues))
        spent, lost = self.lab.listening()
        trace.elsewhere = lambda: self.lab.listening()[0] - spent
        trace.lost = lambda: self.lab.listening()[1] - lost
        return trace

    def explained(self, what: str) -> Callable[[Any, int], list[Parts]]:
        """What makes the lines of a screen out of a picture and its width: maps or conformance."""
        if what == "maps":
            return lambda picture, width: machine_lines(state_maps(), lambda states: [picture.view], width)
        return accused_lines


def accused_lines(picture: QueuePicture, width: int) -> list[Parts]:
    """Who broke which rule of the queues, the newest first."""
    view = picture.view
    return finding_lines([(view.at, finding) for finding in reversed(findings(view.incidents))], width)
