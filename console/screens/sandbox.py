"""The sandbox of a system with a broker: time goes on by one message, by one event, or at a speed."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from console import keys
from console.history import History
from console.pictures.bridge import Picture
from console.screens.explored import Explored
from console.screens.main import Main
from console.screens.terms import View
from console.screens.virtualtime import VirtualTime
from console.sessions.sandbox import SandboxSession
from console.widgets.flow import FlowStrip
from engine.parts.fault import Fault

_TAKEN = frozenset({"pause", "workers.add", "workers.remove", "back", "runs"})
OWN = (*keys.STEP, *keys.EXPLORE, *(key for key in keys.MAIN if key.id not in _TAKEN), *keys.BACK)


class SandboxScreen(VirtualTime, Main, inherit_bindings=False):
    """The main screen of a sandbox."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN), *Screen.BINDINGS]
    session: SandboxSession

    def __init__(self, session: SandboxSession, history: History, view: View) -> None:
        super().__init__(session, history, view)
        self.make_panels(session)
        self.ladder.first = ("client", "broker")
        self.above = (self.timebar, FlowStrip(id="flow"))
        self.panels = (self.table, self.last, self.ladder, self.promises)

    def on_unmount(self) -> None:
        """Close the sandbox."""
        self.session.lab.close()

    def fill(self, picture: Picture) -> None:
        """Show a picture, and the step that led to it."""
        for panel in (*self.above, self.table, *self.below):
            if panel.display:
                panel.show(picture)
        self.draw()

    def hurt(self, line: str) -> None:
        """The fault of this line."""
        self.propose(line)

    def likeliest(self, fault: Fault) -> str:
        """The selected worker."""
        row = self.table.chosen() if self.table.cursor is not None else None
        return row.label if row else ""

    def action_details(self) -> None:
        """Open the selected message if the ladder has the focus, else the selected worker."""
        if not self.open_message():
            super().action_details()

    def action_explore(self) -> None:
        """Walk every order of events of a small scene with the sandbox's options."""
        lab = self.session.lab
        self.app.open_screen(Explored(lab.system, lab.options))

    # ---- back -------------------------------------------------------------------------------------------------------

    def action_back(self) -> None:
        """Clear the marks, the filter, then the selection; then leave the sandbox."""
        if self.table.marks or self.table.filter is not None or self.table.cursor is not None:
            super().action_back()
        elif self.ladder.cursor is not None:
            self.ladder.release()
        else:
            self.dismiss()
