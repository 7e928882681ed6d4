"""The console: everything in this process, and a screen on it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from console.cli.common import KNOWN, lab_of, settings_of
from console.cli.queuearguments import trusted
from console.cli.streams import result, tell
from engine.catalogue import CATALOGUE, SYSTEMS
from engine.settings import Flag, Paths, Problem, Settings, Wrong

if TYPE_CHECKING:
    from console.apps.shell import Shell
    from engine.lab.lab import Lab
    from engine.lab.queuelab import QueueLab


def console(options: Namespace, flags: list[Flag]) -> int:
    """Open the screen; 2 where there is no terminal for it. Raises Wrong or Refused before anything is drawn."""
    settings = settings_of(flags)
    queues = settings.system not in SYSTEMS
    if options.root and not queues:
        raise Wrong([Problem("--root", f"{settings.system} has no queues; add --system diskqueue")])
    if not on_terminal():
        tell("the console needs a terminal on stdin and stderr; without one, try: roundhouse bulkping 100")
        return 2
    settings = screen_settings(flags)
    return left(*run(settings, maker(options, settings.system, flags)))


def maker(options: Namespace, first: str, flags: list[Flag]) -> Callable[[str], Any]:
    """What makes the lab of a system, each with the settings of its own; a journal is that of the first."""

    def make(name: str) -> Lab | QueueLab:
        settings = settings_of([*flags, Flag(("system",), "--system", name)])
        journal = options.journal if name == first else None
        if name not in SYSTEMS:
            from engine.lab.queuelab import QueueLab

            return QueueLab(
                settings.options[name],
                options.root or "",
                readonly=settings.readonly,
                journal=journal,
                trust=trusted(options),
            )
        return lab_of(settings, bind=settings.bind, workers=settings.pool.workers, journal=journal, pair=True)

    return make


def run(settings: Settings, make: Callable[[str], Any]) -> tuple[list[Shell], list[str]]:
    """The console of the system that was asked for; then, where the operator goes to one of another kind, that one's.

    Every lab stays open until the end. The consoles that there were, the last one last; and what could not be kept.
    """
    from console.apps.brokers import Console
    from console.apps.queues import QueueConsole
    from engine.lab.house import House

    screens: list[Shell] = []
    name: str | None = settings.system
    with House(tuple(CATALOGUE), make) as house:
        house.open(settings.system).result()
        while name is not None:
            broker = name in SYSTEMS
            lab = house.running[name]
            screen: Shell = Console(house, name, settings) if broker else QueueConsole(lab, settings, house=house)
            screens.append(screen)
            screen.run()
            name = screen.bound_for
        labs = house.running.values()
    return screens, [words for lab in labs for words in lab.unkept]


def left(screens: Sequence[Shell], unkept: Sequence[str] = ()) -> int:
    """What there is to say after the screen is restored, and the exit status. Of each kind the last one speaks.

    ``unkept``: what could not be written to the disk.
    """
    said = {type(screen): screen.summary for screen in screens}
    for summary in filter(None, said.values()):
        result(summary + "\n")
    for words in unkept:
        tell(words)
    signal = screens[-1].signal_received
    return (1 if unkept else 0) if signal is None else 128 + signal


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


def on_terminal() -> bool:
    """Textual reads keys from stdin and draws on stderr."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
