"""The main screen of a recording of a system with a broker."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from console import keys
from console.history import History
from console.screens.main import Main
from console.screens.recording import Moves, Transport
from console.screens.terms import View
from console.sessions.replay import ReplaySession
from console.widgets.flow import FlowStrip

_ORDERS = {"workers.add", "workers.remove", "run.ping", "run.data", "run.stop", "worker.stop", "worker.drain"}
_TAKEN = frozenset({"pause", "runs", "worker.mark", *_ORDERS})
_ALSO = tuple(key for key in keys.MAIN if key.id not in _TAKEN)
OWN = (*keys.REPLAY, *_ALSO, *keys.SPAN)
HELP = (
    ("anywhere", keys.APP),
    ("recording", keys.REPLAY),
    ("main screen", _ALSO),
    ("clients, backlog, charts", (*keys.WAITS, *keys.SPAN, *keys.CHART)),
    ("table", keys.TABLE),
    ("the protocol made visible", keys.SEE),
    ("trace and ladder", keys.MESSAGES),
    ("sandbox", (*keys.STEP, *keys.EXPLORE)),
)


class Replayed(Moves, Main, inherit_bindings=False):
    """The main screen of a recording."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN), *Screen.BINDINGS]

    session: ReplaySession

    def __init__(self, session: ReplaySession, history: History, view: View) -> None:
        super().__init__(session, history, view)
        self.playing = session.transport
        self.above = (Transport(session.transport, id="transport"), FlowStrip(id="flow"))
