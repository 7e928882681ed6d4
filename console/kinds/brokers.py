"""Systems with a broker at the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from textual.screen import Screen

from console import keys, units
from console.commands import WORDS
from console.history import History
from console.pictures.bridge import Bridge, Picture, badge
from console.screens.listing import GROUPS, help_lines
from console.screens.machines import conformance_lines, map_lines
from console.screens.main import Main
from console.screens.replayed import HELP, Replayed
from console.screens.sandbox import SandboxScreen
from console.sessions.cost import metered_trace
from console.sessions.kind import Kind
from console.sessions.session import Session
from console.systems import view_of
from console.widgets.ink import Parts
from console.widgets.messages import TRACE
from console.widgets.runs import summary_of
from engine.faults import faults
from engine.labs.brokers import fallback
from engine.labs.sandbox import Sandbox
from engine.system import store_of

WORKERS, SLOTS = 3, 4  # of a sandbox
NAMED = 3  # workers that are named one by one
RESTED = 2.0  # seconds after a run of ours; before that, what the broker's picture shows may still be that run
MAINS = {"live": Main, "remote": Main, "sandbox": SandboxScreen, "replay": Replayed}


def _main(session: Any, history: History) -> Screen[Any]:
    view = view_of(session.lab.system.name)
    made: Callable[..., Screen[Any]] = MAINS[session.mode]
    return made(session, history, view)


def _sandbox(lab: Any) -> Sandbox:
    """Of a pair of brokers where the protocol knows pairs."""
    system, options = lab.system, lab.options
    if system.paired is not None and not store_of(system, options):
        options = system.paired(options, system.endpoint, fallback(system))
    sandbox = Sandbox(system, options, workers=WORKERS, slots=SLOTS)
    sandbox.attended = True
    return sandbox


def _offered(_: Session[Any]) -> Iterable[keys.Key]:
    return (key for key in keys.MAIN if key.id != "focus.next")


def _help(session: Session[Any], shown: dict[str, str]) -> list[Parts]:
    words = view_of(session.lab.system.name).among(WORDS)
    return help_lines(shown, HELP if session.mode == "replay" else GROUPS, words)


def _ink(session: Session[Any]) -> str:
    return badge(session.picture, False)[1] if session.picture is not None else "label"


def _explained(session: Session[Any], what: str) -> Callable[[Picture, int], list[Parts]]:
    explain = session.lab.system.explain
    lines = map_lines if what == "maps" else conformance_lines
    return lambda picture, width: lines(explain, picture, width)


def _summary(session: Session[Any]) -> str | None:
    """The lines of its last run."""
    client = session.lab.feed.picture("client")
    return summary_of(client.run) if client and client.run is not None else None


def depending(picture: Picture) -> list[str]:
    """What others have at this broker: their workers, and tasks that are not of a run of ours."""
    strangers = [row for row in picture.rows if row.worker.state != "lost" and picture.seat_of(row.worker.key) is None]
    lines = []
    if strangers:
        names = ", ".join(row.label for row in strangers[:NAMED]) + (", …" if len(strangers) > NAMED else "")
        lines.append(f"{units.several(len(strangers), 'worker')} of other processes: {names}")
    broker = picture.broker
    waits = broker is not None and bool(broker.backlog or broker.in_flight or picture.rates.sent)
    if broker is not None and waits and (lines or picture.rested > RESTED):
        held = f"{units.count(broker.in_flight)} with workers, {units.count(broker.backlog)} in the backlog"
        lines.append(f"tasks in the broker: {held}")
    return lines


def ending(picture: Picture) -> list[str]:
    """The same, and the run."""
    run = picture.run
    if run is None or run.state == "ended":
        return depending(picture)
    done = f"{units.count(run.ledger.succeeded)} of {units.count(run.spec.n)} done"
    return [f"the run bulk{run.spec.kind}: {done}", *depending(picture)]


def _of(lines: Callable[[Picture], list[str]]) -> Callable[[Session[Any]], list[str]]:
    def told(session: Session[Any]) -> list[str]:
        return lines(session.picture) if session.mode == "live" and session.picture is not None else []

    return told


KIND = Kind(
    bridge=Bridge,
    trace=metered_trace,
    faults=faults,
    columns=TRACE,
    sandbox=_sandbox,
    main=_main,
    offered=_offered,
    help=_help,
    ink=_ink,
    explained=_explained,
    summary=_summary,
    ends=_of(ending),
    depends=_of(depending),
    words=WORDS,
    tour_away="U lists who sends · v draws its protocol · E lists all events · ? all keys",
    tour_empty=":register starts a worker, :bulk ten · p then runs {pings} pings · ? all keys",
    tour="p runs {pings} pings · d {streams} streams · Z takes it apart · ? all keys",
)
