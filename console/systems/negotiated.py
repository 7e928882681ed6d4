"""Negotiated: the services and their queues, versions that drift, clocks that differ, primary and fallback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from console import keys, units
from console.pictures.bridge import Picture
from console.pictures.rows import Shown
from console.screens.confirm import Confirm
from console.screens.terms import ProtocolScreen, View, term_lines
from console.terms import beside, column, term, titled
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.table import Column
from console.widgets.workers import STATES, with_own
from engine.parts.view import BrokerView

SERVICE = "service "
"""What the names of terms that describe a service begin with."""

ROLES = (("broker", "primary"), ("fallback", "fallback"))


BACK = (
    "nobody switches back by itself: a peer stays while its broker answers, then asks again the one it was told of;",
    "a primary that returns waits until an operator hands back (b), and the peers are sent to it (301)",
)


def _drifts(version: str) -> str:
    return "warn bold" if "served" in version else "text"


def _version(row: Shown, now: float, cells: int) -> Parts:
    """The version that it runs, and where it drifts the one that is served: ``7≠8``."""
    runs, _, served = term(row.worker.terms, "config_version").partition(" (served: ")
    return [(fit(clean(f"{runs}≠{served.rstrip(')')}" if served else runs), cells), "warn bold" if served else "text")]


COLUMNS: tuple[Column[Shown], ...] = (
    column("version", "conf", 5, 3, term_name="config_version")._replace(draw=_version),
    column("skew", "skew", 8, -1, right=True),
    column("services", "services", 10, -2),
)


class Negotiated(ProtocolScreen):
    """Both brokers side by side above the services and the workers."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.PAIR, *keys.RUNS))]

    def lines(self, picture: Picture, width: int) -> list[Parts]:
        """Brokers, services, workers, terms."""
        lines: list[Parts] = []
        if len(picture.brokers) > 1 or "fallback" in picture.brokers:
            half = (width - 3) // 2
            primary, second = (broker_lines(title, picture.brokers.get(name), half) for name, title in ROLES)
            lines += [*pair_lines(picture, width), failover_line(picture), [], *beside(primary, second, width)]
            lines += [[(line, "label")] for line in BACK]
        lines += titled("services", service_lines(picture.broker))
        return beside([*lines, *titled("workers", worker_lines(picture))], term_lines(picture), width)

    def action_pull_plug(self) -> None:
        """Ask, then end the primary."""
        question = Confirm(
            "Pull the plug of the primary?",
            [
                "It ends as if its process had died: no goodbye, nothing is handed over.",
                "Its fallback takes over when it has been silent for a while and is asked for something.",
            ],
            "Pull the plug",
        )
        self.app.ask_first(question, lambda lab: lab.pull_plug(), "the primary is gone · b brings it back")

    def action_hand_back(self) -> None:
        """Start the primary again, or let the fallback hand back to it."""
        self.app.order(lambda lab: lab.hand_back(), "the primary is asked to come back")


def pair_lines(picture: Picture, width: int) -> list[Parts]:
    """Both brokers as boxes; the arrow goes from the one that serves, and says what the other one has of it."""
    boxes, serves = [], ""
    for name, title in ROLES:
        view = picture.brokers.get(name)
        word, ink = (
            ("○ gone", "bad") if view is None else ("● serves", "good") if view.serving else ("◌ stands by", "label")
        )
        serves = name if view is not None and view.serving else serves
        inner = [(fit(f" {title}", 12), "text bold"), (fit(word, 13), f"{ink} bold")]
        edge = "good" if name == serves else "frame"
        boxes.append(
            [[("╭" + "─" * 25 + "╮", edge)], [("│", edge), *inner, ("│", edge)], [("╰" + "─" * 25 + "╯", edge)]]
        )
    second = picture.brokers.get("fallback" if serves == "broker" else "broker")
    copy = term(second.terms, "replica") if second is not None else "nobody would take over"
    room = max(10, min(40, width - 56))
    line = "━" * (room - 3) if second is not None else "╌" * (room - 3)
    arrow = (f" {line}▶ " if serves == "broker" else f" ◀{line} ", "flow" if second is not None else "bad")
    middles = [
        (fit(f" copies: {copy}" if second is not None else f" {copy}", room), "label"),
        arrow,
        (" " * room, "text"),
    ]
    return [[*first, middle, *last] for first, middle, last in zip(boxes[0], middles, boxes[1], strict=True)]


def failover_line(picture: Picture) -> Parts:
    """The last failovers with their times, as many as were seen; the newest last."""
    told = " · ".join(picture.failovers) or "none since this console looks"
    return [(fit("failovers", 12), "accent bold"), (told, "text" if picture.failovers else "label")]


def broker_lines(title: str, view: BrokerView | None, width: int) -> list[Parts]:
    """One broker of a pair, in so many cells."""
    if view is None:
        return [[(fit(title, 12), "accent bold"), ("○ gone", "bad bold")], [("its plug is pulled", "label")], []]
    word, ink = ("● serves", "good bold") if view.serving else ("◌ stands by", "label")
    lines: list[Parts] = [[(fit(title, 12), "accent bold"), (word, ink)]]
    told = {name: term(view.terms, name) for name in ("state", "peer", "replica", "config_version", "drifted workers")}
    lines += [
        [(fit(name, 16), "label"), (fit(clean(value), max(1, width - 16)).rstrip(), _ink(name, value))]
        for name, value in told.items()
        if value
    ]
    ledger = view.ledger
    counts = f"{units.count(ledger.sent)} sent, {units.count(ledger.succeeded)} ok"
    return [*lines, [(fit("tasks", 16), "label"), (counts, "text")], []]


def _ink(name: str, value: str) -> str:
    bad = (name == "peer" and value in ("silent", "not heard")) or (name == "drifted workers" and value != "0")
    return "warn bold" if bad else "text"


def service_lines(view: BrokerView | None) -> list[Parts]:
    """Each service and its queues."""
    terms = view.terms if view is not None else ()
    services = [(name.removeprefix(SERVICE), value) for name, value in terms if name.startswith(SERVICE)]
    if not services:
        return [[("none", "label")]]
    return [[(fit(clean(name), 16), "text bold"), (clean(value), "text")] for name, value in services]


def worker_lines(picture: Picture) -> list[Parts]:
    """Each worker: what it offers, the version that it runs, how far its clock is off; and as it sees the broker."""
    lines: list[Parts] = [[(f"{'worker':14}{'state':11}{'services':14}{'config':14}{'skew':10}at", "label")]]
    for row in picture.rows:
        worker = row.worker
        glyph, ink = STATES[worker.state]
        version = term(worker.terms, "config_version")
        own = picture.own(worker.key)
        lines.append(
            [
                (fit(row.label, 13) + " ", "text bold"),
                (f"{glyph} {fit(worker.state, 8)} ", ink),
                (fit(clean(term(worker.terms, "services")), 13) + " ", "text"),
                (fit(clean(version), 13) + " ", _drifts(version)),
                (fit(term(worker.terms, "skew"), 9) + " ", "text"),
                (clean(_place(own.terms)) if own is not None else "elsewhere", "label"),
            ]
        )
    return lines if picture.rows else [[("no workers", "label")]]


def _place(terms: Sequence[tuple[str, str]]) -> str:
    """At which broker a worker is; and which one it was told of, where that is another."""
    told = term(terms, "told of").partition(",")[0]
    return term(terms, "broker") + (f" · told of {told}" if told else "")


VIEW = View(with_own(COLUMNS, without=("rtt", "order")), Negotiated)
"""Its broker knows no round trips."""
