"""A pilot that waits for what the console has to do, and for nothing else.

Textual's own waits until the process uses little CPU time: 60 ms a key at least, and seconds on a busy machine. This
one waits until no task can go on and nothing is to be laid out or painted, so hardly any real time passes in a
scenario.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from typing import Any

from textual import events, keys
from textual.pilot import Pilot

from tests.helpers.lean import be_lean

be_lean()

TURNS = 100_000  # of the event loop that follow from one key, at most
REFRESHES = 100  # of the screen
STEP = 0.01  # seconds between two looks at a screen that is held back
HELD = 6000  # looks at most


class QuietPilot(Pilot[None]):
    """Textual's pilot with another way to wait. Raises ``AssertionError`` where an app never comes to rest."""

    async def press(self, *names: str) -> None:
        """Press keys, one after the other."""
        for name in names:
            key = keys._character_to_key(name) if len(name) == 1 and not name.isalnum() else name
            event = events.Key(key, character_of(key))
            event.set_sender(self.app)
            driver = self.app._driver
            assert driver is not None
            driver.send_message(event)
            await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        """Wait until the app is at rest. ``delay`` must be None: no real time passes."""
        assert delay is None
        for _ in range(REFRESHES):
            await nothing_can_go_on()
            await self._batches_end()
            if self.app._exit or not refresh(self.app.screen):  # an app that ends paints nothing more
                return
        raise AssertionError("the screen never comes to rest")

    async def _batches_end(self) -> None:
        """While updates are held back nothing is painted: Textual does that for a moment when another mode is shown."""
        for _ in range(HELD):
            if self.app._exit or not self.app._batch_count:
                return
            await asyncio.sleep(STEP)
        raise AssertionError("the screen is held back for ever")

    async def resize_terminal(self, width: int, height: int) -> None:
        """Give the terminal another size; Textual takes it a moment later, as there are often several."""
        await super().resize_terminal(width, height)
        self.app._check_resize()
        await self.pause()


async def comes(condition: Callable[[], bool]) -> bool:
    """Whether a screen comes to be as wanted, for what Textual does a moment later."""
    for _ in range(HELD):
        if condition():
            return True
        await asyncio.sleep(STEP)
    return False


def character_of(key: str) -> str | None:
    """What a key types."""
    name = keys.REPLACED_KEYS.get(key, key)
    try:
        return unicodedata.lookup(keys._get_unicode_name_from_key(name))
    except KeyError:
        return key if len(key) == 1 else None


async def nothing_can_go_on() -> None:
    """Until all tasks wait: twice in a row, as timers that are due start tasks only at the next turn."""
    loop: Any = asyncio.get_running_loop()
    idle = 0
    for _ in range(TURNS):
        await asyncio.sleep(0)
        idle = 0 if loop._ready else idle + 1
        if idle == 2:
            return
    raise AssertionError("tasks never come to rest")


def refresh(screen: Any) -> bool:
    """Lay out and paint what is to be; False where nothing was."""
    due = (
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )
    if due:
        screen._on_timer_update()
    return bool(due)
