"""Lines about messages: one of them to its last byte, and the life of a task."""

from __future__ import annotations

from console import units
from console.pictures.rows import short_name
from console.text import clean, fit, label, width
from console.widgets.ink import Parts
from console.widgets.messages import STATES
from engine.parts.explain import DOCUMENT, key_name
from engine.parts.inflight import TaskKey
from engine.tracing.links import Arrow, Life

EACH = 16  # bytes in one line
MOST = 4096  # bytes of one frame that are shown
_NAME = 10  # cells of a label, with the blank behind it
_LONG = 24  # of a longer one, at most


def message_lines(arrow: Arrow, started: float, zero: float | None = None) -> list[Parts]:
    """One message: what it says, its way, the rule, its frames. ``started``: what times are counted from; ``zero``:
    when that was, for times of the day."""
    entry = arrow.entry
    glyph, ink = STATES[arrow.state]
    lines: list[Parts] = [
        [
            (clean(entry.command), "text bold"),
            (f"  {short_name(arrow.source)} → {short_name(arrow.target)}  ", "text"),
            (f"{glyph} {arrow.state}", ink),
        ]
    ]
    if arrow.state == "note":
        lines = [[(f"{short_name(entry.seat)} says", "label")]]
    told = [(name, value) for name, value in entry.fields if name != "task" or arrow.task is None]
    lines += [_field(name, clean(value), "text") for name, value in told]
    if entry.violation:
        lines.append(_field("violation", clean(entry.violation), "bad bold"))
    if entry.rule:
        lines.append(_field("rule", clean(entry.rule), "accent"))
    lines.append(_field("time", _times(arrow, started, zero), "text"))
    if arrow.task is not None:
        lines.append(_field(*_task(arrow.task), "text"))
    if arrow.state == "note":
        return lines
    frames = "1 frame" if len(entry.frames) == 1 else f"{len(entry.frames)} frames"
    lines.append(_field("size", f"{units.count(entry.size)} bytes in {frames}", "text"))
    for number, frame in enumerate(entry.frames, 1):
        lines += frame_lines(number, frame)
    return lines


def _task(task: TaskKey) -> tuple[str, str]:
    """What it is, and its name."""
    name, client = clean(key_name(task)), task[0]
    return ("document", name) if client == DOCUMENT else ("task", f"{name} of {short_name(label(client))}")


def _field(name: str, value: str, ink: str) -> Parts:
    name = clean(name)
    return [(fit(name, min(max(_NAME - 1, width(name)), _LONG)) + " ", "label"), (value, ink)]


def _times(arrow: Arrow, started: float, zero: float | None) -> str:
    def time(at: float) -> str:
        return units.moment(at - started, zero, 6) + (" s" if zero is None else "")

    words = [f"{'sent' if end.direction != 'in' else 'received'} {time(end.at)}" for end in arrow.ends]
    if arrow.transit is not None:
        words.append(f"{units.duration(arrow.transit * 1e6)} under way")
    return " · ".join(words) if arrow.state != "note" else time(arrow.at)


def frame_lines(number: int, frame: bytes) -> list[Parts]:
    """One frame in hex and in text."""
    lines: list[Parts] = [[(f"frame {number}", "label"), (f"  {units.count(len(frame))} bytes", "label")]]
    for at in range(0, min(len(frame), MOST), EACH):
        part = frame[at : at + EACH]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in part)
        lines.append([(f"  {at:04x}  ", "faint"), (fit(part.hex(" "), EACH * 3), "accent"), (f" {letters}", "text")])
    if len(frame) > MOST:
        lines.append([(f"  and {units.count(len(frame) - MOST)} bytes more", "label")])
    return lines


def life_lines(life: Life, started: float, zero: float | None = None) -> list[Parts]:
    """A task's way, leg by leg, with the time that each took; ``started`` and ``zero`` as for a message."""
    wide = 12 if zero is None else 15
    head = " ".join(_task(life.task))
    given = "taken" if life.task[0] == DOCUMENT else "given"
    again = f" · {given} {life.deliveries} times" if life.deliveries > 1 else ""
    state = "ended" if life.ended else "not ended yet"
    lines: list[Parts] = [[(head, "text bold"), (f"  {state} · {units.duration(life.seconds * 1e6)}{again}", "label")]]
    when = "seconds" if zero is None else "time"
    lines += [[], [(f"{when:>{wide}}{'after':>10}  {'what':22}{'where':16}{'message':12}rule", "label")]]
    for leg in life.legs:
        late = "warn bold" if "again" in leg.what or "refused" in leg.what else "text"
        lines.append(
            [
                (f"{units.moment(leg.at - started, zero, 6):>{wide}}", "label"),
                (f"{units.duration(leg.after * 1e6):>10}  ", "text"),
                (fit(leg.what, 22), late),
                (fit(short_name(leg.where), 16), "text"),
                (fit(clean(leg.entry.command), 12), "accent"),
                (clean(leg.entry.rule), "label"),
            ]
        )
    if not life.legs:
        lines.append([("the ring no longer knows it", "label")])
    return lines
