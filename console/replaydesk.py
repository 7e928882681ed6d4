"""A recording at the console: the same main screen, and a bar to move through it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.strip import Strip

from console import keys, units
from console.app import Console
from console.bridge import Bridge, Lab, Picture, Settings
from console.desk import Desk
from console.history import History
from console.rehearsing import Pace
from console.rows import Shown
from console.screens.listing import help_lines
from console.screens.main import Main
from console.screens.messages import why_page
from console.text import clean
from console.weighing import KEPT
from console.widgets.flow import FlowStrip
from console.widgets.ink import Panel, Parts, cells, spread
from console.widgets.table import Column
from engine.lab.pool import Refused
from engine.recording.replaylab import ReplayLab
from engine.tracing.trace import Trace

SPEEDS = (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)
BEFORE = 12.0  # recorded seconds before the position from which rates and charts are made

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
    """``playing``, ``speed`` (place in SPEEDS): how it moves by itself."""

    lab: ReplayLab

    def __init__(self, name: str, lab: ReplayLab, history: History) -> None:
        super().__init__(name, lab, history)
        self.playing = False
        self.speed = SPEEDS.index(1.0)
        self.main = Replayed(self, history, self.view.columns)
        self._pace = Pace()
        self._shown: tuple[float, object] | None = None

    def look(self, now: float) -> Picture:
        """Go on where it plays, and see what was there."""
        real = self._pace.passed(now)
        if self.playing:
            self.lab.seek_time(self.lab.now + real * SPEEDS[self.speed])
            self.playing = self.lab.position < self.lab.last
        if self.picture is None or self._shown != (self.lab.now, self.lab.feed):
            self.picture = self._picture()
            self._shown = (self.lab.now, self.lab.feed)
        return self.picture._replace(hertz=self._pace.hertz)

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


class Transport(Panel):
    """Where the recording stands, and whether the cores do what was recorded."""

    def __init__(self, desk: ReplayDesk, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._desk = desk

    def show(self, picture: Picture) -> None:
        """Draw it again."""
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """Two lines: the bar, and in words."""
        desk, lab = self._desk, self._desk.lab
        length = max(1e-9, lab.end - lab.started)
        state: Parts = [(" ▶ ", "good bold")] if desk.playing else [(" ‖ ", "warn bold")]
        state.append((f"×{SPEEDS[desk.speed]:g} ", "text"))
        times: Parts = [(f" {lab.now - lab.started:.4f}", "text bold"), (f" of {length:.2f} s ", "label")]
        room = max(4, width - cells(state) - cells(times))
        place = min(room - 1, round((lab.now - lab.started) / length * (room - 1)))
        bar: Parts = [("━" * place, "busy"), ("●", "accent bold"), ("─" * (room - 1 - place), "faint")]
        record: Parts = [(f" record {units.count(lab.position)} of {units.count(lab.last)}", "label")]
        if lab.replay.cut:
            record.append((f" · cut: {clean(lab.replay.cut)}; it ends at its last whole block", "warn"))
        return [
            self.line([*state, *bar, *times], width),
            self.line(spread(record, [*self._compared(), (" ", "text")], width), width),
        ]

    def _compared(self) -> Parts:
        lab = self._desk.lab
        found = lab.replay.differences
        if lab.broken:
            return [("× ends where a core could not go on", "bad bold")]
        if not found:
            return [("✓ replayed as recorded", "good")]
        first = found[0]
        words = f"× {len(found)} differences, first {first.at - lab.started:.3f} s by {clean(first.name)}"
        return [(words, "bad bold")]


class Replayed(Main, inherit_bindings=False):
    """The main screen of a recording."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN), *Screen.BINDINGS]

    def __init__(self, desk: ReplayDesk, history: History, columns: Sequence[Column[Shown]]) -> None:
        super().__init__(desk.lab, lambda key: desk.bridge.rows.name(key), history, columns)
        self.desk = desk
        self._top = (Transport(desk, id="transport"), FlowStrip(id="flow"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, its signs are letters like any other; and orders are none of a recording's."""
        own = ("play", "step", "seek", "edge", "speed", "why")
        if action in own and self.prompt.display:
            return False
        return super().check_action(action, parameters)

    def action_play(self) -> None:
        """Play, from the beginning where it stands at the end; or hold."""
        desk = self.desk
        if not desk.playing and desk.lab.position == desk.lab.last:
            desk.lab.seek(0)
        desk.playing = not desk.playing
        self.app.tick()

    def action_step(self, way: int) -> None:
        """By one message."""
        self.desk.playing = False
        if not self.desk.lab.step_message(way > 0):
            self.app.say("this is the end" if way > 0 else "this is the beginning")
        self.app.tick()

    def action_seek(self, seconds: int) -> None:
        """By recorded seconds."""
        self.desk.lab.seek_time(self.desk.lab.now + seconds)
        self.app.tick()

    def action_edge(self, tenth: int) -> None:
        """To a tenth of the recording."""
        lab = self.desk.lab
        if tenth in (0, 10):
            lab.seek(0 if tenth == 0 else lab.last)
        else:
            lab.seek_time(lab.started + (lab.end - lab.started) * tenth / 10)
        self.app.tick()

    def action_speed(self, step: int) -> None:
        """Faster or slower."""
        self.desk.speed = max(0, min(len(SPEEDS) - 1, self.desk.speed + step))
        self.app.tick()

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
