"""The command ``attach``: what runs on this machine, and the console on one of them."""

from __future__ import annotations

from argparse import Namespace

from console.cli.common import around_of, settings_of
from console.cli.screen import left, run, screen_settings, shows
from console.cli.streams import result, tell
from console.text import clean
from engine.settings.settings import Flag


def attach(options: Namespace, flags: list[Flag]) -> int:
    """Attach to what is named, or to the only one that runs; 2 where it is none, and what there is, is listed.

    Raises Refused.
    """
    around = around_of(settings_of(flags))
    if options.name:
        found = around.named(options.name)
    else:
        there = around.found()
        if len(there) != 1 or options.list:
            result("".join(f"{clean(one.words)}\n" for one in there))
            if not options.list:
                tell(f"{len(there)} can be attached to: name one" if there else "nothing runs here to attach to")
            return 0 if options.list else 2
        found = there[0]
    if not shows("what is attached", "roundhouse attach --list"):
        return 2
    return left(*run(screen_settings(flags), (found.name,), lambda name: around.lab(found), found.name, around))
