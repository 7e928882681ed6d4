"""What a kind of system supplies to the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from textual.screen import Screen

from console import keys
from console.commands import Word
from console.history import History
from console.sessions.session import Session
from console.widgets.ink import Parts


@dataclass(frozen=True, slots=True)
class Kind:
    """Each field is called with a session of this kind, or with a lab that one is made of.

    ``sandbox(lab)`` raises Refused where there can be none. ``main(session, history)``: its main screen, by its mode.
    ``offered``: keys of that screen that stand in the palette. ``help(session, shown)``: the page of help. ``ink``: the
    colour of its state. ``explained(session, what)``: what makes the lines of the state maps or of the conformance out
    of a picture and a width in cells. ``summary``: the lines to print at the end, None for none. ``ends``: the
    work and the peers of others that end with the console, one line each; ``depends``: those of others. ``words``:
    the commands that can be typed.
    """

    session: Callable[..., Session]
    sandbox: Callable[[Any], Session]
    replay: Callable[[Any], Session]
    main: Callable[[Any, History], Screen[Any]]
    offered: Callable[[Session], Iterable[keys.Key]]
    help: Callable[[Session, dict[str, str]], list[Parts]]
    ink: Callable[[Any], str]
    explained: Callable[[Any, str], Callable[[Any, int], list[Parts]]]
    summary: Callable[[Any], str | None]
    ends: Callable[[Any], list[str]]
    depends: Callable[[Any], list[str]]
    words: tuple[Word, ...]
