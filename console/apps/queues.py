"""The console of disk queues."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import BindingType

from console import keys
from console.apps.seeing import see
from console.apps.shell import Shell
from console.commands import Command
from console.desks.queuedesk import QueueDesk
from console.desks.queuestagedesk import QueueStageDesk
from console.history import History
from console.pictures.bridge import House, Settings
from console.pictures.queuebridge import QueueLab, QueuePicture
from console.screens.confirm import Confirm
from console.screens.pipeline import Pipelines
from console.screens.queuehelp import help_lines
from console.screens.queuestepper import QueueStepper
from console.text import clean
from console.widgets.ink import Parts
from console.widgets.queuelines import equation
from engine.errors import Refused
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
        self.history = History(settings.state_folder / "history")
        self._desk = self.make_desk(lab)
        self.main = self.make_main(self._desk)
        super().__init__(settings, self.main, clock, house)

    def make_desk(self, lab: QueueLab) -> QueueDesk:
        """The desk of the lab."""
        return QueueDesk(lab)

    def make_main(self, desk: QueueDesk) -> Pipelines:
        """The first screen."""
        return Pipelines(desk.lab, self.history)

    @property
    def desk(self) -> QueueDesk:
        """What is on the screen: a stage where one stands before the pipeline, else the pipeline."""
        stages = (screen.desk for screen in reversed(self.screen_stack) if isinstance(screen, QueueStepper))
        return next(stages, self._desk)

    def look(self) -> QueuePicture:
        """What the engine shows now. The pipeline is looked at before a stage as well, so nothing is missed."""
        now = self.clock()
        picture = self._desk.look(now)
        return picture if self.desk is self._desk else self.desk.look(now)

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """Every key and every state."""
        return help_lines(shown)

    def on_mount(self) -> None:
        """What was typed in former days."""
        self.load_history()

    def on_unmount(self) -> None:
        """Keep what there is to say in the end."""
        self.summary = "".join(text for text, _ in equation(self._desk.look(self.clock())))

    def arrive(self, name: str, lab: Any) -> None:
        """To another system; the own one is here."""
        if lab is not self.lab:
            super().arrive(name, lab)

    def action_see(self, what: str) -> None:
        """A screen that shows the protocol: trace, ladder, maps or conformance."""
        see(self, what)

    def action_stage(self) -> None:
        """A pipeline on a stage."""
        self.open_stage()

    def open_stage(self) -> QueueStageDesk:
        """The stage, which is opened where there is none."""
        desk = self.desk
        if not isinstance(desk, QueueStageDesk):
            desk = QueueStageDesk(self.lab.options, self.history)
            self.open_screen(desk.main)
        return desk

    # ---- what was typed ---------------------------------------------------------------------------------------------

    def perform(self, command: Command) -> None:
        """One command of the ``:`` line."""
        match command:
            case Command("system", str(name)):
                self.choose_system(name)
            case Command("theme", str(name)):
                self.choose_theme(name)
            case Command("fault", str(line)):
                self.fault(line)
            case Command("help", _):
                self.action_help()
            case Command("quit", _):
                self.exit()
            case _:
                raise AssertionError(f"a word without a meaning: {command}")

    def fault(self, line: str) -> None:
        """Inject a fault into the stage: first it is said what is promised."""
        stage = self.open_stage()
        if not stage.stage.now:
            stage.settle()
        self.call_after_refresh(stage.main.propose, line)

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
