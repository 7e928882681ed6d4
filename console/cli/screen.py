"""The console: everything in this process, and a screen on it."""

from __future__ import annotations

import sys
from argparse import Namespace

from console.cli.common import OPTIONS, lab_of, settings_of
from console.cli.streams import result, tell
from engine.settings import Flag, Known, Paths, Wrong


def console(options: Namespace, flags: list[Flag]) -> int:
    """Open the screen; 2 where there is no terminal for it. Raises Wrong or Refused before anything is drawn."""
    if not on_terminal():
        tell("the console needs a terminal on stdin and stderr; without one, try: roundhouse bulkping 100")
        return 2

    from console.app import Console
    from console.keys import IDS
    from console.themes import find_themes, shipped_folder

    shelf = find_themes([shipped_folder(), Paths.of_user().themes])
    known = Known(OPTIONS, tuple(theme.name for theme in shelf.themes), tuple(sorted(IDS)))
    try:
        settings = settings_of(flags, known)
    except Wrong:
        for problem in shelf.problems:  # the theme that is missing may be one of these
            tell(problem)
        raise
    with lab_of(settings, bind=settings.bind, workers=settings.pool.workers, journal=options.journal) as lab:
        screen = Console(lab, settings)
        screen.run()
    if screen.summary:
        result(screen.summary + "\n")
    return 0 if screen.signal_received is None else 128 + screen.signal_received


def on_terminal() -> bool:
    """Textual reads keys from stdin and draws on stderr."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
