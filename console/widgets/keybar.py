"""The last line: as many keys as fit, or a notice for a while."""

from __future__ import annotations

from functools import partial
from typing import Any

from textual import events
from textual.binding import ActiveBinding, Binding
from textual.strip import Strip

from console.keys import (
    APP,
    ATTACH,
    BACK,
    CHART,
    EVENTS,
    EXPLORE,
    FLEET,
    JOBS,
    KEPT,
    MAIN,
    MESSAGES,
    PAIR,
    QUEUES,
    REPLAY,
    SEE,
    SPAN,
    STEP,
    TASKS,
    TENDS,
    TURN,
    WAITS,
)
from console.text import clean
from console.widgets.ink import Inked, Parts, cells, cut

SECONDS = 6.0  # that a notice stays

_ALSO = frozenset(key.id for key in (*MAIN, *WAITS))
"""Keys that other screens have as well: they stand where the main screen has them."""

_OWN = tuple(
    key
    for key in (
        *EVENTS,
        *CHART[:2],
        *TENDS,
        *TURN,
        *KEPT,
        *JOBS,
        *TASKS,
        *PAIR,
        *STEP,
        *EXPLORE,
        *REPLAY,
        *MESSAGES,
        *QUEUES,
    )
    if key.id not in _ALSO
)
_ORDER = (*BACK, *APP[:2], *FLEET[:1], *_OWN, *MAIN, *WAITS, *SPAN, *SEE, *ATTACH, *APP[2:])
_PLACES = {key.id: place for place, key in reversed(list(enumerate(_ORDER)))}


class KeyBar(Inked):
    """Made of the screen's bindings, so a remapped key is shown as it is."""

    ALLOW_SELECT = False
    app: Any  # the shell

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._notice: Parts = []
        self._generation = 0
        self._idle: frozenset[str] = frozenset()  # ids of keys that are not offered
        self._spots: list[tuple[int, int, ActiveBinding]] = []  # from, to, what lies there

    def show(self) -> None:
        """The keys as they are now, where others do something than before."""
        if self.app.idle_keys != self._idle:
            self.redraw()

    def say(self, text: str, ink: str) -> None:
        """Show a notice instead of the keys, until a key is pressed or some seconds are over."""
        glyph = {"good": "✓", "warn": "!", "bad": "×"}.get(ink, "·")
        self._notice = [(f" {glyph} ", f"{ink} bold"), (clean(text), ink)]
        self._generation += 1
        self.set_timer(SECONDS, partial(self._expire, self._generation))
        self.redraw()

    def greet(self, text: str) -> None:
        """Show the first keys instead of all of them, until one is pressed."""
        self._notice = [(" ★ ", "accent bold"), ("new here? ", "text bold"), (clean(text), "text")]
        self.redraw()

    def hush(self) -> None:
        """The keys again."""
        if self._notice:
            self._notice = []
            self.redraw()

    def _expire(self, generation: int) -> None:
        if generation == self._generation:
            self.hush()

    @property
    def notice(self) -> str:
        """What it says now; empty where it shows the keys."""
        return "".join(text for text, _ in self._notice).strip()

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        return [self.line(cut(self._notice, width) or self._keys(width), width)]

    def on_click(self, event: events.Click) -> None:
        """A click on a key is that key."""
        for start, end, active in self._spots:
            if not self._notice and start <= event.x < end:
                self.app.call_later(self.app.run_action, active.binding.action, active.node)
                return

    def _keys(self, width: int) -> Parts:
        parts: Parts = []
        self._spots = []
        for name, words, active in self._entries():
            item: Parts = [(" " + name, "accent bold"), (f" {words} ", "label")]
            start = cells(parts)
            if start + cells(item) > width:
                break
            parts += item
            self._spots.append((start, start + cells(item), active))
        return parts

    def _entries(self) -> list[tuple[str, str, ActiveBinding]]:
        """Key, words, binding; neighbours of the same words are one entry, a second key of an action is none."""
        entries: list[tuple[str, str, ActiveBinding]] = []
        seen: set[str] = set()
        self._idle = self.app.idle_keys
        for active in sorted(self.screen.active_bindings.values(), key=lambda active: place(active.binding)):
            binding = active.binding
            here = binding.id and binding.id == getattr(self.screen, "OPENED_BY", "")
            if not binding.show or here or binding.action in seen or binding.id in self._idle:
                continue
            seen.add(binding.action)
            name = key_name(self.app.get_key_display(binding))
            if entries and entries[-1][1] == binding.description:
                entries[-1] = (entries[-1][0] + name, binding.description, entries[-1][2])
            else:
                entries.append((name, binding.description, active))
        return entries


def place(binding: Binding) -> int:
    """The place of a binding in the bar: the order of ``console.keys``, remapped or not; then the others."""
    return _PLACES.get(binding.id or "", len(_PLACES))


def key_name(display: str) -> str:
    """Short names for the key bar."""
    return {"enter": "⏎", "escape": "esc", "minus": "-"}.get(display, display)
