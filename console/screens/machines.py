"""State maps and conformance: each role's machine with its current states, and which peer broke which rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from textual.binding import BindingType

from console import keys, units
from console.pictures.bridge import Picture
from console.screens.page import Page
from console.text import clean, fit
from console.widgets.ink import Part, Parts, cells, wrapped
from engine.parts.explain import Edge, Explain, Finding, StateMap, conformance
from engine.sim.explore.coverage import Rows, summed

FRAME = 4  # cells beside the lines of a page


class Lines(Page):
    """Lines about the protocol, updated with each picture."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.RUNS))]


def map_lines(explain: Explain, picture: Picture, width: int) -> list[Parts]:
    """Every state machine of a system, in lines of so many cells; states that are taken are lit."""
    return machine_lines(explain.state_maps(), lambda states: pictures_of(states, picture), width)


def machine_lines(maps: Sequence[StateMap], of: Callable[[StateMap], Iterable[Any]], width: int) -> list[Parts]:
    """The same of any maps; ``of``: the pictures that one of them reads."""
    lines: list[Parts] = []
    for states in maps:
        seen = list(of(states))
        stands, visits, walked = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
        for one in seen:
            stands.update(dict(states.current(one)))
            visits.update(dict(states.visits(one)))
            walked.update(dict(states.walked(one)) if states.walked else {})
        counts = walked if seen and states.walked and all(map(states.counted, seen)) else None
        lines.append([])
        lines += _head(states, stands, bool(seen), counts is not None, width)
        for state in states.states:
            lines.append(_state(state, stands[state], visits[state]))
            for edge in states.edges:
                if edge.state == state:
                    lines += _edge(edge, states, _often(edge, states, counts), width)
    return lines[1:]


def walked_lines(
    maps: Sequence[StateMap], walks: Sequence[Sequence[Rows]], ends: Iterable[tuple[str, Any]], width: int
) -> list[Parts]:
    """The rows that any of some walks of the model checker reached, and those that none did; in lines of so many cells.

    ``ends``: of each core its role and its picture where something was found wrong; the states there are lit.
    """
    ends = list(ends)
    lines: list[Parts] = []
    for rows in summed(walks):
        states = next(one for one in maps if one.title == rows.title)
        wrong = Counter[str]()
        for role, picture in ends:
            wrong.update(dict(states.current(picture)) if role == states.role else {})
        every = len(rows.walked) + len(rows.never)
        title: Parts = [
            (clean(states.title), "accent bold"),
            (f"  {len(rows.walked)} of {every} rows were walked", "label"),
        ]
        lines += [[], title, *_boxes(states, wrong, "bad bold reverse", width)]
        for state in states.states:
            lines.append(
                [(f"  {'×' if wrong[state] else '○'} {clean(state)}", "bad bold" if wrong[state] else "text bold")]
            )
            for edge in states.edges:
                if edge.state == state:
                    lines += _edge(edge, states, _reached((edge.state, edge.event), rows), width)
    return lines[1:]


def _reached(row: tuple[str, str], rows: Rows) -> Part:
    if row in rows.walked:
        return fit("✓", 5, right=True), "good"
    return fit("·" if row in rows.never else "", 5, right=True), "faint"


def pictures_of(states: StateMap, picture: Picture) -> Iterable[Any]:
    """The pictures that a map reads."""
    if states.role == "broker":
        return picture.brokers.values()
    if states.role == "client":
        return [picture.client] if picture.client is not None else []
    return picture.pool().values()


def _head(states: StateMap, stands: Mapping[str, int], seen: bool, counted: bool, width: int) -> list[Parts]:
    """The title, and a box for each state."""
    title: Parts = [(clean(states.title), "accent bold")]
    if not seen:
        title.append(("  · none of them is in this process", "label"))
    elif counted:
        title.append(("  · on the left: how often each was walked", "label"))
    return [title, *_boxes(states, stands, "good bold reverse", width)]


def _boxes(states: StateMap, stands: Mapping[str, int], lit: str, width: int) -> list[Parts]:
    """A box for each state; states that are taken have the ink ``lit``."""
    lines, row = list[Parts](), list[Part]()
    for state in states.states:
        here = stands.get(state, 0)
        words = f" {clean(state)} {units.count(here)} " if here else f" {clean(state)} "
        box: Part = (f"▐{words}▌", lit) if here else (f"│{words}│", "label")
        if row and cells([*row, box]) + 3 > width:
            lines.append(row)
            row = []
        row += [("  " if not row else " ", "text"), box]
    return [*lines, row]


def _state(state: str, here: int, times: int) -> Parts:
    parts: Parts = [(f"  {'●' if here else '○'} {clean(state)}", "good bold" if here else "text bold")]
    if here:
        parts.append((f"  {units.count(here)} here", "good"))
    if times:
        parts.append((f"  entered {units.several(times, 'time')}", "label"))
    return parts


def _often(edge: Edge, states: StateMap, counts: Counter[tuple[str, str]] | None) -> Part:
    times = counts[edge.state, edge.event] if counts is not None else 0
    counted = counts is not None and (edge.state, edge.event) not in states.uncounted
    often = units.short(times) if times else "·" if counted else ""
    return fit(often, 5, right=True), "accent" if times else "faint"


def _edge(edge: Edge, states: StateMap, often: Part, width: int) -> list[Parts]:
    """How often, what happens, where that leads, what is done; the rule behind it, or on a line of its own."""
    stays = edge.next == edge.state
    event = min(32, max(7, *(len(one.event) for one in states.edges)))
    target = min(14, max(len(one.next) for one in states.edges)) + 3
    first: Parts = [
        often,
        (f" {fit(clean(edge.event) or 'at once', event)} ", "text"),
        (fit("↺" if stays else f"▶ {clean(edge.next)}", target), "faint" if stays else "flow"),
    ]
    action = "" if edge.action == "none" else clean(edge.action)
    rule = (clean(edge.rule), "label")
    column = min(40, max(len(one.action) for one in states.edges)) + 1
    line: Parts = [*first, (fit(action, max(column, len(action) + 1)), "text"), rule]
    if cells(line) <= width:
        return [line]
    return [*wrapped(first, action, "text", width), [(" " * 8, "text"), rule]]


def conformance_lines(explain: Explain, picture: Picture, width: int) -> list[Parts]:
    """Which peer broke which rule, how often, when last, in lines of so many cells; the newest first."""
    views = list(picture.brokers.values())
    if not views:
        return [[("no broker in this process: its counts are elsewhere", "label")]]
    found = [
        (view.at, finding if finding.peer is None else finding._replace(name=picture.name(finding.peer)))
        for view in views
        for finding in reversed(conformance(explain, view))
    ]
    return finding_lines(found, width)


def finding_lines(found: Sequence[tuple[float, Finding]], width: int) -> list[Parts]:
    """Findings, each with the time of its picture."""
    if not found:
        return [[("✓ ", "good bold"), ("everybody has kept to the protocol", "text")]]
    total = sum(finding.times for _, finding in found)
    lines: list[Parts] = [[(f"{units.several(total, 'time')}, {units.several(len(found), 'kind')}", "text bold")], []]
    lines.append([(f"{'times':>8}  {'last':>5}  {'peer':20}{'what':34}rule", "label")])
    for at, finding in found:
        last = units.age(at - finding.at) if finding.at is not None else "–"
        first: Parts = [
            (f"{units.count(finding.times):>8}", "bad bold" if finding.peer is not None else "warn"),
            (f"  {last:>5}  ", "label"),
            (fit(clean(finding.name), 20), "text bold"),
        ]
        line: Parts = [*first, (fit(clean(finding.reason), 34), "text"), (clean(finding.rule), "accent")]
        if cells(line) <= width:
            lines.append(line)
        else:
            lines += wrapped(first, clean(finding.reason), "text", width)
            lines += wrapped([(" " * cells(first), "text")], clean(finding.rule), "accent", width)
    return lines
