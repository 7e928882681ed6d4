"""The console of the systems with a broker: several labs run, one of them is on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar

from textual.binding import BindingType

from console import keys
from console.apps.seeing import fault, open_stage, see
from console.apps.shell import Shell
from console.desks.desk import Desk
from console.desks.stagedesk import StageDesk
from console.history import History
from console.pictures.bridge import Bridge, House, Lab, Picture, Settings
from console.pictures.rows import Shown
from console.screens.compared import compare_typed
from console.screens.confirm import Confirm, stop_question
from console.screens.kept import Kept
from console.screens.listing import help_lines, worker_list
from console.screens.page import Page
from console.screens.stepper import Stepper
from console.widgets.identity import Other
from console.widgets.ink import Parts
from engine.catalogue import SYSTEMS
from engine.errors import Refused


class Console(Shell):
    """The console on a house of labs, of which the one named ``first`` is open.

    Each system has a desk, with a mode of its own: its screens stay as they are while another system is on the screen.
    In the end ``summary`` holds the lines of the last run of each.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.SEE)]
    OFFERED: ClassVar[tuple[keys.Key, ...]] = tuple(key for key in keys.MAIN if key.id != "focus.next")
    DEFAULT_MODE: ClassVar[str] = "first"
    house: House

    def __init__(
        self, house: House, first: str, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.history = History(settings.state_folder / "history")
        self._desk = desk = self.make_desk(first, house.running[first])
        self._desks = {first: desk}
        self._modes_of = {first: self.DEFAULT_MODE}
        super().__init__(settings, desk.main, clock, house)
        self.add_mode(self.DEFAULT_MODE, lambda: desk.main)
        for name, lab in house.running.items():  # from before the operator went to a system of another kind
            if name in SYSTEMS and name != first:
                self._sit_at(name, lab)

    def make_desk(self, name: str, lab: Lab) -> Desk:
        """The desk of a lab."""
        return Desk(name, lab, self.history)

    @property
    def desk(self) -> Desk:
        """What is on the screen: a stage where one stands before its system, else the system."""
        stages = (screen.desk for screen in reversed(self.screen_stack) if isinstance(screen, Stepper))
        return next(stages, self._desk)

    @property
    def lab(self) -> Lab:
        """The lab on the screen."""
        return self.desk.lab

    @property
    def bridge(self) -> Bridge:
        """What was seen of it."""
        return self.desk.bridge

    def look(self) -> Picture:
        """What the engine shows now. Labs that are not on the screen are looked at as well, so nothing is missed."""
        now = self.clock()
        pictures = {name: desk.look(now) for name, desk in self._desks.items()}
        desk = self.desk
        return pictures[desk.name] if desk.name in pictures else desk.look(now)

    @property
    def running(self) -> bool:
        """Whether tasks are under way in one of the labs."""
        seen = (desk.picture for desk in (*self._desks.values(), self.desk))
        return any(picture.busy for picture in seen if picture is not None)

    @property
    def others(self) -> list[Other]:
        """The systems that run."""
        numbered = enumerate(self.house.names, 1)
        return [self._desks[name].other(n, name == self.desk.name) for n, name in numbered if name in self._desks]

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """Every key and every word."""
        return help_lines(shown)

    def on_mount(self) -> None:
        """What was typed in former days."""
        self.load_history()

    def on_unmount(self) -> None:
        """Keep what there is to say in the end."""
        said = {name: desk.summary for name, desk in self._desks.items()}
        told = {name: lines for name, lines in said.items() if lines}
        several = len(told) > 1
        self.summary = "\n".join(f"{name}: {lines}" if several else lines for name, lines in told.items()) or None

    # ---- systems ----------------------------------------------------------------------------------------------------

    def arrive(self, name: str, lab: Any) -> None:
        """The lab of this system is open: to its desk, where it is one with a broker."""
        if name not in SYSTEMS:
            super().arrive(name, lab)
            return
        if name not in self._desks:
            self._sit_at(name, lab)
        self._go(name)

    def _sit_at(self, name: str, lab: Lab) -> None:
        desk = self._desks[name] = self.make_desk(name, lab)
        self._modes_of[name] = name
        self.add_mode(name, lambda: desk.main)

    def _go(self, name: str) -> None:
        self._desk = self._desks[name]
        self._first = self._desk.main
        self.switch_mode(self._modes_of[name])
        self.call_after_refresh(self.tick)

    # ---- orders -----------------------------------------------------------------------------------------------------

    def order(
        self, give: Callable[[Lab], None], said: str = "", *, destroys: bool = False, desk: Desk | None = None
    ) -> None:
        """Give an order to the lab of a desk, the present one as a rule, without waiting for it.

        When it has been carried out ``said`` is told; its refusal is told in its own words.
        """
        if destroys and self.refused_readonly():
            return
        desk = desk or self.desk
        answer = desk.order(give) if isinstance(desk, StageDesk) else self.house.order(desk.name, give)
        self.when_done(answer, lambda: self._answered(answer, said))

    def _answered(self, answer: Future[None], said: str) -> None:
        try:
            answer.result()
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

    def ask_first(self, question: Confirm, give: Callable[[Lab], None], said: str) -> None:
        """Ask, then give the order to the lab that was asked about, whatever is on the screen by then."""
        if self.refused_readonly():
            return
        desk = self.desk

        def answered(yes: bool | None) -> None:
            if yes:
                self.order(give, said, desk=desk)

        self.push_screen(question, answered)

    def ask_to_stop(self, row: Shown) -> None:
        """Ask, then stop the worker of this row and no other, wherever any cursor is by then."""
        picture, state = self.desk.picture, row.worker.state
        ours = picture is not None and picture.own(row.worker.key) is not None
        if state == "drain":
            self.say(f"worker {row.label} is leaving already", "warn")
        elif state == "lost" and not ours:
            self.say(f"worker {row.label} is lost: there is nobody to ask", "warn")
        else:
            said = f"worker {row.label} is asked to stop{', though its broker has lost it' if state == 'lost' else ''}"
            self.ask_first(stop_question(row), lambda lab: lab.stop_worker(row.worker.key), said)

    # ---- screens ----------------------------------------------------------------------------------------------------

    def show_runs(self) -> None:
        """The kept runs."""
        self.open_screen(Kept(self.bridge.read_runs()))

    def compare(self, line: str) -> None:
        """Two of them beside each other, as they were named on the command line."""
        compare_typed(self, line, self.bridge.read_runs())

    def show_worker_list(self) -> None:
        """The broker's table, as the seed lists it."""
        self.open_screen(Page("workers", [], worker_list))

    def show_protocol(self) -> None:
        """The system in its protocol's own terms."""
        self.open_screen(self.desk.view.screen())

    def action_see(self, what: str) -> None:
        """A screen that shows the protocol: trace, ladder, maps or conformance."""
        see(self, what)

    def action_stage(self) -> None:
        """The system on a stage."""
        open_stage(self)

    def fault(self, line: str) -> None:
        """Inject a fault into the stage, once its promises were read."""
        fault(self, line)
