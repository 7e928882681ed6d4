"""A recording at the console: the same main screen, and a bar to move through it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from console import keys
from console.apps.brokers import Console
from console.apps.transport import BEFORE, Moves, Playing, Transport
from console.desks.desk import Desk
from console.desks.weighing import KEPT
from console.history import History
from console.pictures.bridge import Bridge, Lab, Picture, Settings
from console.pictures.rows import Shown
from console.screens.listing import help_lines
from console.screens.main import Main
from console.screens.messages import why_page
from console.widgets.flow import FlowStrip
from console.widgets.ink import Parts
from console.widgets.table import Column
from engine.errors import Refused
from engine.recording.replaylab import ReplayLab
from engine.tracing.trace import Trace

_TAKEN = frozenset(
    {"pause", "workers.add", "workers.remove", "run.ping", "run.data", "run.stop", "worker.stop", "runs"}
)
_ALSO = tuple(key for key in keys.MAIN if key.id not in _TAKEN)
OWN = (*keys.REPLAY, *_ALSO)
HELP = (
    ("anywhere", keys.APP),
    ("recording", keys.REPLAY),
    ("main screen", _ALSO),
    ("table", keys.TABLE),
    ("the protocol made visible", keys.SEE),
    ("trace and ladder", keys.MESSAGES),
    ("stage", keys.STEP),
)


class ReplayDesk(Desk):
    """``transport``: how it moves by itself."""

    lab: ReplayLab

    def __init__(self, name: str, lab: ReplayLab, history: History) -> None:
        super().__init__(name, lab, history)
        self.transport = Playing(lab)
        self.main = Replayed(self, history, self.view.columns)
        self._shown: tuple[float, object] | None = None

    def look(self, now: float) -> Picture:
        """Go on where it plays, and see what was there."""
        self.transport.pass_time(now)
        if self.picture is None or self._shown != (self.lab.now, self.lab.feed):
            self.picture = self._picture()
            self._shown = (self.lab.now, self.lab.feed)
        return self.picture._replace(hertz=self.transport.pace.hertz)

    def listen(self) -> Trace:
        """A trace of what was recorded; it costs nobody anything."""
        return Trace(self.lab.system, KEPT)

    def _picture(self) -> Picture:
        """What is shown depends on the position alone: a bridge of its own, and what it would have seen before."""
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


class Replayed(Moves, Main, inherit_bindings=False):
    """The main screen of a recording."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN), *Screen.BINDINGS]

    def __init__(self, desk: ReplayDesk, history: History, columns: Sequence[Column[Shown]]) -> None:
        super().__init__(desk.lab, lambda key: desk.bridge.rows.name(key), history, columns)
        self.desk, self.playing = desk, desk.transport
        self._top = (Transport(desk.transport, id="transport"), FlowStrip(id="flow"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, its signs are letters like any other; and orders are none of a recording's."""
        own = ("play", "step", "seek", "edge", "speed", "why")
        if action in own and self.prompt.display:
            return False
        return super().check_action(action, parameters)

    def action_why(self) -> None:
        """Of the task that was given last before the position."""
        trace = Trace(self.desk.lab.system)
        self.desk.lab.attach(trace)
        given = (entry for entry in reversed(trace.entries()) if entry.decoded.leg == "give" and entry.role == "broker")
        entry = next(given, None)
        self.desk.lab.detach(trace)
        if entry is None or entry.record is None:
            self.app.say("no task was given lately", "warn")
        else:
            self.app.open_screen(why_page(self.desk.lab, entry.record, entry.task))


class OneLab:
    """A house of one lab, which is open and of this thread."""

    def __init__(self, lab: ReplayLab) -> None:
        self.names: tuple[str, ...] = (lab.system.name,)
        self.running = {lab.system.name: lab}

    def open(self, name: str) -> Future[Any]:
        """There is no other."""
        done: Future[Any] = Future()
        if name in self.running:
            done.set_result(self.running[name])
        else:
            done.set_exception(Refused("there is nothing beside a recording"))
        return done

    def order(self, name: str, give: Callable[[Any], object]) -> Future[None]:
        """Carry it out at once."""
        done: Future[None] = Future()
        try:
            give(self.running[name])
        except Exception as error:  # of whoever asked
            done.set_exception(error)
        else:
            done.set_result(None)
        return done


class ReplayConsole(Console):
    """The console of a recording."""

    def __init__(self, lab: ReplayLab, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(OneLab(lab), lab.system.name, settings, clock)

    def make_desk(self, name: str, lab: Lab) -> Desk:
        """A desk with a bar."""
        assert isinstance(lab, ReplayLab)
        return ReplayDesk(name, lab, self.history)

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """The keys of a recording; those that give orders are none of its own."""
        return help_lines(shown, HELP)
