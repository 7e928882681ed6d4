"""The console of disk queues."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import BindingType

from console import keys
from console.bridge import House, Settings
from console.history import History
from console.queuebridge import QueueLab, QueuePicture
from console.queuedesk import QueueDesk
from console.screens.confirm import Confirm
from console.screens.pipeline import Pipelines
from console.screens.queuehelp import help_lines
from console.seeing import see
from console.shell import Shell
from console.text import clean
from console.widgets.ink import Parts
from console.widgets.queuelines import equation
from engine.lab.pool import Refused
from engine.protocols.diskqueue.pipeline import DriverRow


class QueueConsole(Shell):
    """The console on a queue lab; ``summary`` holds the books as they were in the end."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.SEE_QUEUES)]
    OFFERED: ClassVar[tuple[keys.Key, ...]] = tuple(key for key in keys.QUEUES if key.id != "focus.next")

    def __init__(
        self,
        lab: QueueLab,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        house: House | None = None,
    ) -> None:
        self.lab = lab
        self.desk = QueueDesk(lab)
        self.history = History(settings.state_folder / "history")
        self.main = Pipelines(lab)
        super().__init__(settings, self.main, clock, house)

    def look(self) -> QueuePicture:
        """What the engine shows now."""
        return self.desk.look(self.clock())

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """Every key and every state."""
        return help_lines(shown)

    def on_unmount(self) -> None:
        """Keep what there is to say in the end."""
        self.summary = "".join(text for text, _ in equation(self.look()))

    def arrive(self, name: str, lab: Any) -> None:
        """To another system; the own one is here."""
        if lab is not self.lab:
            super().arrive(name, lab)

    def action_see(self, what: str) -> None:
        """A screen that shows the protocol: trace, ladder, maps or conformance."""
        see(self, what)

    # ---- orders -----------------------------------------------------------------------------------------------------

    def order(self, give: Callable[[QueueLab], None], said: str = "", *, desk: object = None) -> None:
        """Give an order to the lab of the one desk; its refusal is told in its own words."""
        try:
            give(self.lab)
        except Refused as refusal:
            self.say(str(refusal), "bad")
        else:
            if said:
                self.say(said, "good")

    def refused_readonly(self) -> bool:
        """Whether orders that destroy are refused here; if so, that is told."""
        if self.lab.readonly:
            self.say("refused: this console is read-only (--readonly)", "bad")
        return self.lab.readonly

    def retry(self, queue: str, document: str) -> None:
        """Give a document that failed twice two fresh attempts."""
        self.order(lambda lab: lab.retry(queue, document), f"{clean(document)} is tried again")

    def ask_to_kill(self, driver: DriverRow) -> None:
        """Ask, then kill this driver and no other."""
        if self.refused_readonly():
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.order(lambda lab: lab.kill_driver(driver.number), f"driver {driver.number} is killed")

        self.push_screen(kill_question(driver), answered)


def kill_question(driver: DriverRow) -> Confirm:
    """The question before a driver is killed; it names it and its document."""
    fate = f"{clean(driver.document, 40)} counts as failed." if driver.document else "It holds no document."
    lines = [fate, f"Process {driver.pid} ends at once; another driver takes its place."]
    return Confirm(f"Kill driver {driver.number} of {clean(driver.stage)}?", lines, "Kill")
