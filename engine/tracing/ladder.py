"""A sequence diagram out of arrows: lanes, rows, text of a given width, SVG. Pure functions.

Clients stand on the left, then brokers, then workers, each in the order in which they appear, where nobody says another
order. Where there are more lanes than asked for, the least busy ones share one, ``others``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from engine.parts.explain import key_name, plain
from engine.parts.plain import called
from engine.tracing.links import Arrow

OTHERS = "others"
LANES = 8
TIME = 11  # columns of the time in front
HEAD = 2  # lines of text above the first row

_ROLES = ("client", "broker", "worker")


class Row(NamedTuple):
    """One arrow between two lanes, by their places; a note, and what stays in one lane, has the same place twice."""

    at: float  # seconds since the first row
    source: int
    target: int
    label: str
    arrow: Arrow


class Ladder(NamedTuple):
    """A sequence diagram."""

    lanes: tuple[str, ...]
    rows: tuple[Row, ...]


def ladder(arrows: Sequence[Arrow], most: int = LANES, first: Sequence[str] = (), order: Sequence[str] = ()) -> Ladder:
    """The diagram of these arrows, with ``most`` lanes at most (at least 2). Lanes named in ``first`` have priority.

    ``order``: lanes that stand in front of all others, in this order.
    """
    busy: Counter[str] = Counter()
    roles: dict[str, str] = {}
    for arrow in arrows:
        for name in (arrow.source, arrow.target):
            busy[name] += 1
            role = _role(arrow, name)
            if roles.get(name, "worker") == "worker":
                roles[name] = role
    ranks = {name: place for place, name in enumerate(order)}
    names = sorted(busy, key=lambda name: (ranks.get(name, len(ranks)), _ROLES.index(roles[name])))  # stable
    if len(names) > max(2, most):
        ranked = sorted(names, key=lambda name: (name not in first, roles[name] != "broker", -busy[name]))
        shown = set(ranked[: max(2, most) - 1])
        names = [*(name for name in names if name in shown), OTHERS]
    place = {name: at for at, name in enumerate(names)}
    last = len(names) - 1
    begin = arrows[0].at if arrows else 0.0
    rows = [
        Row(arrow.at - begin, place.get(arrow.source, last), place.get(arrow.target, last), label(arrow), arrow)
        for arrow in arrows
    ]
    return Ladder(tuple(map(called, names)), tuple(rows))


def label(arrow: Arrow) -> str:
    """What is written on an arrow: its command, and the task that it is about."""
    entry = arrow.entry
    if arrow.state == "note":
        return dict(entry.fields).get("text", "")
    return f"{entry.command} {key_name(arrow.task)}" if arrow.task is not None else entry.command


def _role(arrow: Arrow, name: str) -> str:
    """The role of a peer that is not traced, from its messages: requests are a client's."""
    for end in arrow.ends:
        if end.seat == name:
            return end.role
    if any(end.role != "broker" for end in arrow.ends):
        return "broker"
    return "client" if arrow.entry.decoded.leg in ("request", "reply", "denial") else "worker"


# ---- text --------------------------------------------------------------------------------------------------------


class _Pens(NamedTuple):
    lane: str
    line: str
    faint: str  # of what has not arrived
    right: str
    left: str
    end: str  # of what will not arrive
    note: str


_UNICODE = _Pens("│", "─", "┄", "▶", "◀", "✗", "·")
_ASCII = _Pens("|", "-", ".", ">", "<", "x", "*")


def text(diagram: Ladder, width: int = 100, unicode: bool = True) -> list[str]:
    """``HEAD`` lines of lanes, then one line a row; no line is longer than ``width`` (at least 40) columns."""
    pens = _UNICODE if unicode else _ASCII
    width = max(40, width)
    each = (width - TIME) // max(1, len(diagram.lanes))
    places = [TIME + each * at + each // 2 for at in range(len(diagram.lanes))]
    names = "".join(_cut(name, each - 1, unicode).center(each) for name in diagram.lanes)
    head = [f"{'seconds':>{TIME - 2}}  {names}".rstrip(), _blank(places, width, pens).rstrip()]
    return head + [_line(row, places, width, pens, unicode) for row in diagram.rows]


def _line(row: Row, places: list[int], width: int, pens: _Pens, unicode: bool) -> str:
    cells = list(_blank(places, width, pens))
    time = f"{row.at:{TIME - 2}.4f}"
    cells[: len(time)] = time
    if row.source == row.target:
        at = places[row.source] + 2
        words, before = f"{pens.note} {row.label}", places[row.source] - TIME - 1
        if len(words) > width - at < before:  # more room on its left
            words = _cut(words, before, unicode)
            at = places[row.source] - 1 - len(words)
        else:
            words = _cut(words, width - at, unicode)
        cells[at : at + len(words)] = words
        return "".join(cells).rstrip()
    low, high = sorted((places[row.source], places[row.target]))
    room = high - low - 1
    ends = row.arrow.state in ("lost", "refused")
    fill = pens.faint if ends or row.arrow.state == "under way" else pens.line
    shaft = f" {_words(row, room - 3, unicode)} " if room > 6 else ""
    shaft = shaft.center(room - 1, fill)
    if row.target > row.source:
        shaft += pens.end if ends else pens.right
    else:
        shaft = (pens.end if ends else pens.left) + shaft
    cells[low + 1 : high] = shaft
    return "".join(cells).rstrip()


def _words(row: Row, most: int, unicode: bool) -> str:
    """The label, its command cut first: the task tells one arrow from the next."""
    command, _, task = row.label.rpartition(" ") if row.arrow.task is not None else ("", "", row.label)
    if command and len(row.label) > most and most - len(task) > 2:
        return f"{_cut(command, most - len(task) - 1, unicode)} {task}"
    return _cut(row.label, most, unicode)


def _blank(places: list[int], width: int, pens: _Pens) -> str:
    cells = [" "] * width
    for at in places:
        cells[at] = pens.lane
    return "".join(cells)


def _cut(words: str, most: int, unicode: bool) -> str:
    if not unicode:
        words = words.encode("ascii", "replace").decode("ascii")
        return words if len(words) <= most else words[: max(0, most - 1)] + "~"
    return plain(words, max(1, most))


# ---- SVG ---------------------------------------------------------------------------------------------------------

_STEP, _LANE, _LEFT, _TOP = 24, 190, 90, 56  # pixels: between rows, between lanes, before the first lane, above rows

_STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#222}.n{font-weight:bold;text-anchor:middle}"
    ".t{fill:#777}.l{stroke:#bbb}.m{text-anchor:middle}"
    ".a{stroke:#222;fill:none;marker-end:url(#h)}.u{stroke-dasharray:3 3}.x{stroke:#b00020;stroke-dasharray:3 3}"
)


def svg(diagram: Ladder) -> str:
    """The diagram as one SVG document (UTF-8, no scripts, nothing fetched)."""
    width = _LEFT + _LANE * max(1, len(diagram.lanes))
    height = _TOP + _STEP * (len(diagram.rows) + 1)
    x = [_LEFT + _LANE // 2 + _LANE * at for at in range(len(diagram.lanes))]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="h" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,1 L7,4 L0,7 z"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for at, name in zip(x, diagram.lanes, strict=True):
        parts.append(f'<text class="n" x="{at}" y="24">{_safe(name)}</text>')
        parts.append(f'<line class="l" x1="{at}" y1="34" x2="{at}" y2="{height - 8}"/>')
    for number, row in enumerate(diagram.rows):
        parts += _svg_row(row, x, _TOP + _STEP * number)
    return "\n".join([*parts, "</svg>", ""])


def _svg_row(row: Row, x: list[int], y: int) -> list[str]:
    time = f'<text class="t" x="8" y="{y + 4}">{row.at:.4f}</text>'
    source, target = x[row.source], x[row.target]
    if source == target:
        return [time, f'<text x="{source + 8}" y="{y + 4}">{_safe(row.label)}</text>']
    kind = {"lost": "a x", "refused": "a x", "under way": "a u"}.get(row.arrow.state, "a")
    return [
        time,
        f'<line class="{kind}" x1="{source}" y1="{y}" x2="{target}" y2="{y}"/>',
        f'<text class="m" x="{(source + target) // 2}" y="{y - 4}">{_safe(row.label)}</text>',
    ]


def _safe(words: str) -> str:
    """Text for XML: ``plain`` leaves no control character, which no escape could save."""
    return escape(plain(words))
