"""The environment variables of the commands that this process runs: all of its own, unless ``--env`` names a few.

A command may be any program, and an environment holds passwords and keys. A narrowed list holds for everything that
this process starts from then on: bodies of tasks, drivers of disk queues and their commands.
"""

from __future__ import annotations

import os
from collections.abc import Collection

_names: frozenset[str] | None = None


def narrow(names: Collection[str]) -> None:
    """Give commands these variables only, as far as they are set."""
    global _names
    _names = frozenset(names)


def narrowed() -> tuple[str, ...] | None:
    """The variables that commands get, None for all."""
    return None if _names is None else tuple(sorted(_names))


def passed() -> dict[str, str]:
    """What a command gets."""
    return {name: value for name, value in os.environ.items() if _names is None or name in _names}
