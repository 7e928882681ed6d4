"""What both sandbox screens share: the time bar, the ladder, the last step, the promises, and the choice of a fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import events
from textual.content import Content
from textual.strip import Strip

from console import units
from console.pictures.rows import short_name
from console.screens.confirm import Confirm
from console.screens.message import message_lines
from console.screens.page import Page
from console.screens.pick import Pick
from console.sessions.sandbox import SPEEDS, SandboxSession
from console.text import clean, fit
from console.widgets.ink import Panel, Parts, first_that_fits, spread, wrapped
from console.widgets.messages import LadderTable
from console.widgets.pager import Pager
from engine.errors import Refused
from engine.faults.watch import Plan, Verdict, Watch
from engine.parts.fault import Fault
from engine.tracing.links import Arrow, Entry

ARROWS = 400  # messages of the ladder, the newest
PLACES = frozenset({"stage", "queue"})  # fault targets that are not processes
WATCHED = 6  # faults whose promises are listed, the newest


class TimeBar(Panel):
    """One line: the speed of virtual time, how much has passed, messages and steps."""

    def __init__(self, session: SandboxSession, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session = session

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        session = self._session
        parts: Parts = [(" SANDBOX ", "accent bold reverse"), (" ", "text")]
        for place, speed in enumerate(SPEEDS):
            words = "paused" if not speed else "real time" if speed == 1 else f"×{speed:g}"
            parts.append((f" {words} ", "busy bold reverse" if place == session.speed else "label"))
        now: Parts = [(f"{session.lab.now:.6f} s", "text bold")]
        said, steps = f"  {units.several(session.trace.total, 'message')}", f"  step {units.count(session.steps)} "
        rights: list[Parts] = [[*now, (said + steps, "label")], [*now, (steps, "label")], now]
        return [self.line(first_that_fits((spread(parts, right, width) for right in rights), width), width)]


class VirtualTime:
    """The mixin of both sandbox screens: keys for time and faults, and the panels. List it before the other bases."""

    HINT: ClassVar[str] = "n steps to the next message · + lets time pass"
    session: SandboxSession
    app: Any

    def make_panels(self, session: SandboxSession, follow: bool = False) -> None:
        """Make the panels. ``follow``: of a long step, show the end."""
        self.session = session
        self.ladder = LadderTable(id="ladder")
        self.timebar = TimeBar(session, id="timebar")
        self.last = Pager(follow=follow, id="last")
        self.promises = Pager(id="promises")

    def on_mount(self) -> None:
        """Set the panels' titles."""
        self.ladder.border_title = Content("ladder")
        self.last.border_title = Content("last step")
        self.promises.border_title = Content("promises")

    def on_resize(self, event: events.Resize) -> None:
        """Draw what depends on the width again."""
        self.app.call_after_refresh(self.draw)

    def step_lines(self, entries: Sequence[Entry], width: int) -> list[Parts]:
        """The messages of one step, in lines of ``width`` cells."""
        return step_lines(entries, width)

    def arrows(self) -> list[Arrow]:
        """The newest messages, for the ladder."""
        return list(self.session.trace.arrows(limit=ARROWS))

    def draw(self) -> None:
        """Fill the panels."""
        session = self.session
        self.ladder.order = session.trace.lanes
        self.ladder.set_arrows(self.arrows(), 0.0)
        width = self.last.size.width - 2
        self.last.set_lines(self.step_lines(session.last(), width) or wrapped([], self.HINT, "label", width))
        screen: Any = self
        screen.set_class(bool(session.watches), "watching")
        lines, width = list[Parts](), self.promises.size.width - 2
        for watch in session.watches[: -WATCHED - 1 : -1]:
            lines += promise_lines(watch, width)
        self.promises.set_lines(lines or wrapped([], "f injects a fault; its promises are shown first", "label", width))

    # ---- time -------------------------------------------------------------------------------------------------------

    def action_step_message(self) -> None:
        """Step to the next message."""
        self._step(True)

    def action_step(self) -> None:
        """Step to the next event."""
        self._step(False)

    def _step(self, message: bool) -> None:
        if not self.session.step(message):
            self.app.say("nothing more will happen", "warn")
        self.app.tick()

    def action_speed(self, step: int) -> None:
        """Change the speed by so many steps."""
        self.session.speed = max(0, min(len(SPEEDS) - 1, self.session.speed + step))
        self.app.tick()

    # ---- faults -----------------------------------------------------------------------------------------------------

    def action_fault(self) -> None:
        """Ask for a fault, then for its target."""
        known = self.session.faults()
        choices = [(fault.name, f"{fit(fault.usage, 32)} {fault.does}") for fault in known]

        def chosen(name: str | None) -> None:
            if name is not None:
                self._aim(next(fault for fault in known if fault.name == name))

        self.app.push_screen(Pick("which fault?", choices), chosen)

    def _aim(self, fault: Fault) -> None:
        if not fault.targets:
            self.propose(fault.name)
            return
        there = [(name, clean(name)) for name in self.session.targets(fault)]
        if not there:
            self.app.say(f"{fault.name}: there is nobody that it can be done to", "warn")
            return

        def chosen(name: str | None) -> None:
            if name is not None:
                self.propose(f"{fault.name} {name}")

        self.app.push_screen(
            Pick(
                f"{fault.name}: {'whom' if fault.targets[0] not in PLACES else 'where'}?", there, self.likeliest(fault)
            ),
            chosen,
        )

    def propose(self, line: str) -> None:
        """Show what the protocol promises, and ask before the fault is injected."""
        try:
            fault = self.session.plan(line)
        except Refused as refusal:
            self.app.say(str(refusal), "bad")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._inject(fault)

        self.app.push_screen(fault_question(fault), answered)

    def _inject(self, fault: Plan) -> None:
        try:
            self.session.inject(fault)
        except Refused as refusal:
            self.app.say(str(refusal), "bad")
        else:
            self.app.say(f"{clean(fault.does)}", "warn")
        self.app.tick()

    def kill(self, name: str) -> None:
        """The fault of this name."""
        self.propose(f"kill {name}")

    def likeliest(self, fault: Fault) -> str:
        """The target to suggest, "" for none."""
        return ""

    def open_message(self) -> bool:
        """Open the selected message, if the ladder has the focus."""
        told = self.ladder.chosen() if self.ladder.has_focus else None
        if told is not None:
            self.app.open_screen(Page("message", message_lines(told.arrow, 0.0)))
        return told is not None


def fault_question(fault: Plan) -> Confirm:
    """The question before a fault is injected: what it does, and what the protocol promises."""
    promised = [f"○ {clean(promise.text)}" for promise in fault.promises]
    return Confirm(f"{clean(fault.does)}.", ["The protocol promises:", *promised], "Inject")


def step_lines(entries: Sequence[Entry], width: int) -> list[Parts]:
    """The messages of one step with the rules by number, in lines of ``width`` cells."""
    lines: list[Parts] = []
    for entry in entries:
        if entry.direction == "note":
            said = f"{short_name(entry.seat)}: {clean(dict(entry.fields)['text'])}"
            lines += wrapped([("· ", "label")], said, "label", width)
            continue
        verb = {"in": "takes", "out": "sends", "refused": "can not send"}[entry.direction]
        way, other = ("from", entry.source) if entry.direction == "in" else ("to", entry.target)
        parts: Parts = [("▶ " if entry.direction == "in" else "◀ ", "flow" if entry.direction == "in" else "back")]
        parts += [(f"{short_name(entry.seat)} {verb} ", "text"), (clean(entry.command), "text bold")]
        lines.append([*parts, (f" {way} {short_name(other)}", "text")])
        if entry.violation:
            lines += wrapped([("    × ", "bad bold")], clean(entry.violation), "bad", width)
        if entry.rule:
            lines += wrapped([("    rule ", "label")], clean(entry.rule), "accent", width)
    return lines


def promise_lines(watch: Watch, width: int) -> list[Parts]:
    """One fault and the state of each promise, in lines of ``width`` cells."""
    lines: list[Parts] = [[(clean(watch.plan.text), "accent bold"), (f"  {watch.elapsed:.3f} s ago", "label")]]
    for verdict in watch.results:
        lines += _verdict(verdict, width)
    return lines


def _verdict(verdict: Verdict, width: int) -> list[Parts]:
    promise, kept, after = verdict
    if kept is None:
        return wrapped([(" ○       ", "label")], f"{clean(promise.text)} · until {promise.within:g} s", "text", width)
    glyph, ink = ("✓", "good bold") if kept else ("×", "bad bold")
    return wrapped([(f" {glyph} {after or 0.0:5.2f}s ", ink)], clean(promise.text), "text" if kept else "bad", width)
