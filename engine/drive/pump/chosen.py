"""Which pump this process runs: the native one where it was built and can run, unless ``ROUNDHOUSE_PUMP=0``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

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


def words() -> str:
    """Which pump runs, and why the native one does not, for people."""
    return f"{PUMP.name} (the native one does not run: {WHY})" if WHY else PUMP.name
