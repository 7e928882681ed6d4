"""The flow strip: client → broker → workers, with what goes forward above and what comes back below."""

from __future__ import annotations

from textual.strip import Strip

from console import units
from console.pictures.bridge import Picture
from console.text import fit
from console.widgets.ink import EIGHTHS, Panel, Parts, cells, spread, values
from console.widgets.workers import STATES, squares
from engine.parts.view import State

_DASH, _PERIOD = 3, 6  # a thick dash and a thin one make a period
_ORDER: tuple[State, ...] = ("late", "silent", "lost", "drain")


def speed(rate: float) -> int:
    """Half cells that the dashes move in one refresh: they stand still at 0, and never seem to run backwards."""
    return 0 if rate <= 0 else 1 if rate < 10 else 2 if rate < 1000 else 4


def lane(rate: float, phase: int, width: int, forward: bool) -> Parts:
    """A line with its rate in the middle and an arrow at its end; ``phase`` is in half cells."""
    ink = "flow" if forward else "back"
    figure = f" {units.short(rate)}/s " if width >= 12 else ""
    room = max(0, width - len(figure) - 1)
    shift = phase // 2
    dashes = "".join("━" if (x - shift) % _PERIOD < _DASH else "─" for x in range(room))
    if rate <= 0:
        dashes, ink = "─" * room, "faint"
    left, right = dashes[: room // 2], dashes[room // 2 :]
    number = (figure, f"{ink} bold" if rate > 0 else "label")
    if forward:
        return [(left, ink), number, (right + "▶", ink)]
    return [("◀" + left[::-1], ink), number, (right[::-1], ink)]


def spark(samples: tuple[int, ...], width: int) -> str:
    """The newest samples as blocks, the peak of each group kept."""
    group = max(1, len(samples) // width) if width else 1
    peaks = [max(samples[i : i + group]) for i in range(len(samples) % group, len(samples), group)][-width:]
    top = max(peaks, default=0)
    if not top:
        return "▁" * width
    return "".join(EIGHTHS[max(1, round(peak / top * 8))] for peak in peaks).rjust(width, "▁")


class FlowStrip(Panel):
    """Three boxes and two lanes; one line where there is little room."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._picture: Picture | None = None
        self._phase = [0, 0, 0]

    def show(self, picture: Picture) -> None:
        """Show a picture; the dashes move on."""
        self._picture = picture
        for place, rate in enumerate(picture.rates):
            self._phase[place] += speed(rate)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """Four lines, or one."""
        picture = self._picture
        if picture is None:
            return []
        if height < 4 or width < 100:
            return [self.line(self._flat(picture, width), width)]
        inner = 25 if width < 140 else 27
        space = width - 3 * (inner + 2) - 4
        first, second = space // 2, space - space // 2
        boxes = [
            self._box("client", *self._client(picture, inner), inner),
            self._box("broker", *self._broker(picture, inner), inner),
            self._box("workers", *self._workers(picture, inner), inner),
        ]
        rates, phase = picture.rates, self._phase
        lanes = [
            (lane(rates.sent, phase[0], first, True), lane(rates.given, phase[1], second, True)),
            (lane(rates.done, phase[2], first, False), lane(rates.done, phase[2], second, False)),
        ]
        gap = ([(" " * first, "text")], [(" " * second, "text")])
        between = [gap, *lanes, gap]
        lines = []
        for y in range(4):
            one, two = between[y]
            pad: Parts = [(" ", "text")]
            lines.append(
                self.line([*boxes[0][y], *pad, *one, *pad, *boxes[1][y], *pad, *two, *pad, *boxes[2][y]], width)
            )
        return lines

    def _box(self, title: str, upper: Parts, lower: Parts, inner: int) -> list[Parts]:
        rule = "─" * (inner - len(title) - 3)
        side: Parts = [("│", "frame")]
        return [
            [("╭─ ", "frame"), (title, "text bold"), (f" {rule}╮", "frame")],
            *([*side, *_padded(line, inner), *side] for line in (upper, lower)),
            [("╰" + "─" * inner + "╯", "frame")],
        ]

    def _client(self, picture: Picture, inner: int) -> tuple[Parts, Parts]:
        run = picture.run
        if run is None:
            linked = picture.client is not None and picture.client.linked
            return [("idle", "label")], [("linked", "good") if linked else ("not linked", "warn")]
        spec = run.spec
        pace = f"{units.short(spec.rate)}/s" if spec.rate else f"window {spec.in_flight}"
        kind = ("bulk" if spec.n > 1 else "") + spec.kind
        out = run.ledger.in_flight
        upper: Parts = [(kind, "accent"), (f" {pace}" if run.state != "ended" else " ended", "label")]
        return upper, [("in flight ", "label"), *squares(out, spec.in_flight, 8), (f" {units.short(out)}", "text bold")]

    def _broker(self, picture: Picture, inner: int) -> tuple[Parts, Parts]:
        broker = picture.broker
        if broker is None:
            return [("elsewhere", "label")], []
        number = fit(units.short(broker.backlog), 5, right=True)
        upper: Parts = [("backlog ", "label"), (number, "text bold" if broker.backlog else "text"), (" ", "text")]
        upper.append((spark(picture.backlog, inner - 3 - cells(upper)), "flow" if broker.backlog else "faint"))
        held = units.short(broker.in_flight)
        return upper, values([("in flight", fit(held, 5, right=True), "text bold" if broker.in_flight else "text")])

    def _workers(self, picture: Picture, inner: int) -> tuple[Parts, Parts]:
        tally = picture.tally
        used = tally.slots - tally.free
        figure = f"{units.short(used)}/{units.short(tally.slots)}"
        return self._counts(picture), [
            ("slots ", "label"),
            *squares(used, tally.slots, inner - 9 - len(figure)),
            (f" {figure}", "text"),
        ]

    def _counts(self, picture: Picture) -> Parts:
        tally = picture.tally
        parts: Parts = [
            ("● ", "good" if tally.of("ready", "busy") else "faint"),
            (units.short(tally.of("ready", "busy")), "good bold"),
        ]
        for state in _ORDER:
            if number := tally.of(state):
                glyph, ink = STATES[state]
                parts += [(f" {glyph} ", ink), (units.short(number), f"{ink} bold")]
        return parts

    def _flat(self, picture: Picture, width: int) -> Parts:
        backlog = picture.broker.backlog if picture.broker else 0
        tally = picture.tally
        client: Parts = [(" client ", "text bold")]
        queued = fit(units.short(backlog), 4, right=True)
        broker: Parts = [(" broker ", "text bold"), (spark(picture.backlog, 6), "flow" if backlog else "faint")]
        broker += [(queued, "text bold"), (" queued ", "label")]
        workers: Parts = [
            (f" {units.count(sum(tally.states.values()))}  ", "text"),
            *self._counts(picture),
            (" ", "text"),
        ]
        if width < 60:
            return spread([("backlog ", "label"), (queued, "text bold")], workers, width)
        room = width - cells(client) - cells(broker) - cells(workers) - cells([(" workers", "")])
        last = room // 2 if room >= 28 else 3  # so that the first lane can tell its rate
        one = lane(picture.rates.sent, self._phase[0], max(2, room - last), True)
        two = lane(picture.rates.given, self._phase[1], last, True)
        return [*client, *one, *broker, *two, (" workers", "text bold"), *workers]


def _padded(line: Parts, inner: int) -> Parts:
    taken = cells(line)
    return [(" ", "text"), *line, (" " * max(0, inner - 1 - taken), "text")]
