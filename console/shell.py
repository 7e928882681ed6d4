"""The application below the screens: signals, notices, themes, help, and the one timer that refreshes the screen."""

from __future__ import annotations

import asyncio
import signal
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from textual import events
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.keys import format_key
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from console import keys, themes, units
from console.commands import Word
from console.history import History
from console.pictures.bridge import Settings
from console.pictures.governor import RefreshGovernor
from console.pictures.samples import HERTZ
from console.screens.commandline import CommandLine
from console.screens.layer import Palette
from console.screens.page import Page
from console.screens.themes import Themes
from console.terminal import Terminal
from console.text import clean
from console.widgets.ink import INKS, Parts
from console.widgets.keybar import KeyBar, key_name

PATIENCE = 5.0  # seconds that a key waits for its screen at most
AHEAD = 32  # messages that wait at the widget with the focus, beyond which a key waits
STEP = 0.01  # seconds
SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
"""Those that end it, with the terminal as it was before. ctrl+c is a key here, not a signal."""


@runtime_checkable
class Shows(Protocol):
    """A screen that shows pictures."""

    def show(self, picture: Any) -> None: ...


class Shell(App[None]):
    """The app without labs (``console.host``) and without their screens (``console.app``).

    ``run()`` returns when the screen is restored; the caller closes the labs. After that ``summary`` holds the last
    lines to print, and ``signal_received`` the signal that ended it, if one did. ``run()`` raises an exception inside.
    """

    TITLE = "roundhouse"
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"ink--{name}" for name in INKS}
    DEFAULT_CSS = "".join(f"Shell > .ink--{name} {{ color: {colour}; }}\n" for name, colour in INKS.items())
    CSS_PATH = Path(__file__).with_name("console.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.APP, *keys.SYSTEM, *keys.COMMAND))]

    def __init__(
        self, settings: Settings, history: History, main: Screen[Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``history``: typed lines, of earlier days too. ``main``: the bottom screen."""
        super().__init__(driver_class=Terminal)
        self.settings, self.history = settings, history
        self.clock, self.wall = clock, time.time
        self.relative = False  # whether times count from when the system was opened
        self._governor = RefreshGovernor(time.monotonic, lambda: time.thread_time() + self.drawn_for)
        self.signal_received: int | None = None
        self._ends: list[signal.Signals] = []  # those that were not ignored (nohup) when it began
        self.summary: str | None = None
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]
        self.animation_level = "none"  # what moves here is what is measured
        self._themes: tuple[str, ...] = ()
        self._first = main
        self._load_themes()
        if settings.theme in self._themes:
            self.theme = settings.theme  # before anything is painted
        self.keymap = keys.current(settings.keymap)
        self.set_keymap(self.keymap)

    def get_default_screen(self) -> Screen[Any]:
        """The main screen."""
        return self._first

    @abstractmethod
    def look(self) -> object:
        """The current picture, for the screen on top."""

    @abstractmethod
    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """The page of help. ``shown``: key id → its keys as they are now, remapped or not."""

    @abstractmethod
    def offered(self) -> Iterable[keys.Key]:
        """Keys of the first screen whose actions the palette offers."""

    # ---- life -------------------------------------------------------------------------------------------------------

    def on_load(self) -> None:
        """Run tasks in the same order on every Python.

        From Python 3.12 on Textual starts each task at once, before its creator goes on. The first screen's input
        line then asks for the screen before that is on the stack, and the app ends with ``ScreenStackError``.
        """
        asyncio.get_running_loop().set_task_factory(None)

    def on_mount(self) -> None:
        """Signals, theme; then the timer."""
        loop = asyncio.get_running_loop()
        self._ends = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._ends:
            loop.add_signal_handler(number, self._on_signal, number)
        self.choose_theme(self.settings.theme)
        if unknown := self.keymap.keys() - keys.IDS:
            self.say(f"keymap: there is no key {clean(min(unknown))!r} · help lists all", "bad")
        self.load_history()
        self.set_interval(1 / HERTZ, self._beat)
        self.call_after_refresh(self.tick)

    def on_unmount(self) -> None:
        """Remove the signal handlers."""
        loop = asyncio.get_running_loop()
        for number in self._ends:
            loop.remove_signal_handler(number)

    def hang_up(self) -> None:
        """Quit because the terminal is gone, with or without a signal."""
        if self.signal_received is None:
            self._on_signal(signal.SIGHUP)

    def _on_signal(self, number: int) -> None:
        self.signal_received = number
        self.exit(return_code=128 + number)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run until the operator quits. Raises any exception from inside."""
        super().run(*args, **kwargs)
        if self._exception is not None:
            raise self._exception

    @property
    def drawn_for(self) -> float:
        """CPU seconds that others than this thread have drawn pictures for."""
        return 0.0

    def _beat(self) -> None:
        if self._governor.due():
            self.tick()

    async def on_event(self, event: events.Event) -> None:
        """A key waits for its screen to be built, and for the keys before it to be done, for a limited time.

        So those that come faster than they are done wait here, and are left out when a signal ends the app.
        """
        if isinstance(event, events.Key):
            now = asyncio.get_running_loop().time
            ends = now() + PATIENCE
            while not self._exit and self.screen_stack and now() < ends:
                if (self.focused or self.screen).message_queue_size <= AHEAD:
                    break
                await asyncio.sleep(STEP)
            if self._exit:
                return
            if self.screen_stack and not self.screen.is_mounted:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.screen._mounted_event.wait(), PATIENCE)
        await super().on_event(event)

    def tick(self) -> None:
        """Refresh the screen on top."""
        picture = self.look()
        for screen in reversed(self.screen_stack):
            # one that is just being opened has no panels yet, one that is closed has none any more
            if screen.is_mounted and screen.children and isinstance(screen, Shows):
                screen.show(picture)
                for bar in self.screen.query_children(KeyBar):
                    bar.show()
                break

    @property
    def idle_keys(self) -> frozenset[str]:
        """Ids of keys that do nothing here now, so no key bar offers them."""
        return frozenset()

    def when_done(self, future: Future[Any], act: Callable[[], None]) -> None:
        """Call back on this thread when the future is done."""
        if future.done():
            act()
        else:
            future.add_done_callback(lambda _: self.call_later(act))

    # ---- what is typed ----------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def words(self) -> tuple[Word, ...]:
        """The commands that can be typed."""

    @abstractmethod
    def names_of(self, what: str) -> Sequence[str]:
        """What an argument of a command may be, by the word of its usage: ``WORKER`` → w1, w2, …"""

    @abstractmethod
    def entered(self, line: str) -> None:
        """Do what was typed."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed or a question is asked, a colon is text."""
        return action != "command" or not (isinstance(self.screen, ModalScreen) or isinstance(self.focused, Input))

    def action_command(self) -> None:
        """Type a command."""
        self.push_screen(CommandLine(self.history, self.words, self.names_of, self.entered))

    # ---- what was typed ---------------------------------------------------------------------------------------------

    def load_history(self) -> None:
        """Load the lines that were typed before."""
        try:
            self.history.load()
        except OSError as error:
            self.say(f"the history can not be read: {error}", "warn")

    def remember(self, line: str) -> None:
        """Keep a typed line."""
        try:
            self.history.add(line)
        except OSError as error:
            self.say(f"the history can not be written: {error}", "warn")

    # ---- what it says and offers ------------------------------------------------------------------------------------

    def say(self, text: str, ink: str = "label") -> None:
        """Show a notice on the last line; ``ink``: good, warn, bad or label."""
        for screen in reversed(self.screen_stack):
            bars = screen.query(KeyBar)
            if bars:
                bars.first().say(text, ink)
                return
        self.call_after_refresh(self.say, text, ink)  # nothing is on the screen yet

    def action_help(self) -> None:
        """The help: all keys and commands."""
        shown: dict[str, list[str]] = {}
        for active in self._first.active_bindings.values():
            if active.binding.id:
                shown.setdefault(active.binding.id, []).append(self.get_key_display(active.binding))
        for name, own in self.keymap.items():
            shown.setdefault(name, [own.replace(",", " ")])  # keys of other screens, remapped
        self.open_screen(Page("help", self.help_lines({name: " ".join(all_) for name, all_ in shown.items()})))

    def on_key(self, event: events.Key) -> None:
        """Say it of a key that does nothing here."""
        if event.key not in self.active_bindings and not isinstance(self.screen, ModalScreen):
            self.say(f"{format_key(event.key)} does nothing here · ? lists the keys")

    def action_copy(self) -> None:
        """Copy what is marked with the mouse, else the row or the page with the keyboard."""
        text = self.screen.get_selected_text() or ""
        copied = getattr(self.focused, "copied", None)
        if not text and copied is not None:
            text = copied()
        if not text:
            self.say("there is nothing to copy here", "warn")
            return
        self._copy(text)

    def on_text_selected(self) -> None:
        """Copy what the mouse has marked, when its button is released, as terminals do."""
        if text := self.screen.get_selected_text():
            self._copy(text)

    def _copy(self, text: str) -> None:
        self.copy_to_clipboard(text)
        first, *more = text.splitlines()
        self.say(f"copied {units.several(len(more) + 1, 'line')}" if more else f"copied {clean(first)}", "good")

    def action_leave(self) -> None:
        """Go back; from the main screen: quit, after a question if something would end."""
        if len(self.screen_stack) > 1 and hasattr(self.screen, "action_back"):
            self.screen.action_back()
        else:
            self.action_ask_to_quit()

    @abstractmethod
    def action_ask_to_quit(self) -> None:
        """Quit, after a question if something would end."""

    def action_command_palette(self) -> None:
        """Search for a command."""
        if not any(isinstance(screen, Palette) for screen in self.screen_stack):
            self.push_screen(Palette())

    def action_times(self) -> None:
        """Times of the day, or seconds since the system was opened: of events, ladder and trace alike."""
        self.relative = not self.relative
        self.say("times count from when the system was opened" if self.relative else "times are those of the day")
        self.tick()

    def action_theme(self) -> None:
        """Open the theme picker; theme files are read again."""
        problems = self._load_themes()
        self.push_screen(Themes(self._themes, problems))

    def open_screen(self, screen: Screen[None]) -> None:
        """Put a screen on top, and fill it without waiting for the next refresh."""
        self.push_screen(screen)
        self.call_after_refresh(self.tick)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every key's action in the palette."""
        for run, offered in ((self._first.run_action, self.offered()), (self.run_action, keys.APP)):
            for key in offered:
                yield SystemCommand(self.titled(key.bar or key.id, key), key.help, partial(run, key.action))

    def titled(self, name: str, key: keys.Key) -> str:
        """The name of a command, and its keys as they are now."""
        shown = (key_name(format_key(one)) for one in self.keymap.get(key.id, key.keys).split(","))
        return f"{name}  · {' '.join(shown)}"

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
        """Read all theme files again. A wrong file changes nothing: its last good version stays."""
        folders: list[Path] = [themes.shipped_folder(), self.settings.config_folder / "themes"]
        shelf = themes.find_themes(folders)
        for theme in shelf.themes:
            changed = self.available_themes.get(theme.name) != theme
            self.register_theme(theme)
            if changed and theme.name == self.theme:
                self.mutate_reactive(App.theme)
        self._themes = tuple(dict.fromkeys((*self._themes, *(theme.name for theme in shelf.themes))))
        return list(shelf.problems)
