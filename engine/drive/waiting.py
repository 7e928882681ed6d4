"""Waiting for what other threads bring about."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP = 0.01  # seconds between two looks


def wait_until(condition: Callable[[], bool], timeout: float, step: float = STEP) -> bool:
    """Look every ``step`` seconds until it holds; False after ``timeout`` seconds."""
    until = time.monotonic() + timeout
    while not condition():
        if time.monotonic() >= until:
            return False
        time.sleep(step)
    return True
