"""Paths as they are typed on the ``:`` line: read as a shell reads them, and completed."""

from __future__ import annotations

import glob
import os
import shlex
from itertools import islice

from console.text import clean

MOST = 1000  # entries of a folder that are looked at
FILE = "FILE"
"""The word for a path in a usage."""


def beginning_with(typed: str) -> list[str]:
    """The paths that begin so, folders with a slash; hidden ones only where a dot is typed, none that need quotes."""
    start = typed.rpartition("/")[2]
    folder = typed[: len(typed) - len(start)]
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as found:
            fits = (one for one in found if one.name.startswith(start) and (start or not one.name.startswith(".")))
            names = [one.name + ("/" if one.is_dir() else "") for one in islice(fits, MOST)]
    except OSError:
        return []
    return sorted(folder + name for name in names if shlex.quote(name) == name == clean(name))


def read(text: str) -> list[str]:
    """The paths of a line: quotes, ``~`` and ``*`` as a shell has them. Raises ValueError where a quote is open."""
    paths: list[str] = []
    for word in shlex.split(text):
        path = os.path.expanduser(word)
        paths += [path] if os.path.lexists(path) else sorted(glob.glob(path)) or [path]
    return paths
