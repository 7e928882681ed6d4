"""A recording of disk queues at the console: the pipeline's screen, and a bar to move through it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from console import keys
from console.apps.queues import QueueConsole
from console.apps.transport import BEFORE, Moves, Playing, Transport
from console.desks.queuedesk import QueueDesk
from console.desks.weighing import KEPT
from console.history import History
from console.pictures.queuebridge import QueueBridge, QueueLab, QueuePicture
from console.screens.messages import taken_page
from console.screens.pipeline import Pipelines
from console.screens.queuehelp import help_lines
from console.widgets.ink import Parts
from engine.recording.queuereplaylab import QueueReplayLab
from engine.recording.queuewhy import last_taken
from engine.tracing.operations import Operations

_ORDERS = frozenset({"document.retry", "stage.pause", "stage.add", "stage.remove", "driver.kill", "feed", "pause"})
_MOVED = {"stage.previous": "left_square_bracket", "stage.next": "right_square_bracket"}
_ALSO = tuple(
    key._replace(keys=_MOVED.get(key.id, key.keys), bar="" if key.id in _MOVED else key.bar)
    for key in keys.QUEUES
    if key.id not in _ORDERS
)
_WORDS = {
    "replay.back": "back to the last new name of a document",
    "replay.on": "on to the next new name of a document",
    "why": "why the driver took the document that was taken last",
}
_MOVES = tuple(key._replace(help=_WORDS.get(key.id, key.help)) for key in keys.REPLAY)


class QueueReplayDesk(QueueDesk):
    """``transport``: how it moves by itself."""

    lab: QueueReplayLab

    def __init__(self, lab: QueueReplayLab) -> None:
        super().__init__(lab)
        self.transport = Playing(lab)
        self._picture: QueuePicture | None = None
        self._shown: tuple[float, object] | None = None

    def look(self, now: float) -> QueuePicture:
        """Go on where it plays, and see what was there."""
        self.transport.pass_time(now)
        if self._picture is None or self._shown != (self.lab.now, self.lab.feed):
            self._shown = (self.lab.now, self.lab.feed)
            self.bridge = QueueBridge(self.lab)  # what is shown depends on the position alone
            names = [queue.name for queue in self.lab.view().queues]
            for sample in self.lab.samples(BEFORE):
                self.bridge.waited(sample.at, dict(zip(names, sample.ready, strict=True)))
            self._picture = self.bridge.poll(self.lab.now)
        return self._picture._replace(hertz=self.transport.pace.hertz)

    def listen(self) -> Operations:
        """A trace of what was recorded; it costs nobody anything."""
        return Operations(tuple(queue.name for queue in self.lab.view().queues), KEPT)


class ReplayedPipelines(Moves, Pipelines, inherit_bindings=False):
    """The pipeline of a recording."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*_MOVES, *_ALSO)), *Screen.BINDINGS]

    def __init__(self, desk: QueueReplayDesk, history: History) -> None:
        super().__init__(desk.lab, history)
        self.playing = desk.transport
        self._transport = Transport(desk.transport, id="transport")

    def compose(self) -> ComposeResult:
        """The bar over the panels."""
        yield self._transport
        yield from super().compose()

    def show(self, picture: QueuePicture) -> None:
        """Show a picture."""
        self._transport.show(picture)
        super().show(picture)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, its signs are letters like any other."""
        if action in ("play", "step", "seek", "edge", "speed", "why") and self.prompt.display:
            return False
        return super().check_action(action, parameters)

    def action_why(self) -> None:
        """Of the document that was taken last before the position."""
        lab = self.app.lab
        assert isinstance(lab, QueueReplayLab)
        record = last_taken(lab)
        if record is None:
            self.app.say("no document was taken lately", "warn")
        else:
            self.app.open_screen(taken_page(lab, record))


class QueueReplayConsole(QueueConsole):
    """The console of a recording of disk queues."""

    OFFERED: ClassVar[tuple[keys.Key, ...]] = tuple(key for key in (*_MOVES, *_ALSO) if key.id != "focus.next")

    def make_desk(self, lab: QueueLab) -> QueueDesk:
        """A desk with a bar."""
        assert isinstance(lab, QueueReplayLab)
        return QueueReplayDesk(lab)

    def make_main(self, desk: QueueDesk) -> Pipelines:
        """The first screen."""
        assert isinstance(desk, QueueReplayDesk)
        return ReplayedPipelines(desk, self.history)

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """The keys of a recording; those that give orders are none of its own."""
        return help_lines(shown, (("anywhere", keys.APP), ("recording", _MOVES), ("pipeline", _ALSO)))
