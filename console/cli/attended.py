"""A pipeline that is watched over here: its alerts, and the control socket at which others ask for its status."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from console.cli.common import audit_of, control_of
from console.cli.standing import standing
from engine.core import Note
from engine.drive.control.found import about
from engine.drive.control.place import NOWHERE, place_of_root
from engine.drive.control.server import listening
from engine.drive.pipeline import Pipeline
from engine.feed import Feed
from engine.labs.controlsession import ControlSession
from engine.labs.health import Health
from engine.labs.queueorders import Overseen
from engine.labs.queuestatus import of_pipeline
from engine.labs.watcher import Source, counted, disk_of
from engine.protocols.diskqueue import SYSTEM
from engine.settings.settings import Settings

ROLE = "pipeline"


@contextmanager
def attended(
    made: Pipeline, options: Namespace, settings: Settings, say: Callable[[Note], None], feed: Feed
) -> Iterator[None]:
    """Watch it and listen for others as long as this lasts. ``feed``: what its watchdog says."""
    at = control_of(options) or place_of_root(settings.paths.control, made.root)
    lab = Overseen(made, feed)
    lab.audit = audit_of(settings, place_of_root(settings.paths.control, made.root))
    told = about(SYSTEM.name, ROLE, (), made.root)
    with (
        standing(source_of(made, say)._replace(control=lambda: counted(lab)), settings, lab, options),
        closing(ControlSession(lab, ROLE)) as session,
        listening(say, None if at == NOWHERE else at, told, session.all_words) as lab.control,
    ):
        yield


def source_of(made: Pipeline, say: Callable[[Note], None]) -> Source:
    """What is asked for a status. Its watchdog is this process's main thread, so no dead thread is to be told of."""
    well = Health((), 0.0)
    seen = lambda _: of_pipeline(made.picture())  # noqa: E731 - one line as the others
    return Source(SYSTEM.name, ROLE, (made.root,), seen, lambda: well, tuple, say, lambda: disk_of(Path(made.root)))
