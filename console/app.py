"""The console: one application for all systems, for what runs, for sandboxes and for recordings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any

from textual.app import SystemCommand
from textual.screen import Screen

from console import keys
from console.commands import Word
from console.guards import Guards, notification
from console.history import History
from console.host import Host
from console.kinds import session_of
from console.pictures.bridge import Labs, Settings
from console.screens.alerts import Alerts
from console.screens.allevents import AllEvents
from console.screens.machines import FRAME, Lines
from console.screens.messages import LadderScreen, Messages, TraceScreen
from console.sessions.session import Session
from console.systems import view_of
from console.text import clean
from console.widgets.ink import Parts
from engine.alerts.rules import Rules
from engine.drive.control.found import Found
from engine.errors import Refused
from engine.labs.attaching import Around


class Console(Host):
    """Knows which screens belong to which kind of session (``console.kinds``)."""

    def __init__(
        self,
        labs: Labs | None,
        first: Session[Any],
        settings: Settings,
        around: Around | None = None,
        clock: Callable[[], float] = time.monotonic,
        rules: Rules | None = None,
    ) -> None:
        """``labs``: as in ``Host``. ``first``: the session that is on the screen at the start. ``around``: as there.

        ``rules``: of alerts; None for no alert.
        """
        history = History(settings.state_folder / "history")
        super().__init__(labs, first, settings, history, first.kind.main(first, history), clock)
        self.around = around
        self.guards = Guards(rules or Rules(()), settings.state_folder)
        self.guards.begin(first, self.clock(), self.wall())

    def made(self, name: str, lab: Any) -> tuple[Session[Any], Screen[Any]]:
        """The session of a lab, and its main screen."""
        assert self.labs is not None
        session = session_of(name, lab, partial(self.labs.order, name))
        self._fill(session)
        self.guards.begin(session, self.clock(), self.wall())
        return session, session.kind.main(session, self.history)

    def look(self) -> Any:
        """The current picture; what fires is said, and told to the terminal if that is wanted."""
        picture = super().look()
        for change in self.guards.look(list(self.sessions.values()), self.clock()):
            self.say(f"alert {change.text}", "bad" if change.rule.severity == "critical" else "warn")
            if self.guards.loud and self._driver is not None:
                self._driver.write(notification(change))
        return picture

    def ink_of(self, session: Session[Any]) -> str:
        """The colour of a session's state."""
        return session.kind.ink(session)

    @property
    def words(self) -> tuple[Word, ...]:
        """The commands that can be typed."""
        return view_of(self.lab.system.name).among(self.session.kind.words)

    def depends_on(self, session: Session[Any]) -> list[str]:
        """Who or what of others depends on this process, one line each."""
        return session.kind.depends(session)

    def ends_with(self, session: Session[Any]) -> list[str]:
        """What ends with the console, one line each; [] if quitting costs nothing."""
        return session.kind.ends(session)

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        """The help: all keys and commands."""
        return self.session.kind.help(self._session, shown)

    def offered(self) -> Iterable[keys.Key]:
        """Keys of the main screen whose actions the palette offers."""
        return self.session.kind.offered(self._session)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every key's action in the palette."""
        yield from super().get_system_commands(screen)
        names = self.labs.names if self.labs is not None else ()
        for name, key in zip(names, keys.SYSTEM, strict=False):
            yield SystemCommand(self.titled(f"system {name}", key), key.help, partial(self.run_action, key.action))

    def on_unmount(self) -> None:
        """Collect the summary for the terminal."""
        self.guards.close()
        said = {name: session.kind.summary(session) for name, session in self.sessions.items()}
        told = {name: lines for name, lines in said.items() if lines}
        several = len(told) > 1
        self.summary = "\n".join(f"{name}: {lines}" if several else lines for name, lines in told.items()) or None

    def on_mount(self) -> None:
        """As every console; then see who has the port that this broker would have had."""
        super().on_mount()
        self.offer()
        first = self.session
        self.call_after_refresh(lambda: self._fill(first))

    def _fill(self, session: Session[Any]) -> None:
        """Start what its lab has left for later; the first of all draws without waiting for thousands of workers."""
        self.order(lambda lab: lab.fill(), session=session)

    def offer(self) -> None:
        """Say who has the usual port of this broker, where that is another process of ours."""
        lab, around = self.lab, self.around
        usual = getattr(lab.system, "endpoint", "")
        if around is not None and lab.mode == "live" and usual and usual not in lab.endpoints:
            search = around.search()
            self.when_done(search, lambda: self._offer(usual, search))

    def _offer(self, usual: str, search: Future[list[Found]]) -> None:
        found = [] if search.exception() is not None else search.result()
        for one in found:
            if usual in one.endpoints:
                self.say(f"{usual} has a {one.system} {one.role}, process {one.pid} · A attaches to it", "warn")

    # ---- screens ----------------------------------------------------------------------------------------------------

    def action_see(self, what: str) -> None:
        """Open trace, ladder, maps or conformance; replaces one of them that is open."""
        session, before = self.session, self.screen
        screen: Messages | Lines
        if what in ("trace", "ladder"):
            made = partial(TraceScreen, columns=session.kind.columns) if what == "trace" else LadderScreen
            screen = made(session, self.history)
        else:
            lines = session.kind.explained(session, what)
            title = "state maps" if what == "maps" else "conformance"
            heading = f"{title} · {clean(session.lab.system.name)}"
            screen = Lines(heading, [], lambda picture: lines(picture, self.size.width - FRAME))
        if isinstance(before, Messages | Lines):
            before.dismiss()
        self.open_screen(screen)

    @property
    def firing(self) -> int:
        """How many alerts fire, in all systems."""
        return self.guards.firing()

    def action_alerts(self) -> None:
        """Open the alerts of all systems."""
        if not isinstance(self.screen, Alerts):
            self.open_screen(Alerts(self.guards))

    def action_events(self) -> None:
        """Open all events."""
        if not isinstance(self.screen, AllEvents):
            self.open_screen(AllEvents(self.history, self.main.name_of))

    def action_sandbox(self) -> None:
        """Open a sandbox of the system."""
        self.open_sandbox()

    def open_sandbox(self) -> Any:
        """The sandbox's main screen, opened if needed; None if it can not be opened, with the reason shown."""
        session = self.session
        if session.mode == "sandbox":
            return self.main
        kind = session.kind
        try:
            sandbox = session_of(session.name, kind.sandbox(session.lab))
        except Refused as refusal:
            self.say(str(refusal), "bad")
            return None
        screen = kind.main(sandbox, self.history)
        self.open_screen(screen)
        return screen

    def fault(self, line: str) -> None:
        """Inject a fault into the sandbox, after its promises are shown.

        A sandbox is opened first if there is none, and its workers join.
        """
        screen = self.open_sandbox()
        if screen is not None:
            if not screen.session.lab.now:
                screen.session.lab.settle()
            self.call_after_refresh(screen.propose, line)
