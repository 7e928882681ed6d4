"""The diagram: the seed's dialogue of each system as text, folding, widths, and SVG that stays XML."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import SYSTEMS
from engine.core import Note, Received, Send
from engine.parts.bulk import BulkSpec
from engine.protocols.diskqueue.operations import Done, Rename, Take
from engine.protocols.pingpong.broker import BACKEND
from engine.protocols.pingpong.frontend import FRONTEND
from engine.tracing.ladder import HEAD, OTHERS, ladder, svg, text
from engine.tracing.links import Arrow
from engine.tracing.operations import Operations
from engine.tracing.trace import Trace
from tests.helpers.examples import examples
from tests.helpers.traces import Watched

# A worker joins and a task goes its way, from left to right: client, broker, worker. Heartbeats and times are left out.
DIALOGUES = """
= roundrobin
             client                     broker                       w1
               │                          │                          │
               │                          │◀──────── REGISTER ───────│
               │                          │── RESPONSE to REGISTER ─▶│
               │──── TRACKEXEC PING 0 ───▶│                          │
               │                          │──── TRACKEXEC PING 0 ───▶│
               │                          │◀─────── RESPONSE 0 ──────│
               │                          │◀─────── INCREMENT ───────│
               │◀─────── RESPONSE 0 ──────│                          │

= conversation
             client                     broker                       w1
               │                          │                          │
               │                          │◀──────── opening ────────│
               │                          │─────────── OK ──────────▶│
               │                          │◀─────────── OK ──────────│
               │                          │─────────── OK ──────────▶│
               │──────── Submit 1 ───────▶│                          │
               │                          │───────── JOB 1 ─────────▶│
               │                          │◀──────── UPDATE 1 ───────│
               │◀────── TaskEnded 1 ──────│                          │
               │                          │─────────── OK ──────────▶│

= pingpong
             client                     broker                       w1
               │                          │                          │
               │                          │◀───────── READY ─────────│
               │─────── request 0 ───────▶│                          │
               │                          │───────── job 0 ─────────▶│
               │                          │◀──────── result 0 ───────│
               │◀───────── DONE 0 ────────│                          │

= negotiated
             client                     broker                       w1
               │                          │                          │
               │                          │◀────── CHECKCONFIG ──────│
               │────── CHECKCONFIG ──────▶│                          │
               │◀───────── CONFIG ────────│                          │
               │                          │───────── CONFIG ────────▶│
               │                          │◀───────── READY ─────────│
               │                          │──────── READYOK ────────▶│
               │───── WORKREQUEST 0 ─────▶│                          │
               │                          │───── WORKREQUEST 0 ─────▶│
               │                          │◀────── WORKREPLY 0 ──────│
               │◀────── WORKREPLY 0 ──────│                          │
"""


def dialogue(name: str) -> list[Arrow]:
    system = SYSTEMS[name]
    watched = Watched(system, workers=1, options=system.options(packed=False) if name == "roundrobin" else None)
    watched.run(BulkSpec("ping", 1), 0.5)
    beats = ("PING", "PONG", "keep-alive")
    return [arrow for arrow in watched.trace.arrows() if arrow.entry.command not in beats and arrow.state != "note"]


@pytest.mark.parametrize("block", DIALOGUES.strip().split("\n= "))
def test_the_seeds_dialogue(block: str) -> None:
    name, *lines = block.removeprefix("= ").strip().splitlines()
    assert [line[9:] for line in text(ladder(dialogue(name)), 92)] == lines


def pool(workers: int, note: str = "") -> Trace:
    """A broker that hears so many workers that nobody traces, and a client; the last worker is the busiest."""
    system = SYSTEMS["pingpong"]
    trace = Trace(system)
    trace.seated("broker", "broker", "broker", system.broker(system.options(), ["inproc://x"]))
    for number in range(workers):
        heard = Received([[b"w%d" % number, b"", b"PING"]] * (2 if number == workers - 1 else 1), BACKEND)
        trace.tap("broker", "broker", float(number), heard, [Send([b"w%d" % number, b"", b"PONG"], BACKEND)])
    asked = Received([[b"c", b"", (7).to_bytes(8, "little"), b"ping"]], FRONTEND)
    trace.tap("broker", "broker", 99.0, asked, [Note("warn", note)] if note else [])
    return trace


def test_lanes_of_peers_that_are_not_traced_stand_where_their_words_put_them() -> None:
    diagram = ladder(pool(2).arrows())
    assert diagram.lanes == ("c", "broker", "w0", "w1")
    assert [(row.source, row.target, row.label) for row in diagram.rows][-1] == (0, 1, "request 7")


def test_the_least_busy_share_a_lane() -> None:
    arrows = pool(9).arrows()
    assert ladder(arrows, 4).lanes == ("broker", "w0", "w8", OTHERS)
    assert ladder(arrows, 4, first=("c", "w5")).lanes == ("c", "broker", "w5", OTHERS)
    diagram = ladder(arrows, 2)
    assert diagram.lanes == ("broker", OTHERS)
    assert {row.source for row in diagram.rows} == {0, 1}


def test_nothing_gives_an_empty_diagram() -> None:
    diagram = ladder([])
    assert (diagram.lanes, diagram.rows) == ((), ())
    assert text(diagram) == ["  seconds", ""]
    assert ElementTree.fromstring(svg(diagram)).tag.endswith("svg")


def test_ascii_has_no_other_characters() -> None:
    lines = text(ladder(pool(3, "über").arrows()), 80, unicode=False)
    assert all(line.isascii() for line in lines)
    assert lines[HEAD][9:] == "        |            |<--- PING --|            |            |"
    assert any("* ?ber" in line for line in lines)


def test_what_does_not_arrive_looks_different() -> None:
    arrows = pool(1).arrows()
    lost = [arrow._replace(state="lost") for arrow in arrows if arrow.entry.command == "PONG"]
    under_way = [arrow._replace(state="under way") for arrow in lost]
    assert text(ladder(lost), 60)[HEAD].endswith("✗│") and "┄" in text(ladder(lost), 60)[HEAD]
    assert text(ladder(under_way), 60)[HEAD].endswith("▶│") and "┄" in text(ladder(under_way), 60)[HEAD]


@examples(30)
@given(st.integers(1, 12), st.integers(2, 12), st.integers(1, 200), st.text(max_size=80), st.booleans())
def test_no_line_is_too_long_and_every_row_has_one(
    workers: int, most: int, width: int, note: str, unicode: bool
) -> None:
    diagram = ladder(pool(workers, note).arrows(), most)
    lines = text(diagram, width, unicode)
    assert len(lines) == HEAD + len(diagram.rows)
    assert max(map(len, lines)) <= max(40, width)
    assert all(line.isprintable() for line in lines)
    assert all(earlier.at <= later.at for earlier, later in pairwise(diagram.rows))


@examples(30)
@given(st.text(max_size=60))
def test_svg_is_xml_whatever_a_peer_says(note: str) -> None:
    diagram = ladder(pool(2, f'<&"{note}').arrows())
    drawn = ElementTree.fromstring(svg(diagram))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) == len(diagram.lanes) + 2 * len(diagram.rows)
    assert any((said or "").startswith('<&"') for said in texts)


def test_lanes_stand_in_the_order_that_somebody_says_and_narrow_ones_keep_the_task() -> None:
    trace = Operations(("start", "parse"))
    take = Take("/queue-start", "d1.ready", "d1.7.working")
    trace.tap("parse.7", "parse.7", 1.0, Done(take), [])
    trace.tap("parse.7", "parse.7", 2.0, Done(Rename("/queue-parse", "d1.7.writing.xml", "d1.ready")), [])
    assert ladder(trace.arrows()).lanes == ("start", "parse", "parse.7")
    diagram = ladder(trace.arrows(), order=("parse", "start"))
    assert diagram.lanes == ("parse", "start", "parse.7")
    lines = text(ladder(trace.arrows(), order=trace.lanes), 44)
    assert lines[2].rstrip() == "   0.0000       \u2502 TAKE d1 \u25b6\u2502          \u2502"
    assert lines[3].rstrip() == "   1.0000       \u2502          \u2502 PUB\u2026 d1 \u25b6\u2502"
