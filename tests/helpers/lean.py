"""Textual in tests does less: rules are parsed once a process, and frames that nobody looks at are not painted.

Half of what a scenario costs is the parsing of the same style sheets and the painting of frames between two keys. Each
kind of screen is painted once a process, when it is first on top, and whenever a test looks at it.
"""

from __future__ import annotations

from typing import Any

from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.css.stylesheet import Stylesheet

_parsed: dict[tuple[Any, ...], Any] = {}
_painted: set[tuple[type, ...]] = set()  # kinds of screens, from the bottom to the one on top
_parse_rules, _render_update = Stylesheet._parse_rules, Compositor.render_update


def parse_rules(sheet: Stylesheet, css: str, read_from: Any, *rest: Any, **more: Any) -> Any:
    """The same rules for the same text and variables."""
    key = (css, read_from, rest, *more.items(), *sheet._variables.items())
    if key not in _parsed:
        _parsed[key] = _parse_rules(sheet, css, read_from, *rest, **more)
    return _parsed[key]


def render_update(compositor: Compositor, *given: Any, **more: Any) -> Any:
    """The first frame of a kind of screen, and screenshots, which say how they are made; of later frames nothing."""
    shown = tuple(map(type, more.get("screen_stack") or ()))
    if shown not in _painted or "simplify" in more:
        _painted.add(shown)
        return _render_update(compositor, *given, **more)
    visible_screen_stack.set(more.get("screen_stack") or [])  # a look at a dialog shows what is behind it
    compositor._dirty_regions.clear()
    return None


def be_lean() -> None:
    """For this process, from now on."""
    for kind, name, ours in ((Stylesheet, "_parse_rules", parse_rules), (Compositor, "render_update", render_update)):
        setattr(kind, name, ours)
