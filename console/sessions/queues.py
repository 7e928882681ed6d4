"""A pipeline of disk queues at the console."""

from __future__ import annotations

from console.pictures.queuebridge import QueueBridge, QueueLab, QueuePicture
from console.sessions.cost import MeteredOperations
from console.sessions.session import Orders, Session
from engine.tracing.operations import Operations


class QueueSession(Session):
    """A queue lab that runs, whether it is on the screen or not."""

    lab: QueueLab
    picture: QueuePicture | None

    def __init__(self, name: str, lab: QueueLab, orders: Orders) -> None:
        super().__init__(name, lab, orders)
        self.bridge = QueueBridge(lab)

    def look(self, now: float) -> QueuePicture:
        """What the lab shows at monotonic time ``now``."""
        self.picture = self.bridge.poll(now)
        return self.picture

    def listen(self) -> Operations:
        """A trace to attach to the lab."""
        trace = MeteredOperations(tuple(queue.name for queue in self.lab.view().queues))
        spent, lost = self.lab.listening()
        trace.elsewhere = lambda: self.lab.listening()[0] - spent
        trace.lost = lambda: self.lab.listening()[1] - lost
        return trace
