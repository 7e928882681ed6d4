"""The pipeline's screen of a recording of disk queues."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from console import keys
from console.pictures.queuebridge import QueuePicture
from console.screens.pipeline import Pipelines
from console.screens.recording import Moves, Transport
from console.sessions.replay import ReplaySession

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
OWN = (*_MOVES, *_ALSO)
HELP = (("anywhere", keys.APP), ("recording", _MOVES), ("pipeline", _ALSO))


class ReplayedPipelines(Moves, Pipelines, inherit_bindings=False):
    """The pipeline of a recording."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN), *Screen.BINDINGS]

    session: ReplaySession

    def __init__(self, session: ReplaySession) -> None:
        super().__init__(session)
        self.playing = session.transport
        self._transport = Transport(session.transport, id="transport")

    def compose(self) -> ComposeResult:
        """The bar over the panels."""
        yield self._transport
        yield from super().compose()

    def fill(self, picture: QueuePicture) -> None:
        """Show a picture, and where in the recording it is."""
        self._transport.show(picture)
        super().fill(picture)
