"""What a screen may ask of the application: the current session, the other systems, orders to their labs."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.screen import Screen

from console import keys
from console.commands import Command, CommandError, parse
from console.history import History
from console.pictures.bridge import Labs, Settings
from console.pictures.samples import SPANS
from console.screens.confirm import Confirm
from console.screens.fleet import FleetScreen
from console.sessions.session import RUNNING, Give, Session
from console.shell import Shell
from console.text import clean
from console.widgets.identity import Other
from engine.catalogue import CATALOGUE
from engine.drive.control.found import Found
from engine.errors import Refused
from engine.labs.attaching import Around, which
from engine.labs.fleet import Fleet

ENDS = 8  # lines of what ends with the console


class Host(Shell):
    """Several labs run, each with a session; one session is on the screen.

    Each session has its own Textual mode, so its screens are kept while another session is shown.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.WAITS, *keys.SEE, *keys.ATTACH))]
    DEFAULT_MODE: ClassVar[str] = "first"

    def __init__(
        self,
        labs: Labs | None,
        first: Session[Any],
        settings: Settings,
        history: History,
        main: Screen[Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``labs``: opens labs of other systems; None if there are no others.

        ``around``, which may be set later: what else runs on this machine.
        """
        super().__init__(settings, history, main, clock)
        self.labs = labs
        self.around: Around | None = None
        self._fleet: Fleet | None = None
        self.sessions = {first.name: first}
        self._mains: dict[str, Screen[Any]] = {first.name: main}
        self._modes_of = {first.name: self.DEFAULT_MODE}
        self._session = first
        self.first_run = False
        self.empty = False  # it was opened without workers
        self.span = 0  # of all charts, by its place in ``SPANS``
        self.add_mode(self.DEFAULT_MODE, lambda: main)

    def on_mount(self) -> None:
        """Greet."""
        self.call_after_refresh(self.greet)

    def greet(self) -> None:
        """Show the first keys to a new user, unless the keys are remapped."""
        if self.first_run and not self.keymap:
            run = self.settings.run
            alone = self.empty and self.session.mode == "live"
            tour = self.session.kind.tour_empty if alone else self.session.tour
            self.main.keybar.greet(tour.format(pings=f"{run.count:,}", streams=f"{run.data_count:,}"))

    async def on_event(self, event: events.Event) -> None:
        """The first key ends that, for good."""
        if self.first_run and isinstance(event, events.Key):
            self.first_run = False
            try:
                self.history.begin()
            except OSError as error:
                self.say(f"the state folder can not be written: {error}", "warn")
        await super().on_event(event)

    @property
    def idle_keys(self) -> frozenset[str]:
        """Those of what is on the screen."""
        return self.session.idle_keys

    def action_span(self) -> None:
        """Charts of the next span."""
        self.span = (self.span + 1) % len(SPANS)
        self.tick()

    # ---- what is on the screen --------------------------------------------------------------------------------------

    @property
    def session(self) -> Session[Any]:
        """The current session: a sandbox if one is open over its system, else the system itself."""
        opened = (getattr(screen, "session", None) for screen in reversed(self.screen_stack))
        return next((session for session in opened if session is not None and session.mode == "sandbox"), self._session)

    @property
    def main(self) -> Any:
        """The main screen of the current session."""
        session = self.session
        screens = reversed(self.screen_stack)
        return next((screen for screen in screens if getattr(screen, "session", None) is session), self._first)

    @property
    def lab(self) -> Any:
        """The lab of the current session."""
        return self.session.lab

    def look(self) -> Any:
        """The current picture. Labs that are not on the screen are polled too, so that no event is missed."""
        now = self.clock()
        for session in dict.fromkeys((*self.sessions.values(), self.session)):
            session.look(now)
            session.tell(self.wall())
        return self.session.picture

    @property
    def drawn_for(self) -> float:
        """CPU seconds that the nodes of all labs have drawn for."""
        return float(sum(session.lab.feed.spent for session in self.sessions.values()))

    @property
    def others(self) -> list[Other]:
        """All open systems, the current one included."""
        names = self.labs.names if self.labs is not None else tuple(self.sessions)
        here = self.session.name
        return [
            Other(number, name, self.ink_of(self.sessions[name]), name == here)
            for number, name in enumerate(names, 1)
            if name in self.sessions
        ]

    @abstractmethod
    def ink_of(self, session: Session[Any]) -> str:
        """The colour of a session's state."""

    # ---- systems ----------------------------------------------------------------------------------------------------

    def action_system(self, name: str) -> None:
        """Go to a system. Its lab is opened if needed, without blocking the console."""
        if self.labs is None:
            self.say("there is nothing beside a recording", "warn")
            return
        names = self.labs.names
        if name not in names:  # a console of attached processes: the keys are theirs, in the order of their coming
            place = list(CATALOGUE).index(name)
            if place >= len(names):
                self.say(f"{place + 1}: no more than {len(names)} attached · A attaches to another", "warn")
                return
            name = names[place]
        opened = self.labs.open(name)
        if not opened.done():
            self.say(f"{name} is being opened")
        self.when_done(opened, lambda: self._opened(name, opened))

    def action_attach(self) -> None:
        """What runs on this machine."""
        self.attach("")

    def attach(self, name: str) -> None:
        """Attach to the process of this name; list all that run where none is given."""
        if self.around is None or self.labs is None:
            self.say("nothing can be attached to from here", "warn")
            return
        around = self.around
        if not name:
            self._fleet = self._fleet or Fleet(around)  # the same again, so that it still knows who was lost
            self.open_screen(
                FleetScreen(self._fleet, lambda row: self._go_to(around, row.found, row.trouble), self.clock)
            )
            return
        search = around.search(name)
        self.say("looking for what runs on this machine")
        self.when_done(search, lambda: self._found(around, name, search))

    def _found(self, around: Around, name: str, search: Future[list[Found]]) -> None:
        try:
            self._go_to(around, which(search.result(), name))
        except Refused as refusal:
            self.say(str(refusal), "bad")

    def _go_to(self, around: Around, found: Found, trouble: str = "") -> None:
        assert self.labs is not None
        if not found.system:
            self.say(f"{found.name}: {trouble or 'not heard yet'}", "warn")
            return
        self.labs.add(found.name, lambda name: around.lab(found))
        self.action_system(found.name)

    def choose_system(self, beginning: str) -> None:
        """Go to the system whose name begins with this text."""
        names = self.labs.names if self.labs is not None else ()
        fits = [name for name in names if name.startswith(beginning.lower())]
        if fits or not names:
            self.action_system("".join(fits[:1]))
        else:
            self.say(f"no system {clean(beginning)!r} · there are {', '.join(names)}", "bad")

    def _opened(self, name: str, opened: Future[Any]) -> None:
        if (error := opened.exception()) is not None:
            kind = "" if isinstance(error, Refused) else f"{type(error).__name__}: "
            self.say(f"{name} can not be opened: {kind}{error}", "bad")
            return
        if name not in self.sessions:
            session, main = self.made(name, opened.result())
            self.sessions[name], self._mains[name], self._modes_of[name] = session, main, name
            self.add_mode(name, lambda: main)
        self._session, self._first = self.sessions[name], self._mains[name]
        self.switch_mode(self._modes_of[name])
        self.call_after_refresh(self.tick)

    @abstractmethod
    def made(self, name: str, lab: Any) -> tuple[Session[Any], Screen[Any]]:
        """The session of a lab, and its main screen."""

    # ---- the end ----------------------------------------------------------------------------------------------------

    def action_ask_to_quit(self) -> None:
        """Quit, after a question if something would end that costs somebody something."""
        self.look()
        ends = [
            f"{session.name}: {words}" if len(self.sessions) > 1 else words
            for session in self.sessions.values()
            for words in self.ends_with(session)
        ]
        if not ends:
            self.exit()
            return
        more = [f"and {len(ends) - ENDS + 1} more"] if len(ends) > ENDS else []
        lines = [*ends[: ENDS - len(more)], *more]
        self.push_screen(Confirm("Quit roundhouse?", lines, "Quit"), self._quit_answered)

    def action_suspend(self) -> None:
        """Suspend the process, unless somebody depends on it."""
        self.look()
        depends = [words for session in self.sessions.values() for words in self.depends_on(session)]
        if depends:
            self.say(f"not suspended: it would stop for {depends[0]}", "bad")
        else:
            self.action_suspend_process()

    def _quit_answered(self, yes: bool | None) -> None:
        if yes:
            self.exit()

    @abstractmethod
    def depends_on(self, session: Session[Any]) -> list[str]:
        """Who or what of others depends on this process, one line each."""

    @abstractmethod
    def ends_with(self, session: Session[Any]) -> list[str]:
        """What ends with the console, one line each; [] if quitting costs nothing."""

    # ---- orders -----------------------------------------------------------------------------------------------------

    def order(self, give: Give, said: str = "", *, destroys: bool = False, session: Session[Any] | None = None) -> None:
        """Give an order to a session's lab, by default the current one, without waiting for it.

        ``said`` is shown when it is done; a refusal is shown with its reason.
        """
        if destroys and self.refused_readonly():
            return
        answer = (session or self.session).order(give)
        self.when_done(answer, lambda: self._answered(answer, said))

    def _answered(self, answer: Future[object], said: str) -> None:
        try:
            came: object = answer.result()
        except Refused as refusal:
            self.say(str(refusal), "bad")
        else:
            if said := clean(came, 300) if said and isinstance(came, str) and came else said:
                self.say(said, "good")

    def refused_readonly(self) -> bool:
        """Whether the console is read-only; if so, a notice says it."""
        readonly: bool = self.lab.readonly
        if readonly:
            self.say("refused: this console is read-only (--readonly)", "bad")
        return readonly

    def ask_first(self, question: Confirm, give: Give, said: str) -> None:
        """Ask, then give the order to the lab that was asked about, even if another is shown by then."""
        if self.refused_readonly():
            return
        session = self.session

        def answered(yes: bool | None) -> None:
            if yes:
                self.order(give, said, session=session)

        self.push_screen(question, answered)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the main screen are offered on others only if it has them."""
        if action == "on_main":
            return hasattr(self.main, f"action_{parameters[0]}")
        return super().check_action(action, parameters)

    def action_on_main(self, action: str) -> None:
        """Do on the main screen what one of its keys does there."""
        getattr(self.main, f"action_{action}")()

    # ---- what is typed ----------------------------------------------------------------------------------------------

    def names_of(self, what: str) -> Sequence[str]:
        """What an argument of a command may be, by the word of its usage: ``WORKER`` → w1, w2, …"""
        match what:
            case "SYSTEM":
                return self.labs.names if self.labs is not None else ()
            case "[THEME]":
                return self._themes
            case "FAULT" | "[TARGET]" if self.session.mode == "sandbox":
                sandbox: Any = self.session
                faults = sandbox.faults()
                if what == "FAULT":
                    return [fault.name for fault in faults]
                return list(dict.fromkeys(name for fault in faults for name in sandbox.targets(fault)))
        names: Sequence[str] = self.main.names_of(what) if hasattr(self.main, "names_of") else ()
        return names

    def entered(self, line: str) -> None:
        """Do what was typed."""
        self.remember(line)
        try:
            command = parse(line, self.words)
        except CommandError as error:
            self.say(str(error), "bad")
        else:
            self.main.perform(command)

    def perform(self, command: Command) -> None:
        """Perform a ``:`` command that is the same on every screen."""
        match command:
            case Command("system", str(name)):
                self.choose_system(name)
            case Command("attach", str(name)):
                self.attach(name)
            case Command("theme", str(name)):
                self.choose_theme(name)
            case Command("fault", str(line)):
                self.fault(line)
            case Command("trace", str(word)):
                self._trace(word)
            case Command("help", _):
                self.action_help()
            case Command("alerts", _):
                self.action_alerts()
            case Command("quit", _):
                self.action_ask_to_quit()
            case _:
                raise AssertionError(f"a word without a meaning: {command}")

    def _trace(self, word: str) -> None:
        """``on``: open the trace. ``off``: end one that goes on in the background."""
        session = self.session
        if word == "on":
            self.action_see("trace")
        elif word != "off":
            self.say("trace takes on or off", "bad")
        elif session.mode not in RUNNING or session.trace is None:
            self.say("nothing is traced in the background", "warn")
        else:
            trace, session.trace = session.trace, None
            self.order(lambda lab: lab.detach(trace), "tracing has ended; T begins it again")

    @property
    @abstractmethod
    def firing(self) -> int:
        """How many alerts fire."""

    @abstractmethod
    def action_alerts(self) -> None:
        """Open the alerts of all systems."""

    @abstractmethod
    def action_see(self, what: str) -> None:
        """Open trace, ladder, maps or conformance; replaces one of them that is open."""

    @abstractmethod
    def fault(self, line: str) -> None:
        """Inject a fault into the sandbox, after its promises are shown."""
