"""The screens that show the protocol, of whatever is on the screen: a system, a stage, a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.desks.stagedesk import StageDesk
from console.screens.machines import FRAME, Lines
from console.screens.messages import LadderScreen, Messages, TraceScreen
from console.text import clean
from engine.errors import Refused

if TYPE_CHECKING:
    from console.apps.brokers import Console
    from console.apps.queues import QueueConsole


def see(app: Console | QueueConsole, what: str) -> None:
    """Open a screen by its name: trace, ladder, maps or conformance. It takes the place of one that is open."""
    desk, before = app.desk, app.screen
    screen: Messages | Lines
    if what in ("trace", "ladder"):
        screen = (TraceScreen if what == "trace" else LadderScreen)(desk, app.history, desk.trace)
        if isinstance(before, Messages):
            screen.inherit(before)
    else:
        lines = desk.explained(what)
        title = "state maps" if what == "maps" else "conformance"
        heading = f"{title} · {clean(desk.lab.system.name)}"
        screen = Lines(heading, [], lambda picture: lines(picture, app.size.width - FRAME))
    if isinstance(before, Messages | Lines):
        before.dismiss()
    app.open_screen(screen)


def open_stage(app: Console) -> StageDesk | None:
    """The stage of the system on the screen; None where there can be none, and that is told."""
    desk = app.desk
    if isinstance(desk, StageDesk):
        return desk
    try:
        stage = StageDesk(desk.lab.system, desk.lab.options, app.history)
    except Refused as refusal:
        app.say(str(refusal), "bad")
        return None
    app.open_screen(stage.main)
    return stage


def fault(app: Console, line: str) -> None:
    """Inject a fault into the stage: first it is said what is promised.

    Where no stage is there yet one is opened, and its workers join.
    """
    stage = open_stage(app)
    if stage is not None:
        if not stage.stage.now:
            stage.settle()
        app.call_after_refresh(stage.main.propose, line)
