"""What a kind of content, brokers or disk queues, supplies to the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from textual.screen import Screen

from console import keys
from console.commands import Word
from console.history import History
from console.widgets.ink import Parts
from console.widgets.table import Column
from engine.faults.watch import Plan
from engine.labs.virtualclock import VirtualClock
from engine.parts.fault import Fault
from engine.tracing.ring import Ring


class Faults(Protocol):
    """The faults of a content: ``engine.faults.faults`` or ``engine.faults.queuefaults``."""

    def faults_for(self, system: Any) -> Sequence[Fault]: ...
    def targets(self, sandbox: Any, fault: Fault) -> Sequence[str]: ...
    def plan(self, sandbox: Any, line: str) -> Plan: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """Each field is called with a lab of this content, or with its session.

    ``bridge(lab)``: what polls it for pictures. ``trace(lab)``: a trace that measures its cost; ``columns``: of the
    table of what it holds. ``sandbox(lab)``: one of the same system and options, not opened yet; raises Refused where
    there can be none. ``main(session, history)``: its main screen, by its mode. ``offered``: keys of that screen that
    stand in the palette. ``help(session, shown)``: the page of help. ``ink``: the colour of its state.
    ``explained(session, what)``: what makes the lines of the state maps or of the conformance out of a picture and a
    width in cells. ``summary``: the lines to print at the end, None for none. ``ends``: the work and the peers of
    others that end with the console, one line each; ``depends``: those of others. ``words``: the commands that can be
    typed. ``tour``, ``tour_away`` where another process is shown, ``tour_empty`` where no worker was started: the first
    keys, for a new user; ``{pings}`` and ``{streams}`` are filled in.
    """

    bridge: Callable[[Any], Any]
    trace: Callable[[Any], Ring[Any]]
    columns: tuple[Column[Any], ...]
    faults: Faults
    sandbox: Callable[[Any], VirtualClock]
    main: Callable[[Any, History], Screen[Any]]
    offered: Callable[[Any], Iterable[keys.Key]]
    help: Callable[[Any, dict[str, str]], list[Parts]]
    ink: Callable[[Any], str]
    explained: Callable[[Any, str], Callable[[Any, int], list[Parts]]]
    summary: Callable[[Any], str | None]
    ends: Callable[[Any], list[str]]
    depends: Callable[[Any], list[str]]
    words: tuple[Word, ...]
    tour: str
    tour_away: str
    tour_empty: str
