"""Which pump this process runs: the native one where it was built and can run, unless ``ROUNDHOUSE_PUMP=0``.

And which cores: their files may have been compiled when the wheel was built (``hook.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from engine.drive.pump import SWITCH
from engine.drive.pump.native import Unusable, load
from engine.drive.pump.pure import Pump, Pure


def choose(environ: Mapping[str, str], load: Callable[[], Pump] = load) -> tuple[Pump, str]:
    """The pump, and why it is not the native one; empty where it is."""
    if environ.get(SWITCH) == "0":
        return Pure(), f"{SWITCH}=0"
    try:
        return load(), ""
    except Unusable as reason:
        return Pure(), str(reason)


PUMP, WHY = choose(os.environ)
GROUP = "engine.compiled"
"""Begins the name of the library that all compiled files are in."""


def words() -> str:
    """Which pump runs, and why the native one does not, for people."""
    return f"{PUMP.name} (the native one does not run: {WHY})" if WHY else PUMP.name


def cores() -> str:
    """How cores run: compiled, as far as the wheel has them so, or as Python."""
    return "compiled" if find_spec(f"{GROUP}__mypyc") else "Python"
