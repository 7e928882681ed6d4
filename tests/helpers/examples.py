"""How many examples a property is tried with, and how many seeds a simulation."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

SHARE = 1 if os.environ.get("ROUNDHOUSE_SLOW") else 3
USUAL = 100 // SHARE


def examples(n: int, **more: Any) -> settings:
    """``n`` examples with ``ROUNDHOUSE_SLOW``, a third of them without. ``more``: other settings of hypothesis."""
    return settings(max_examples=max(1, n // SHARE), **more)


def seeds(n: int) -> range:
    """The seeds of a simulation: ``n`` with ``ROUNDHOUSE_SLOW``, a third of them without."""
    return range(max(1, n // SHARE))
