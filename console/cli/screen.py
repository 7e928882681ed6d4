"""The console: everything in this process, and a screen on it."""

from __future__ import annotations

import codecs
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.cli.common import around_of, audit_of, configured, control_of, known, lab_of, settings_of
from console.cli.queuearguments import trusted
from console.cli.storearguments import STORE
from console.cli.streams import result, tell
from engine.catalogue import CATALOGUE, QUEUES, STORED
from engine.drive.control.place import place_of_root
from engine.labs.lab import Lab
from engine.parts.store import SQLITE
from engine.settings.paths import Paths
from engine.settings.settings import Flag, Settings
from engine.settings.tomlfile import Problem, Wrong
from engine.system import QueueSystem, System

if TYPE_CHECKING:
    from console.app import Console
    from engine.labs.attaching import Around


def console(options: Namespace, flags: list[Flag]) -> int:
    """Open the screen; 2 where there is no terminal for it. Raises Wrong or Refused before anything is drawn."""
    settings = settings_of(flags)
    if options.root and CATALOGUE[settings.system].kind != QueueSystem.kind:
        raise Wrong([Problem("--root", f"{settings.system} has no queues; add --system {' or '.join(QUEUES)}")])
    if getattr(options, "own", None) and CATALOGUE[settings.system].kind == QueueSystem.kind:
        raise Wrong([Problem("--bind", f"{settings.system} has no broker")])
    if not shows("the console", "roundhouse bulkping 100"):
        return 2
    settings = screen_settings(flags)
    if getattr(options, "color", "auto") == "never":
        os.environ["NO_COLOR"] = "1"  # as Textual takes it
    return left(
        *run(settings, tuple(CATALOGUE), maker(options, settings.system, flags), settings.system, around_of(settings))
    )


def maker(options: Namespace, first: str, flags: list[Flag]) -> Callable[[str], Lab]:
    """What makes the lab of a system, each with the settings of its own.

    ``--durable`` is for all that have a store; ``--backlog``, ``--bind`` and a journal are for the first alone.
    """

    own = getattr(options, "own", None)

    def make(name: str) -> Lab:
        usual = name in STORED  # which has a file of its own, where no path is named: one file is for one system
        own_flags = [flag for flag in flags if name == first or flag.place != STORE or (usual and flag.text == SQLITE)]
        settings = settings_of([*own_flags, Flag(("system",), "--system", name)])
        if own and name == first:
            settings = replace(settings, bind=(own,))
        return LIVE[CATALOGUE[name].kind](settings, options, options.journal if name == first else None)

    return make


def of_brokers(settings: Settings, options: Namespace, journal: Path | None) -> Lab:
    """A broker, its workers and a client."""
    workers, readonly = settings.pool.workers, settings.readonly
    return lab_of(
        settings,
        bind=settings.bind,
        workers=workers,
        journal=journal,
        pair=True,
        readonly=readonly,
        role="console",
        listens=control_of(options),
        later=True,
    )


def of_queues(settings: Settings, options: Namespace, journal: Path | None) -> Lab:
    """A pipeline that exists, or the demonstration."""
    from engine.labs.queues import LiveQueueLab

    given, trust = settings.options[settings.system], trusted(options)
    lab = LiveQueueLab(
        given,
        options.root or "",
        readonly=settings.readonly,
        journal=journal,
        trust=trust,
        control=settings.paths.control,
        listens=control_of(options),
    )
    lab.audit = audit_of(settings, place_of_root(settings.paths.control, options.root or ""))
    return lab


LIVE = {System.kind: of_brokers, QueueSystem.kind: of_queues}
"""By the kind of a system: what makes a lab that runs."""


def run(
    settings: Settings, names: Sequence[str], make: Callable[[str], Any], name: str, around: Around
) -> tuple[Console, list[str]]:
    """The console on the lab of this name; the others of ``names`` are opened when the operator goes to them.

    ``around``: who else can be attached to. The console, and what could not be kept, in words.
    """
    from console.app import Console
    from console.kinds import session_of
    from engine.alerts.rules import read_rules
    from engine.labs.manager import LabManager

    rules = read_rules(settings.paths.alerts, optional=True)
    with LabManager(names, make) as labs:
        with configured(settings):
            lab = labs.open(name).result()
        console = Console(labs, session_of(name, lab, partial(labs.order, name)), settings, around, rules=rules)
        console.first_run = not console.history.begun
        console.empty = not settings.pool.workers and not settings.pools
        console.run()
        ran = labs.running.values()
    return console, [words for lab in ran for words in lab.unkept]


def left(console: Console, unkept: Sequence[str] = ()) -> int:
    """Print what there is to say after the screen is restored; the exit status.

    ``unkept``: what could not be written to the disk.
    """
    if console.summary:
        result(console.summary + "\n")
    for words in unkept:
        tell(words)
    return (1 if unkept else 0) if console.signal_received is None else 128 + console.signal_received


def screen_settings(flags: list[Flag]) -> Settings:
    """The settings of a screen, whose themes and keys are judged as well. Raises Wrong."""
    from console.keys import IDS, OLD_IDS
    from console.themes import find_themes, shipped_folder

    shelf = find_themes([shipped_folder(), Paths.of_user().themes])
    judged = known()._replace(
        themes=tuple(theme.name for theme in shelf.themes), keys=tuple(sorted(IDS | OLD_IDS.keys()))
    )
    try:
        return settings_of(flags, judged)
    except Wrong:
        for problem in shelf.problems:  # the theme that is missing may be one of these
            tell(problem)
        raise


def shows(what: str, instead: str) -> bool:
    """Whether this terminal can show a screen; where not, why is told, and what can be done ``instead``."""
    if not on_terminal():
        tell(f"{what} needs a terminal on stdin and stderr; without one, try: {instead}")
        return False
    encoding = sys.stderr.encoding
    if codecs.lookup(encoding).name.startswith("utf"):
        return True
    tell(f"{what} draws characters that {encoding} lacks; set LC_ALL=C.UTF-8, or without a screen try: {instead}")
    return False


def on_terminal() -> bool:
    """Textual reads keys from stdin and draws on stderr."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
