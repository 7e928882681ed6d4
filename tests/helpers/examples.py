"""How many examples a property is tried with, and how many seeds a simulation.

Without ``ROUNDHOUSE_SLOW`` they are the same ones every time: what fails tells of the change that is tested.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

SLOW = bool(os.environ.get("ROUNDHOUSE_SLOW"))
SHARE = 1 if SLOW else 6
USUAL = 100 // SHARE


def examples(n: int, **more: Any) -> settings:
    """``n`` examples with ``ROUNDHOUSE_SLOW``, a sixth of them without. ``more``: other settings of hypothesis."""
    return settings(max_examples=max(1, n // SHARE), **more)


def seeds(n: int) -> range:
    """The seeds of a simulation: ``n`` with ``ROUNDHOUSE_SLOW``, a third of them without."""
    return range(n if SLOW else max(1, n // 3))
