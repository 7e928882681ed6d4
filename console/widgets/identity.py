"""The first line: what this is, how it is, where it listens; how fast, how many failures, how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from textual.strip import Strip

from console import units
from console.pictures.bridge import Picture, badge, stale, trouble
from console.steering import limited
from console.text import clean
from console.widgets.ink import Inked, Parts, first_that_fits, spread


class Other(NamedTuple):
    """One of the systems that run, the one on the screen among them."""

    number: int  # the key that leads to it
    name: str
    ink: str  # of its state
    here: bool


def several_parts(others: Sequence[Other], names: bool = False) -> Parts:
    """The systems that run: the key that leads to each, its state, and its name if wanted; [] if there is only one."""
    parts: Parts = [(" ", "text")]
    for other in others:
        parts += [(f" {other.number}", "text bold" if other.here else "label"), ("●", other.ink)]
        parts.append((f" {clean(other.name)}" if names else "", "text bold" if other.here else "label"))
    return parts if len(others) > 1 else []


class IdentityBar(Inked):
    """What the first lines of all contents share. ``_picture``: the newest, None before the first."""

    ALLOW_SELECT = False
    _picture: Any = None

    def __init__(self, system: str, readonly: bool, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._system = clean(system)
        self._readonly = readonly
        self._paused = False
        self._others: Sequence[Other] = ()
        self.alerts = 0  # that fire

    def show(self, picture: Any, paused: bool, others: Sequence[Other] = ()) -> None:
        """Show a picture, or that it is frozen, and which systems run."""
        self._picture, self._paused, self._others = picture, paused, others
        self.redraw()

    def _front(self, word: str, ink: str) -> tuple[Parts, Parts]:
        """The name of the program, and a badge."""
        name: Parts = [(" ◆ ", "accent"), ("roundhouse ", "text bold")]
        state: Parts = [(f" {'◦' if word == 'STARTING' else '●'} {word} ", f"{ink} bold reverse")]
        if self._readonly:
            state.append((" read-only", "warn"))
        if self.alerts:
            state += [(" ", "text"), (f" ! {self.alerts} ", "bad bold reverse")]
        return name, state


class Identity(IdentityBar):
    """The identity bar. ``endpoints``: where it listens. ``traced``: whether every message is noted, at a cost.

    ``lane``: its name, where it is not the seed's. ``attached``: whether it is another process.
    """

    _picture: Picture | None

    def __init__(self, system: str, endpoints: Sequence[str], readonly: bool, *, id: str | None = None) -> None:
        super().__init__(system, readonly, id=id)
        self.endpoints = endpoints
        self.traced = False
        self.lane = ""
        self.attached = False

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        picture = self._picture
        if picture is None:
            return []
        word, ink = badge(picture, self._paused)
        name, state = self._front(word, ink)
        if words := limited(picture.broker):
            state.append((f" {words}", "warn bold"))
        if self.lane:
            state.append((f" {clean(self.lane)}", "accent"))
        if self.attached:
            state.append((" attached", "accent"))
        if self.traced:
            state.append((" traced", "accent"))
        system: Parts = [("  " + self._system, "label")]
        where: Parts = [("  " + " ".join(map(clean, self.endpoints)), "text")]
        right: Parts = [(units.short(picture.rates.sent), "text bold"), (" req/s", "label")]
        fails: Parts = [
            (f"  {units.short(picture.failed)}", "bad bold" if picture.failed else "label"),
            (" fail", "label"),
        ]
        up: Parts = [("  up ", "label"), (units.clock(picture.up), "text"), (" ", "text")]
        full = [*right, *fails, *up]
        several, named = several_parts(self._others), several_parts(self._others, names=True)
        why = trouble(picture) if word in ("DEGRADED", "REFUSING") else stale(picture) if word == "STALE" else ""
        choices = []
        told: list[Parts] = [[(f" {words} ", "warn")] for words in (why, picture.service) if words]
        notes = [*([[*told[0], *told[1]]] if len(told) > 1 else []), *told, []]
        for shown in ([*state, *note] for note in notes):
            if several:
                choices += [
                    spread([*name, *shown, *named, *where], full, width),
                    spread([*name, *shown, *several, *system, *where], full, width),
                    spread([*name, *shown, *named], full, width),
                    spread([*name, *shown, *several, *system], full, width),
                    spread([*name[:1], *shown, *several, *system], full, width),
                    spread([*name[:1], *shown, *several], [*right, *fails, (" ", "text")], width),
                ]
            choices += [
                spread([*name, *shown, *system, *where], full, width),
                spread([*name, *shown, *where], full, width),
                spread([*name, *shown, *system], full, width),
                spread([*name[:1], *shown, *where], [*right, *fails, (" ", "text")], width),
                spread([*name, *shown], full, width),
                spread([*name[:1], *shown], [*right, *fails, (" ", "text")], width),
                spread([*name[:1], *shown], [*right, (" ", "text")], width),
            ]
        return [self.line(first_that_fits(choices, width), width)]
