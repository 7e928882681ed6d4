"""One system at the console: its lab, what was seen of it so far, its main screen. Many of them, one on the screen."""

from __future__ import annotations

from collections.abc import Callable

from console.desks.weighing import WeighedTrace
from console.history import History
from console.pictures.bridge import Bridge, Lab, Picture, badge
from console.screens.machines import conformance_lines, map_lines
from console.screens.main import Main
from console.systems import view_of
from console.widgets.identity import Other
from console.widgets.ink import Parts
from console.widgets.runs import summary_of
from engine.tracing.trace import Trace


class Desk:
    """A lab that runs, whether it is on the screen or not. ``trace``: one that is always attached; None for none."""

    trace: Trace | None = None

    def __init__(self, name: str, lab: Lab, history: History) -> None:
        self.name, self.lab = name, lab
        self.bridge = Bridge(lab)
        self.view = view_of(name)
        self.main = Main(lab, self.bridge.rows.name, history, self.view.columns)
        self.picture: Picture | None = None

    def look(self, now: float) -> Picture:
        """What the engine shows at monotonic ``now``."""
        self.picture = self.bridge.poll(now)
        return self.picture

    def listen(self) -> Trace:
        """A trace to attach to its lab."""
        return WeighedTrace(self.lab.system)

    def explained(self, what: str) -> Callable[[Picture, int], list[Parts]]:
        """What makes the lines of a screen out of a picture and its width: maps or conformance."""
        explain = self.lab.system.explain
        lines = map_lines if what == "maps" else conformance_lines
        return lambda picture, width: lines(explain, picture, width)

    @property
    def summary(self) -> str | None:
        """The lines of its last run; None where there was none."""
        client = self.lab.feed.picture("client")
        return summary_of(client.run) if client and client.run is not None else None

    def other(self, number: int, here: bool) -> Other:
        """How it is told in the identity bar."""
        ink = badge(self.picture, False)[1] if self.picture is not None else "label"
        return Other(number, self.name, ink, here)
