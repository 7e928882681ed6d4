"""A recording at the console. What is shown depends on the position alone."""

from __future__ import annotations

from typing import Any

from console.sessions.cost import KEPT
from console.sessions.kind import Kind
from console.sessions.pace import Pace
from console.sessions.session import Session
from engine.labs.timeline import Timeline
from engine.tracing.ring import Ring

SPEEDS = (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)
BEFORE = 12.0  # recorded seconds before the position from which rates and charts are made


class Playing:
    """``playing``, ``speed`` (place in SPEEDS): how a recording moves by itself."""

    def __init__(self, recording: Timeline) -> None:
        self.recording = recording
        self.playing = False
        self.speed = SPEEDS.index(1.0)
        self.pace = Pace()

    def pass_time(self, now: float) -> None:
        """Go on where it plays; ``now``: real seconds."""
        real, lab = self.pace.passed(now), self.recording
        if self.playing:
            lab.seek_time(lab.now + real * SPEEDS[self.speed])
            self.playing = lab.position < lab.last


class ReplaySession(Session[Any]):
    """A recording. ``transport``: how it moves by itself."""

    def __init__(self, name: str, lab: Timeline, kind: Kind) -> None:
        super().__init__(name, lab, kind)
        self.transport = Playing(lab)
        self._shown: tuple[float, object] | None = None

    def look(self, now: float) -> Any:
        """Go on where it plays, and see what was there."""
        self.transport.pass_time(now)
        if self.picture is None or self._shown != (self.lab.now, self.lab.feed):
            self._shown = (self.lab.now, self.lab.feed)
            self.bridge = self.kind.bridge(self.lab)
            self.bridge.recall(self.lab.samples(BEFORE))
            self.picture = self.bridge.poll(self.lab.now)
        return self.picture._replace(hertz=self.transport.pace.hertz)

    def listen(self) -> Ring[Any]:
        """A trace of what was recorded; it costs nothing."""
        return self.transport.recording.trace(KEPT)
