"""A recording at the console. What is shown depends on the position alone."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from console.pictures.bridge import Bridge, Picture
from console.pictures.queuebridge import QueueBridge, QueuePicture
from console.sessions.brokers import BrokerSession
from console.sessions.cost import KEPT
from console.sessions.pace import Pace
from console.sessions.queues import QueueSession
from console.sessions.session import Mode, at_once
from engine.labs.queuereplaylab import QueueReplayLab
from engine.labs.replaylab import ReplayLab
from engine.tracing.operations import Operations
from engine.tracing.trace import Trace

SPEEDS = (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)
BEFORE = 12.0  # recorded seconds before the position from which rates and charts are made


class Recording(Protocol):
    """What is asked of ``engine.labs.replaylab.ReplayLab``, and of the one of disk queues."""

    replay: Any
    started: float
    broken: str
    last: int

    @property
    def position(self) -> int: ...
    @property
    def now(self) -> float: ...
    @property
    def end(self) -> float: ...
    def seek(self, position: int) -> None: ...
    def seek_time(self, at: float) -> None: ...
    def step_message(self, forwards: bool = True) -> bool: ...


class Playing:
    """``playing``, ``speed`` (place in SPEEDS): how a recording moves by itself."""

    def __init__(self, recording: Recording) -> None:
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


class BrokerReplay(BrokerSession):
    """A recording of a system with a broker. ``transport``: how it moves by itself."""

    mode: ClassVar[Mode] = "replay"
    lab: ReplayLab

    def __init__(self, lab: ReplayLab) -> None:
        super().__init__(lab.system.name, lab, at_once(lab))
        self.transport = Playing(lab)
        self._shown: tuple[float, object] | None = None

    def look(self, now: float) -> Picture:
        """Go on where it plays, and see what was there."""
        self.transport.pass_time(now)
        if self.picture is None or self._shown != (self.lab.now, self.lab.feed):
            self.picture = self._picture()
            self._shown = (self.lab.now, self.lab.feed)
        return self.picture._replace(hertz=self.transport.pace.hertz)

    def listen(self) -> Trace:
        """A trace of what was recorded; it costs nothing."""
        return Trace(self.lab.system, KEPT)

    def _picture(self) -> Picture:
        """By a bridge of its own, which is shown first what it would have seen before."""
        self.bridge = Bridge(self.lab)
        feed = self.lab.feed
        now = dict(feed.pictures)
        for sample in self.lab.samples(BEFORE):
            feed.show("broker", sample.broker)
            feed.show("client", sample.client)
            self.bridge.poll(sample.at)
        for name in ("broker", "client"):
            feed.show(name, now.get(name))
        return self.bridge.poll(self.lab.now)


class QueueReplay(QueueSession):
    """A recording of disk queues. ``transport``: how it moves by itself."""

    mode: ClassVar[Mode] = "replay"
    lab: QueueReplayLab

    def __init__(self, lab: QueueReplayLab) -> None:
        super().__init__(lab.system.name, lab, at_once(lab))
        self.transport = Playing(lab)
        self._shown: tuple[float, object] | None = None

    def look(self, now: float) -> QueuePicture:
        """Go on where it plays, and see what was there."""
        self.transport.pass_time(now)
        if self.picture is None or self._shown != (self.lab.now, self.lab.feed):
            self._shown = (self.lab.now, self.lab.feed)
            self.bridge = QueueBridge(self.lab)
            names = [queue.name for queue in self.lab.view().queues]
            for sample in self.lab.samples(BEFORE):
                self.bridge.waited(sample.at, dict(zip(names, sample.ready, strict=True)))
            self.picture = self.bridge.poll(self.lab.now)
        return self.picture._replace(hertz=self.transport.pace.hertz)

    def listen(self) -> Operations:
        """A trace of what was recorded; it costs nothing."""
        return Operations(tuple(queue.name for queue in self.lab.view().queues), KEPT)
