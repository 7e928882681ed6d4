"""The console of a system with a broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from console import keys
from console.bridge import Bridge, Lab, Picture, Settings
from console.history import History
from console.rows import Shown
from console.screens.confirm import stop_question
from console.screens.kept import Kept
from console.screens.listing import help_lines, worker_list
from console.screens.main import Main
from console.screens.page import Page
from console.shell import Shell
from console.widgets.ink import Parts
from console.widgets.runs import summary_of
from engine.lab import Refused


class Console(Shell):
    """The console on a lab; ``summary`` holds the lines of the last run."""

    OFFERED: ClassVar[tuple[keys.Key, ...]] = keys.MAIN[:-1]

    def __init__(self, lab: Lab, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.lab = lab
        self.bridge = Bridge(lab)
        self.history = History(settings.state_folder / "history")
        super().__init__(settings, Main(lab, self.bridge.rows.name, self.history), clock)

    def look(self) -> Picture:
        """What the engine shows now."""
        return self.bridge.poll(self.clock())

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """Every key and every word."""
        return help_lines(shown)

    def on_mount(self) -> None:
        """What was typed in former days."""
        try:
            self.history.load()
        except OSError as error:
            self.say(f"the history can not be read: {error}", "warn")

    def on_unmount(self) -> None:
        """Keep what there is to say in the end."""
        client = self.lab.feed.pictures.get("client")
        if client is not None and client.run is not None:
            self.summary = summary_of(client.run)

    # ---- orders -----------------------------------------------------------------------------------------------------

    def order(self, give: Callable[[Lab], None], said: str = "", *, destroys: bool = False) -> None:
        """Give an order to the lab; its refusal is told in its own words."""
        if destroys and self.refused_readonly():
            return
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

    def ask_to_stop(self, row: Shown) -> None:
        """Ask, then stop the worker of this row and no other, wherever any cursor is by then."""
        if self.refused_readonly():
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.order(lambda lab: lab.stop_worker(row.worker.key), f"worker {row.label} is asked to stop")

        self.push_screen(stop_question(row), answered)

    def remember(self, line: str) -> None:
        """Keep a typed line."""
        try:
            self.history.add(line)
        except OSError as error:
            self.say(f"the history can not be written: {error}", "warn")

    # ---- screens ----------------------------------------------------------------------------------------------------

    def show_runs(self) -> None:
        """The kept runs."""
        self.open_screen(Kept(self.bridge.read_runs()))

    def show_worker_list(self) -> None:
        """The broker's table, as the seed lists it."""
        self.open_screen(Page("workers", [], worker_list))
