"""The console: everything in this process, and a screen on it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from console.cli.common import KNOWN, lab_of, settings_of
from console.cli.streams import result, tell
from engine.catalogue import SYSTEMS
from engine.settings import Flag, Paths, Problem, Settings, Wrong

if TYPE_CHECKING:
    from console.shell import Shell
    from engine.lab import Lab


def console(options: Namespace, flags: list[Flag]) -> int:
    """Open the screen; 2 where there is no terminal for it. Raises Wrong or Refused before anything is drawn."""
    if not on_terminal():
        tell("the console needs a terminal on stdin and stderr; without one, try: roundhouse bulkping 100")
        return 2
    settings = screen_settings(flags)
    if settings.system in SYSTEMS:
        screen = run_broker(options, settings, lambda name: settings_of([*flags, Flag(("system",), "--system", name)]))
    else:
        screen = run_queues(options, settings)
    return left(screen)


def left(screen: Shell) -> int:
    """What there is to say after the screen is restored, and the exit status."""
    if screen.summary:
        result(screen.summary + "\n")
    return 0 if screen.signal_received is None else 128 + screen.signal_received


def screen_settings(flags: list[Flag]) -> Settings:
    """The settings of a screen, whose themes and keys are judged as well. Raises Wrong."""
    from console.keys import IDS
    from console.themes import find_themes, shipped_folder

    shelf = find_themes([shipped_folder(), Paths.of_user().themes])
    known = KNOWN._replace(themes=tuple(theme.name for theme in shelf.themes), keys=tuple(sorted(IDS)))
    try:
        return settings_of(flags, known)
    except Wrong:
        for problem in shelf.problems:  # the theme that is missing may be one of these
            tell(problem)
        raise


def run_broker(options: Namespace, settings: Settings, of: Callable[[str], Settings]) -> Shell:
    """The console of the systems with a broker, to its end. ``of``: the settings where another system is asked for."""
    from console.app import Console
    from engine.house import House

    if options.root:
        raise Wrong([Problem("--root", f"{settings.system} has no queues; add --system diskqueue")])

    def make(name: str) -> Lab:
        theirs = of(name)
        journal = options.journal if name == settings.system else None
        return lab_of(theirs, bind=theirs.bind, workers=theirs.pool.workers, journal=journal, pair=True)

    with House(tuple(SYSTEMS), make) as house:
        house.open(settings.system).result()
        screen = Console(house, settings.system, settings)
        screen.run()
    return screen


def run_queues(options: Namespace, settings: Settings) -> Shell:
    """The console of disk queues, to its end: of the pipeline in ``--root``, or a demonstration."""
    from console.queueapp import QueueConsole
    from engine.queuelab import QueueLab

    if options.journal:
        raise Wrong([Problem("--journal", f"{settings.system} has nothing that could be recorded")])
    with QueueLab(settings.options[settings.system], options.root or "", readonly=settings.readonly) as lab:
        screen = QueueConsole(lab, settings)
        screen.run()
    return screen


def on_terminal() -> bool:
    """Textual reads keys from stdin and draws on stderr."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
