"""A recording of the console as one animated SVG: frames drawn from its cells, shown one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from engine.faults.faults import plan
from engine.faults.watch import Watch
from engine.parts.bulk import BulkSpec
from tests.helpers.protocols import User

CELL, ROW, MARGIN, BASE = 8.4, 17, 12, 13  # pixels: a cell's width and height, around all, from a row's top to its text
INK, GROUND = "#dbe3ec", "#0f151c"  # where a cell has no colour of its own
Row = tuple[tuple[str, str, str, bool], ...]  # text, ink, ground, bold


class Frame(NamedTuple):
    """What stands on the screen, for how long, and what is said of it."""

    seconds: float
    caption: str
    rows: tuple[Row, ...]


def rows_of(strips: Iterable[Iterable[Segment]]) -> tuple[Row, ...]:
    """The screen's cells; neighbours that look the same are one piece."""
    return tuple(_row(strip) for strip in strips)


def _row(strip: Iterable[Segment]) -> Row:
    pieces: list[tuple[str, str, str, bool]] = []
    for text, style, _ in strip:
        style = style or Style.null()
        ink, ground = _hex(style.color, INK), _hex(style.bgcolor, GROUND)
        if style.reverse:
            ink, ground = ground, ink
        look = (ink, ground, bool(style.bold))
        if pieces and (pieces[-1][1:] == look or (not text.strip() and pieces[-1][2] == ground)):
            pieces[-1] = (pieces[-1][0] + text, *pieces[-1][1:])
        else:
            pieces.append((text, *look))
    return tuple(pieces)


def _hex(color: Color | None, otherwise: str) -> str:
    return otherwise if color is None or color.is_default else color.get_truecolor().hex


def animated(frames: Sequence[Frame], columns: int) -> str:
    """The SVG. A row that stands in several frames is drawn once. Who shows no animation shows the first frame."""
    whole = sum(frame.seconds for frame in frames)
    rows: dict[Row, str] = {}
    inks: dict[tuple[str, bool], str] = {}
    shown, styles, begin = [], [], 0.0
    for number, (seconds, caption, lines) in enumerate(frames):
        at_first = "hidden" if begin else "visible"
        end = begin + seconds
        first, last = 100 * begin / whole, 100 * end / whole
        hides = "" if end >= whole else f"{last:.2f}%{{visibility:hidden}}"
        styles.append(
            f"@keyframes k{number}{{0%{{visibility:{at_first}}}"
            f"{first:.2f}%{{visibility:visible}}{hides}}}"
            f"#f{number}{{visibility:{at_first};animation:k{number} {whole:g}s step-end infinite}}"
        )
        uses = "".join(
            f'<use href="#{rows.setdefault(row, f"r{len(rows)}")}" y="{y * ROW}"/>' for y, row in enumerate(lines)
        )
        said = f'<text class="c" y="{len(lines) * ROW + 26}">{escape(caption)}</text>'
        shown.append(f'<g id="f{number}">{uses}{said}</g>')
        begin = end
    drawn = [f'<g id="{name}">{_drawn(row, inks)}</g>' for row, name in rows.items()]
    styles += [f".{name}{{fill:{ink}{';font-weight:bold' if bold else ''}}}" for (ink, bold), name in inks.items()]
    width, height = columns * CELL + 2 * MARGIN, max(len(frame.rows) for frame in frames) * ROW + 2 * MARGIN + 28
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">',
            '<style>text{font:14px "Fira Code",Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}',
            f".c{{font-size:16px;fill:{INK}}}",
            *styles,
            f'</style><rect width="100%" height="100%" rx="8" fill="{GROUND}"/><defs>',
            *drawn,
            f'</defs><g transform="translate({MARGIN},{MARGIN})">',
            *shown,
            "</g></svg>\n",
        )
    )


def _drawn(row: Row, inks: dict[tuple[str, bool], str]) -> str:
    """One row at the top: its grounds, then its texts, each as wide as its cells."""
    grounds, texts, column = [], [], 0
    for text, ink, ground, bold in row:
        cells = Segment(text).cell_length
        if ground != GROUND:
            grounds.append(f'<rect x="{column * CELL:.1f}" width="{cells * CELL:.1f}" height="{ROW}" fill="{ground}"/>')
        for found in re.finditer(r"\S+(?: \S+)*", text):  # each at its column, whatever font draws it
            left, bare = column + Segment(text[: found.start()]).cell_length, found[0]
            name = inks.setdefault((ink, bold), f"i{len(inks)}")
            wide = Segment(bare).cell_length * CELL
            words = escape(bare, quote=False).replace(" ", "\u00a0")
            texts.append(
                f'<text x="{left * CELL:.1f}" y="{BASE}" textLength="{wide:.1f}" class="{name}">{words}</text>'
            )
        column += cells
    return "".join(grounds + texts)


async def film(user: User) -> list[Frame]:
    """Half a minute: pings, data streams, a worker that becomes slow and is killed, messages as a ladder."""
    frames: list[Frame] = []

    async def show(seconds: float, caption: str, *passes: float) -> None:
        for step in passes:
            user.lab.advance(step)
            await user.pass_time(step)
        frames.append(Frame(seconds, caption, rows_of(user.strips())))

    await show(3, "roundhouse: a broker, ten workers and a client, at work at once", 0.5, 0.5)
    await user.press("p")
    await show(2, "p  runs 100 pings", 0.25)
    await user.press("d")
    for _ in range(3):
        await show(1.3, "d  runs 2,000 data streams, all at once: the backlog fills", 0.0625)
    await show(2.1, "d  the run has ended: histogram, percentiles, books", 1)
    user.lab.run(BulkSpec("ping", 50_000, rate=400.0, in_flight=80, timeout=30.0))
    await show(2, "a longer run: 50,000 pings, 400 a second", *[0.25] * 16)
    Watch(user.lab, plan(user.lab, "slow w7 0.4")).begin()
    await show(3, "w7 becomes slow: its p99 and the latency tell", *[0.25] * 24)
    Watch(user.lab, plan(user.lab, "kill w7")).begin()
    await show(3, "w7 is killed: the broker takes back what it held, and others do it", *[0.25] * 2)
    await show(3, "nothing is lost: the run goes on", *[0.25] * 24)
    await user.press("T")
    user.lab.advance(0.25)
    await user.pass_time(0.25)
    await user.press("L")
    await show(5, "L  every message as an arrow, with the rule of the seed", 0.25)
    await user.press("q", "q")
    await show(3, "q  goes back", 0.25)
    return frames
