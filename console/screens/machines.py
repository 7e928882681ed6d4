"""State maps and conformance: what each role's machine is, who stands where in it, and who broke which rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from console import units
from console.bridge import Picture
from console.text import clean, fit
from console.widgets.ink import Parts
from engine.parts.explain import Explain, StateMap, conformance


def map_lines(explain: Explain, picture: Picture) -> list[Parts]:
    """Every state machine of a system, the states in which somebody stands lit."""
    lines: list[Parts] = []
    for states in explain.state_maps():
        seen = list(pictures_of(states, picture))
        stands, visits = Counter[str](), Counter[str]()
        for one in seen:
            stands.update(dict(states.current(one)))
            visits.update(dict(states.visits(one)))
        lines += [[], *_map(states, stands, visits, bool(seen))]
    return lines[1:]


def pictures_of(states: StateMap, picture: Picture) -> Iterable[Any]:
    """The pictures that a map reads."""
    if states.role == "broker":
        return picture.brokers.values()
    if states.role == "client":
        return [picture.client] if picture.client is not None else []
    return picture.pool.values()


def _map(states: StateMap, stands: Mapping[str, int], visits: Mapping[str, int], seen: bool) -> Iterable[Parts]:
    title: Parts = [(clean(states.title), "accent bold")]
    if not seen:
        title.append(("  · none of them is in this process", "label"))
    yield title
    boxes: Parts = []
    for state in states.states:
        here = stands.get(state, 0)
        if boxes:
            boxes.append((" ", "text"))
        words = f" {clean(state)} {units.count(here)} " if here else f" {clean(state)} "
        boxes.append((f"▐{words}▌" if here else f"│{words}│", "good bold reverse" if here else "label"))
    yield [("  ", "text"), *boxes]
    for state in states.states:
        here, times = stands.get(state, 0), visits.get(state, 0)
        head: Parts = [(f"  {'●' if here else '○'} {clean(state)}", "good bold" if here else "text bold")]
        if here:
            head.append((f"  {units.count(here)} here", "good"))
        if times:
            head.append((f"  entered {units.count(times)} times", "label"))
        yield head
        for edge in states.edges:
            if edge.state != state:
                continue
            target = "↺" if edge.next == state else f"▶ {clean(edge.next)}"
            action = "" if edge.action == "none" else clean(edge.action)
            yield [
                ("      ", "text"),
                (fit(clean(edge.event), 28), "text"),
                (fit(f" {target}", 16), "flow" if edge.next != state else "faint"),
                (fit(action, 42), "text"),
                (f" {clean(edge.rule)}", "label"),
            ]


def conformance_lines(explain: Explain, picture: Picture) -> list[Parts]:
    """Who broke which rule, how often, when last; the newest first."""
    views = list(picture.brokers.values())
    if not views:
        return [[("no broker is in this process: its books are elsewhere", "label")]]
    found = [(view.at, finding) for view in views for finding in reversed(conformance(explain, view))]
    if not found:
        return [[("✓ ", "good bold"), ("everybody has kept to the protocol", "text")]]
    total = sum(finding.times for _, finding in found)
    lines: list[Parts] = [[(f"{units.count(total)} times, {units.count(len(found))} kinds", "text bold")], []]
    lines.append([(f"{'times':>8}  {'last':>5}  {'peer':20}{'what':34}rule", "label")])
    for at, finding in found:
        last = units.age(at - finding.at) if finding.at is not None else "–"
        lines.append(
            [
                (f"{units.count(finding.times):>8}", "bad bold" if finding.peer is not None else "warn"),
                (f"  {last:>5}  ", "label"),
                (fit(clean(finding.name), 20), "text bold"),
                (fit(clean(finding.reason), 34), "text"),
                (clean(finding.rule), "accent"),
            ]
        )
    return lines
