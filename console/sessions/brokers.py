"""A system with a broker at the console."""

from __future__ import annotations

from console.pictures.bridge import Bridge, Lab, Picture
from console.sessions.cost import MeteredTrace
from console.sessions.session import Orders, Session
from engine.tracing.trace import Trace


class BrokerSession(Session):
    """A broker lab that runs, whether it is on the screen or not."""

    lab: Lab
    picture: Picture | None

    def __init__(self, name: str, lab: Lab, orders: Orders) -> None:
        super().__init__(name, lab, orders)
        self.bridge = Bridge(lab)

    def look(self, now: float) -> Picture:
        """What the lab shows at monotonic time ``now``."""
        self.picture = self.bridge.poll(now)
        return self.picture

    def listen(self) -> Trace:
        """A trace to attach to the lab."""
        return MeteredTrace(self.lab.system)

    @property
    def busy(self) -> bool:
        """Whether tasks are under way."""
        return self.picture is not None and self.picture.busy
