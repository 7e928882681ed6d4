"""Disk queues at the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from textual.screen import Screen

from console import keys, units
from console.commands import QUEUE_WORDS
from console.history import History
from console.pictures.queuebridge import QueueBridge, QueuePicture, badge
from console.screens.machines import finding_lines, machine_lines
from console.screens.pipeline import Pipelines
from console.screens.queuehelp import PIPELINE, help_lines
from console.screens.queuereplayed import HELP, OWN, ReplayedPipelines
from console.screens.queuesandbox import QueueSandboxScreen
from console.sessions.cost import metered_operations
from console.sessions.kind import Kind
from console.sessions.session import Session
from console.text import clean
from console.widgets.ink import Parts
from console.widgets.messages import OF_QUEUES
from console.widgets.queuelines import equation
from engine.faults import queuefaults
from engine.labs.queuesandbox import QueueSandbox
from engine.protocols.diskqueue.explain import state_maps
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.queueviolations import findings

ROOM = 6  # documents in a queue of a sandbox above which drivers wait: so few that it is seen
MAINS = {"live": Pipelines, "remote": Pipelines, "sandbox": QueueSandboxScreen, "replay": ReplayedPipelines}


def _main(session: Any, history: History) -> Screen[Any]:
    made: Callable[..., Screen[Any]] = MAINS[session.mode]
    return made(session)


def _offered(session: Session[Any]) -> Iterable[keys.Key]:
    own = OWN if session.mode == "replay" else keys.QUEUES
    return (key for key in own if key.id != "focus.next")


def _help(session: Session[Any], shown: dict[str, str]) -> list[Parts]:
    return help_lines(shown, HELP if session.mode == "replay" else PIPELINE)


def _ink(session: Session[Any]) -> str:
    return badge(session.picture, False)[1] if session.picture is not None else "label"


def _explained(session: Session[Any], what: str) -> Callable[[QueuePicture, int], list[Parts]]:
    if what == "maps":
        return lambda picture, width: machine_lines(state_maps(), lambda states: [picture.view], width)
    return accused_lines


def accused_lines(picture: QueuePicture, width: int) -> list[Parts]:
    """Who broke which rule of the queues, the newest first."""
    view = picture.view
    return finding_lines([(view.at, finding) for finding in reversed(findings(view.incidents))], width)


def _summary(session: Session[Any]) -> str | None:
    """The ledger as it was seen last."""
    return "".join(text for text, _ in equation(session.picture)) if session.picture is not None else None


def _ends(session: Session[Any]) -> list[str]:
    """Drivers of a pipeline that is more than a demonstration, whose documents nobody needs."""
    picture = session.picture
    if session.mode != "live" or picture is None or session.lab.demonstration or session.lab.watches:
        return []
    if not picture.view.drivers:
        return []
    working = picture.books.working
    held = f"; {units.several(working, 'document')} in their hands" if working else ""
    return [f"{units.several(len(picture.view.drivers), 'driver')} of {clean(session.lab.root)}{held}"]


KIND = Kind(
    bridge=QueueBridge,
    trace=metered_operations,
    faults=queuefaults,
    columns=OF_QUEUES,
    sandbox=lambda lab: QueueSandbox(options=replace(lab.options or Options(), max_files=ROOM)),
    main=_main,
    offered=_offered,
    help=_help,
    ink=_ink,
    explained=_explained,
    summary=_summary,
    ends=_ends,
    depends=_ends,
    words=QUEUE_WORDS,
    tour_away="E lists all events · A lists what runs on this machine · ? all keys",
    tour_empty="p feeds twenty documents · Z takes it apart · ? all keys",
    tour="p feeds twenty documents · Z takes it apart · ? all keys",
)
