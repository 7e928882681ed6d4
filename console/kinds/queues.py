"""Disk queues at the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from textual.screen import Screen

from console import keys, units
from console.commands import QUEUE_WORDS
from console.history import History
from console.kinds.kind import Kind
from console.pictures.queuebridge import QueuePicture, badge
from console.screens.machines import finding_lines, machine_lines
from console.screens.pipeline import Pipelines
from console.screens.queuehelp import PIPELINE, help_lines
from console.screens.queuereplayed import HELP, OWN, ReplayedPipelines
from console.screens.queuesandbox import QueueSandboxScreen
from console.sessions.queues import QueueSession
from console.sessions.replay import QueueReplay
from console.sessions.sandbox import QueueSandboxSession
from console.sessions.session import Session
from console.text import clean
from console.widgets.ink import Parts
from console.widgets.queuelines import equation
from engine.protocols.diskqueue.conduct import findings
from engine.protocols.diskqueue.explain import state_maps

MAINS = {"live": Pipelines, "sandbox": QueueSandboxScreen, "replay": ReplayedPipelines}


def _main(session: Any, history: History) -> Screen[Any]:
    made: Callable[..., Screen[Any]] = MAINS[session.mode]
    return made(session)


def _offered(session: Session) -> Iterable[keys.Key]:
    own = OWN if session.mode == "replay" else keys.QUEUES
    return (key for key in own if key.id != "focus.next")


def _help(session: Session, shown: dict[str, str]) -> list[Parts]:
    return help_lines(shown, HELP if session.mode == "replay" else PIPELINE)


def _ink(session: QueueSession) -> str:
    return badge(session.picture, False)[1] if session.picture is not None else "label"


def _explained(session: QueueSession, what: str) -> Callable[[QueuePicture, int], list[Parts]]:
    if what == "maps":
        return lambda picture, width: machine_lines(state_maps(), lambda states: [picture.view], width)
    return accused_lines


def accused_lines(picture: QueuePicture, width: int) -> list[Parts]:
    """Who broke which rule of the queues, the newest first."""
    view = picture.view
    return finding_lines([(view.at, finding) for finding in reversed(findings(view.incidents))], width)


def _summary(session: QueueSession) -> str | None:
    """The ledger as it was seen last."""
    return "".join(text for text, _ in equation(session.picture)) if session.picture is not None else None


def _ends(session: QueueSession) -> list[str]:
    """Drivers of a pipeline that is more than a demonstration, whose documents nobody needs."""
    picture = session.picture
    if session.mode != "live" or picture is None or session.lab.demonstration or not picture.view.drivers:
        return []
    working = picture.books.working
    held = f"; {units.several(working, 'document')} in their hands" if working else ""
    return [f"{units.several(len(picture.view.drivers), 'driver')} of {clean(session.lab.root)}{held}"]


KIND = Kind(
    session=QueueSession,
    sandbox=lambda lab: QueueSandboxSession(lab.options),
    replay=QueueReplay,
    main=_main,
    offered=_offered,
    help=_help,
    ink=_ink,
    explained=_explained,
    summary=_summary,
    ends=_ends,
    depends=_ends,
    words=QUEUE_WORDS,
)
