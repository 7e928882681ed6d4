"""``roundhouse`` in a process whose wall clock is an hour slow as long as the file ``$WRONG_CLOCK`` is there."""

from __future__ import annotations

import os
import sys
import time

HOUR = 3600.0
_real = time.time


def _wrong() -> float:
    return _real() - (HOUR if os.path.exists(os.environ["WRONG_CLOCK"]) else 0.0)


if __name__ == "__main__":
    time.time = _wrong
    from console.__main__ import main

    sys.exit(main())
