"""Every order of events of a small scene, walked while one looks on: states by depth, what is wrong, what was covered.

The rules of this file:

- The walk has a thread of its own. The screen only reads how far it is. Leaving the screen ends the thread and
  waits for its end.
- Only a report says that the scene held. A walk that ended without one broke off, and why is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any, ClassVar, get_args

from textual.binding import BindingType

from console import keys, units
from console.pictures.course import drawn
from console.screens.machines import FRAME, walked_lines
from console.screens.page import Page
from console.screens.pick import Pick
from console.text import clean, fit
from console.widgets.ink import EIGHTHS, Parts, joined, values, wrapped
from engine.sim.explore.coverage import Rows
from engine.sim.explore.report import Found, Report, explore
from engine.sim.explore.scene import Bounds, Fault, Scene
from engine.sim.explore.walk import Progress
from engine.system import System

WORKERS, CLIENTS, TASKS = 2, 1, 2
BOUNDS = Bounds(states=200_000, seconds=60.0)
FIRST: Fault = "kill"  # the fault, until the operator chooses another
ROWS = 6  # lines of the chart
DOES: dict[str, str] = {
    "lose": "a message is lost",
    "duplicate": "a message comes twice",
    "spoil": "a frame is cut in half, or one bit of it is wrong",
    "kill": "a worker, or a broker of a pair, ends; some of what it sent last is lost",
    "restart": "a worker or the broker ends, and a new one takes its place",
    "freeze": "a worker or the broker stops for a while",
    "cut": "nothing passes between a worker or client and its broker for a while",
    "clock": "the clock of a worker or of the broker jumps ahead",
    "leave": "an operator lets a worker leave",
    "drain": "an operator lets the broker drain a worker",
}


def scene_of(system: System, options: Any, faults: tuple[Fault, ...]) -> Scene:
    """The scene that is walked: with these options, and with two brokers where they name a fallback."""
    return Scene(
        system,
        options=options,
        workers=WORKERS,
        clients=CLIENTS,
        tasks=TASKS,
        pair=bool(system.fallback(options)),
        faults=faults,
        bounds=BOUNDS,
    )


class Exploration:
    """A walk on a thread of its own. ``report`` and ``broke`` are final once ``ended`` is true."""

    def __init__(self, scene: Scene, clock: Callable[[], float]) -> None:
        """``clock``: seconds, of any beginning; it is asked on both threads."""
        self.scene = scene
        self.progress = Progress(0, 0, 0, 0)
        self.report: Report | None = None
        self.broke = ""  # the exception that ended it, in words
        self.ended = False
        self._clock, self._began, self._took = clock, clock(), 0.0
        self._stop = Event()
        self._thread = Thread(target=self._run, name="roundhouse-explore", daemon=True)
        self._thread.start()

    @property
    def elapsed(self) -> float:
        """Seconds that it has walked."""
        return self._took if self.ended else self._clock() - self._began

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def close(self) -> None:
        """Stop it, and wait for its end."""
        self._stop.set()
        self.join()

    def _run(self) -> None:
        try:
            report = explore(self.scene, self._clock, self._told)
            self.progress = report.progress
            self.report = report
        except BaseException as error:
            self.broke = f"{type(error).__name__}: {error}"
        finally:
            self._took = self._clock() - self._began
            self.ended = True

    def _told(self, progress: Progress) -> str:
        self.progress = progress
        return "the operator" if self._stop.is_set() else ""


class Explored(Page):
    """The screen of a walk. It begins when the screen is opened, and ends with it."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.EXPLORED)]
    app: Any

    def __init__(self, system: System, options: Any) -> None:
        super().__init__(f"explore · {clean(system.name)}", [])
        self._system, self._options = system, options
        self._faults: tuple[Fault, ...] = (FIRST,)
        self._shown: tuple[object, ...] = ()
        self._reports: dict[tuple[Fault, ...], Report] = {}  # the newest of each kind of fault
        self.exploration: Exploration | None = None

    def on_mount(self) -> None:
        """Begin to walk."""
        super().on_mount()
        self._begin()

    def on_unmount(self) -> None:
        """Leave no thread behind."""
        if self.exploration is not None:
            self.exploration.close()

    def show(self, picture: object) -> None:
        """Show how far the walk is."""
        walk = self.exploration
        if walk is None:
            return
        if walk.ended and walk.report is not None:
            self._reports[walk.scene.faults] = walk.report
        width = self.size.width - FRAME
        shown = (walk, walk.ended, width)
        if not walk.ended or shown != self._shown:
            self._shown = shown
            self._pager.set_lines(walk_lines(walk, width))

    def action_fault(self) -> None:
        """Ask for a fault, and walk anew."""
        choices = [("", f"{fit('nothing', 10)} nothing goes wrong")]
        choices += [(kind, f"{fit(kind, 10)} {DOES[kind]}") for kind in get_args(Fault)]

        def chosen(name: str | None) -> None:
            if name is not None:
                self._faults = tuple(kind for kind in get_args(Fault) if kind == name)
                self._begin()

        self.app.push_screen(Pick("what goes wrong, once, at any moment?", choices, "".join(self._faults)), chosen)

    def action_maps(self) -> None:
        """Show which rows of the state machines the walks of this screen reached."""
        title = f"what was walked · {clean(self._system.name)}"
        self.app.push_screen(Page(title, self._map_lines(), lambda picture: self._map_lines()))

    def _map_lines(self) -> list[Parts]:
        walk, reports = self.exploration, self._reports
        if walk is not None and walk.ended and walk.report is not None:
            reports = {**reports, walk.scene.faults: walk.report}
        return coverage_lines(self._system, list(reports.values()), self.size.width - FRAME)

    def action_back(self) -> None:
        """End the walk, and go back."""
        if self.exploration is not None:
            self.exploration.close()
        super().action_back()

    def _begin(self) -> None:
        if self.exploration is not None:
            self.exploration.close()
        self.exploration = Exploration(scene_of(self._system, self._options, self._faults), self.app.clock)
        self._pager.scroll_to(y=0, animate=False, force=True)
        self.app.tick()


def walk_lines(walk: Exploration, width: int) -> list[Parts]:
    """All that is known of a walk, in lines of so many cells."""
    scene, report = walk.scene, walk.report if walk.ended else None
    found = report.found[0] if report is not None and report.found else None
    lines: list[Parts] = [_who(scene), _bounds(scene), []]
    lines += wrapped(*_verdict(walk, report), width)
    lines += [[], _figures(walk), []]
    lines += chart(walk.progress.layers, len(found.moves) if found is not None else -1, width)
    if found is not None:
        lines += [[], *_course(found), []]
        lines += [[(line, "text")] for line in drawn(scene, found.course.lines, width)]
    if report is not None:
        lines += [line for rows in report.coverage for line in _coverage(rows)]
    return lines


def coverage_lines(system: System, reports: Sequence[Report], width: int) -> list[Parts]:
    """The state machines, with what these walks reached, and the states in which something was found wrong."""
    if not reports:
        return [[("no walk has ended yet: what was reached is told at its end", "label")]]
    kinds = [", ".join(report.scene.faults) or "nothing" for report in reports]
    head: Parts = [("walked with  ", "label"), ("; ".join(kinds), "text")]
    wrong = [f"{kind}: {found.text}" for kind, report in zip(kinds, reports, strict=True) for found in report.found]
    ends = [end for report in reports for found in report.found for end in found.course.ends]
    lit = [line for text in wrong for line in wrapped([("× ", "bad bold")], clean(text), "bad", width)]
    maps = system.explain.state_maps()
    return [head, *lit, [], *walked_lines(maps, [report.coverage for report in reports], ends, width)]


def _verdict(walk: Exploration, report: Report | None) -> tuple[Parts, str, str]:
    """A word, what it means, and the ink of that."""
    if not walk.ended:
        return [("◌ ", "busy bold")], "walking: nothing is wrong so far · esc ends the walk and goes back", "text"
    if report is None:
        return [("× ", "bad bold")], f"the walk broke off: {clean(walk.broke) or 'no reason is known'}", "bad"
    if report.found:
        return [("× VIOLATED ", "bad bold")], clean(report.found[0].text), "bad"
    if report.complete:
        return [("✓ HELD ", "good bold")], "complete: every order of events within these bounds was walked", "text"
    return [("✓ HELD SO FAR ", "warn bold")], f"bounded: ended by {report.bound}; the rest was not walked", "warn"


def _who(scene: Scene) -> Parts:
    pair = "a pair of brokers, " if scene.pair else ""
    who = f"{pair}{units.several(scene.workers, 'worker')}, {units.several(scene.clients, 'client')}, "
    wrong = f"{', '.join(scene.faults)} once, at any moment" if scene.faults else "nothing"
    tasks = units.several(scene.tasks, "task")
    return [("scene   ", "label"), (f"{who}{tasks}", "text"), (" · goes wrong: ", "label"), (wrong, "accent")]


def _bounds(scene: Scene) -> Parts:
    bounds = scene.bounds
    words = f"{units.several(bounds.rounds, 'heartbeat round')}, {bounds.states:,} states, {bounds.seconds:g} s"
    return [("bounds  ", "label"), (words, "text")]


def _figures(walk: Exploration) -> Parts:
    progress, elapsed = walk.progress, walk.elapsed
    rate = progress.states / elapsed if elapsed > 0 else 0.0
    return values(
        [
            ("states", f"{progress.states:,}", "text bold"),
            ("transitions", f"{progress.transitions:,}", "text bold"),
            ("depth", f"{progress.depth:,}", "text bold"),
            ("states/s", f"{rate:,.0f}", "text"),
            ("seconds", f"{elapsed:.1f}", "text"),
        ]
    )


def chart(layers: Sequence[int], wrong: int, width: int) -> list[Parts]:
    """How many states there are at each depth, from 0 on, as columns; that of depth ``wrong`` is lit, -1 for none."""
    depths = max(len(layers), wrong + 1)
    if not any(layers) or width < 1:
        return []
    each = -(-depths // width)  # depths in one column
    columns = [sum(layers[at : at + each]) for at in range(0, depths, each)]
    most, lit = max(columns), wrong // each if wrong >= 0 else -1
    levels = [max(1, round(n / most * ROWS * 8)) if n or at == lit else 0 for at, n in enumerate(columns)]
    lines: list[Parts] = [[("states by depth", "label"), (f"  {most:,} in the highest column", "label")]]
    for row in range(ROWS):
        floor = (ROWS - 1 - row) * 8
        lines.append(
            joined(
                (EIGHTHS[min(8, max(0, level - floor))], "bad" if at == lit else "chart-ok")
                for at, level in enumerate(levels)
            )
        )
    lines.append(joined(("×", "bad bold") if at == lit else ("─", "label") for at in range(len(columns))))
    each_is = f", {each} in a column" if each > 1 else ""
    return [*lines, [(f"depth 0 to {depths - 1}{each_is}", "label")]]


def _course(found: Found) -> list[Parts]:
    """One of the shortest ways to what is wrong, on exact cores."""
    lines: list[Parts] = [[(f"after {units.several(len(found.moves), 'move')}, from where all had joined:", "bad")]]
    told = found.course.lines
    return [*lines, *([(f"  {clean(line)}", "text bold" if line[:2] == "! " else "label")] for line in told)]


def _coverage(rows: Rows) -> list[Parts]:
    """The rows of one state machine: those that were walked, and those that never were."""
    walked, never = rows.walked, rows.never
    head: Parts = [(clean(rows.title), "accent bold"), (f"  {len(walked)} of {len(walked) + len(never)} rows", "label")]
    lines: list[Parts] = [[], head]
    lines += [[("  ✓ ", "good"), (f"{clean(state)}: {clean(event)}", "text")] for state, event in walked]
    lines += [[("  · ", "faint"), (f"{clean(state)}: {clean(event)}  never", "label")] for state, event in never]
    return lines
