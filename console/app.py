"""The application: screens, bindings, and the one timer that moves them."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from console import keys, themes
from console.bridge import HERTZ, Bridge, Lab, Picture, Settings
from console.history import History
from console.rows import Shown
from console.screens.confirm import stop_question
from console.screens.kept import Kept
from console.screens.listing import help_lines, worker_list
from console.screens.main import Main
from console.screens.page import Page
from console.screens.themes import Themes
from console.terminal import Terminal
from console.text import clean
from console.widgets.keybar import KeyBar
from console.widgets.runs import summary_of
from engine.lab import Refused

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@runtime_checkable
class Shows(Protocol):
    """A screen that shows pictures."""

    def show(self, picture: Picture) -> None: ...


class Console(App[None]):
    """The console on a lab. ``run()`` returns when the screen is restored; the caller closes the lab.

    After that ``summary`` holds the lines of the last run, and ``signal_received`` the signal that ended it, if one
    did. An exception inside is raised by ``run()``.
    """

    TITLE = "roundhouse"
    CSS_PATH = "console.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.APP)]

    def __init__(self, lab: Lab, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(driver_class=Terminal)
        self.lab = lab
        self.settings = settings
        self.clock = clock
        self.bridge = Bridge(lab)
        self.history = History(settings.state_folder / "history")
        self.signal_received: int | None = None
        self.summary: str | None = None
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]
        self.animation_level = "none"  # what moves here is what is measured
        self._themes: tuple[str, ...] = ()
        self._main = Main(lab, self.bridge.rows.name, self.history)
        self._load_themes()
        if settings.theme in self._themes:
            self.theme = settings.theme  # before anything is painted
        self.set_keymap(settings.keymap)

    def get_default_screen(self) -> Screen[Any]:
        """The main screen."""
        return self._main

    # ---- life -------------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Signals, history, theme; then the timer."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        try:
            self.history.load()
        except OSError as error:
            self.say(f"the history can not be read: {error}", "warn")
        self.choose_theme(self.settings.theme)
        if unknown := self.settings.keymap.keys() - keys.IDS:
            self.say(f"keymap: there is no key {clean(min(unknown))!r} · help lists all", "bad")
        self.set_interval(1 / HERTZ, self.tick)
        self.call_after_refresh(self.tick)

    def on_unmount(self) -> None:
        """Nobody is there for signals any more."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
        client = self.lab.feed.pictures.get("client")
        if client is not None and client.run is not None:
            self.summary = summary_of(client.run)

    def hang_up(self) -> None:
        """The terminal is gone, whether or not a signal says so."""
        if self.signal_received is None:
            self._on_signal(signal.SIGHUP)

    def _on_signal(self, number: int) -> None:
        self.signal_received = number
        self.exit(return_code=128 + number)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run until somebody quits. Raises what went wrong inside."""
        super().run(*args, **kwargs)
        if self._exception is not None:
            raise self._exception

    def tick(self) -> None:
        """One refresh of what is on top."""
        picture = self.bridge.poll(self.clock())
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Shows):
                screen.show(picture)
                break

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

    def say(self, text: str, ink: str = "label") -> None:
        """Tell the operator, on the last line of the screen; ``ink``: good, warn, bad or label."""
        for screen in reversed(self.screen_stack):
            bars = screen.query(KeyBar)
            if bars:
                bars.first().say(text, ink)
                return
        self.call_after_refresh(self.say, text, ink)  # nothing is on the screen yet

    def remember(self, line: str) -> None:
        """Keep a typed line."""
        try:
            self.history.add(line)
        except OSError as error:
            self.say(f"the history can not be written: {error}", "warn")

    # ---- screens ----------------------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """Every key and every word."""
        shown: dict[str, list[str]] = {}
        for active in self._main.active_bindings.values():
            if active.binding.id:
                shown.setdefault(active.binding.id, []).append(self.get_key_display(active.binding))
        self.open_screen(Page("help", help_lines({name: " ".join(all_) for name, all_ in shown.items()})))

    def show_runs(self) -> None:
        """The kept runs."""
        self.open_screen(Kept(self.bridge.read_runs()))

    def show_worker_list(self) -> None:
        """The broker's table, as the seed lists it."""
        self.open_screen(Page("workers", [], worker_list))

    def action_theme(self) -> None:
        """Choose a theme; files that were changed are read again."""
        problems = self._load_themes()
        self.push_screen(Themes(self._themes, problems))

    def open_screen(self, screen: Screen[None]) -> None:
        """Put a screen on top, and fill it without waiting for the next refresh."""
        self.push_screen(screen)
        self.call_after_refresh(self.tick)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every key's action in the palette."""
        for key in keys.MAIN[:-1]:
            yield SystemCommand(key.bar or key.id, key.help, partial(self._main.run_action, key.action))
        for key in keys.APP:
            yield SystemCommand(key.bar, key.help, partial(self.run_action, key.action))

    # ---- themes -----------------------------------------------------------------------------------------------------

    def choose_theme(self, name: str) -> None:
        """Take a theme by name; the next one without a name."""
        problems = self._load_themes()
        if not name:
            at = self._themes.index(self.theme) if self.theme in self._themes else -1
            name = self._themes[(at + 1) % len(self._themes)]
        if name in self._themes:
            self.theme = name
        else:
            problems = [f"no theme {clean(name)!r} · there are {', '.join(self._themes)}", *problems]
        if problems:
            self.say(" · ".join(problems), "bad")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours for a theme that is none of ours."""
        return themes.own_colours(self.current_theme)

    def _load_themes(self) -> list[str]:
        """Read all theme files again. A file that is wrong changes nothing: what was read from it before stays."""
        folders: list[Path] = [themes.shipped_folder(), self.settings.config_folder / "themes"]
        shelf = themes.find_themes(folders)
        for theme in shelf.themes:
            changed = self.available_themes.get(theme.name) != theme
            self.register_theme(theme)
            if changed and theme.name == self.theme:
                self.mutate_reactive(App.theme)
        self._themes = tuple(dict.fromkeys((*self._themes, *(theme.name for theme in shelf.themes))))
        return list(shelf.problems)
