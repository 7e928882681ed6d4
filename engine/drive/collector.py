"""When the garbage collector looks at everything: while little is going on, and not in the middle of a burst.

The rules of this file:

- Reference counts free nearly everything here. The collector only looks for circles, and one of its full collections
  looks at every object that there is: with 10⁶ queued tasks that is a quarter of a second in which nothing is served.
- So there are no automatic full collections. The young generations, a few thousand objects, are collected as always.
- A full collection is made when the process has done something since the last one and now does little; a process that
  is always busy gets one all the same, seldom enough that it takes a thousandth of the time.
- What is there at the start, modules above all, stays until the end: it is frozen, and nothing looks at it any more.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOOK = 1.0  # seconds between two looks at how busy the process is
IDLE = 0.1  # share of a core below which it is idle
WORK = 1.0  # seconds of a core's time that it has had since a full collection, to be worth another
OVERDUE = 60.0  # seconds after which a busy process is collected all the same
SHARE = 1000  # times as long as a full collection took, no other is overdue
NEVER = 1_000_000_000  # collections of the middle generation before a full one


class Collector:
    """Decides when; ``look`` is called now and then with the time and the processor time of the process, in seconds."""

    def __init__(self, now: float, spent: float) -> None:
        self._looked = self._collected = (now, spent)
        self._took = 0.0  # seconds, the last full collection

    def look(self, now: float, spent: float) -> bool:
        """Whether a full collection is due."""
        (looked, spent_then), (collected, spent_at) = self._looked, self._collected
        self._looked = (now, spent)
        idle = spent - spent_then < IDLE * (now - looked)
        worked = spent - spent_at > WORK
        return worked and (idle or now - collected > max(OVERDUE, SHARE * self._took))

    def done(self, now: float, spent: float, took: float) -> None:
        """A full collection was made, and took so many seconds."""
        self._looked = self._collected = (now, spent)
        self._took = took


@contextmanager
def collecting() -> Iterator[None]:
    """Full collections of this process are made by these rules, on a thread of their own; afterwards as before."""
    before, frozen, end = gc.get_threshold(), gc.get_freeze_count(), threading.Event()
    collector = Collector(time.monotonic(), time.process_time())

    def run() -> None:
        while not end.wait(LOOK):
            now = time.monotonic()
            if collector.look(now, time.process_time()):
                gc.collect()
                after = time.monotonic()
                collector.done(after, time.process_time(), after - now)

    thread = threading.Thread(target=run, name="roundhouse-collector", daemon=True)
    gc.freeze()
    gc.set_threshold(*before[:2], NEVER)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
