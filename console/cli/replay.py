"""A recording on the screen, or compared without one."""

from __future__ import annotations

from argparse import Namespace

from console.cli.screen import left, screen_settings, shows
from console.cli.streams import result, tell
from console.text import clean
from engine.catalogue import CATALOGUE
from engine.files.personal import readers
from engine.journal.read import read
from engine.labs.queuereplaylab import QueueReplayLab
from engine.labs.replaylab import ReplayLab
from engine.labs.timeline import Timeline
from engine.settings.settings import Flag
from engine.system import QueueSystem, System

RECORDINGS: dict[str, type[ReplayLab] | type[QueueReplayLab]] = {
    System.kind: ReplayLab,
    QueueSystem.kind: QueueReplayLab,
}
"""By the kind of the system that was recorded."""


def replay(options: Namespace, flags: list[Flag]) -> int:
    """Open a journal; 2 where it is none, and why is told. Raises Wrong.

    With ``--check`` no screen is opened: 1 where the cores of this version do something else than was recorded.
    """
    try:
        reading = read(options.file, CATALOGUE)
        lab = RECORDINGS[CATALOGUE[reading.about.system].kind](reading, CATALOGUE)
    except OSError as error:
        tell(f"{options.file}: {error.strerror or error}")
        return 2
    except (TypeError, ValueError, LookupError) as error:  # no journal, or one that this version can not read
        words = clean(str(error)) or type(error).__name__
        tell(words if words.startswith(str(options.file)) else f"{options.file}: {words}")
        return 2
    if lab.replay.cut:
        tell(f"{options.file}: {clean(lab.replay.cut)}; it opens as far as its last whole block")
    if who := readers(options.file):
        tell(f"{options.file}: {who}; it holds all that passed: chmod 600 makes it yours alone")
    if options.check:
        return check(lab)
    if not shows("a replay", "roundhouse replay --check FILE"):
        return 2

    from console.app import Console
    from console.kinds import session_of

    console = Console(None, session_of(lab.system.name, lab), screen_settings(flags))
    console.run()
    return left(console)


def check(lab: Timeline) -> int:
    """Tell what a recording holds, and whether the cores still do it."""
    machine = lab.replay
    result(
        f"{machine.system.name}: {lab.last:,} records in {lab.end - lab.started:.3f} s, "
        f"recorded with {clean(machine.about.version)}\n"
    )
    for found in machine.differences:
        result(f"differs at {found.at - lab.started:.6f} s: {clean(found.name)}\n")
    if lab.broken:
        result(f"ends at record {lab.last:,}: {clean(lab.broken)}\n")
    if machine.differences or lab.broken:
        return 1
    result("as recorded\n")
    return 0
