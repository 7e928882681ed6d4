"""The bar and the keys for moving through a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.strip import Strip
from textual.widgets import Input

from console import units
from console.host import Host
from console.screens.page import Page
from console.sessions.replay import SPEEDS, Playing
from console.text import clean
from console.widgets.ink import Panel, Parts, cells, spread
from engine.errors import Refused

OWN = ("play", "step", "seek", "edge", "speed", "why")


class Transport(Panel):
    """The position in the recording, and whether the cores do what was recorded."""

    def __init__(self, playing: Playing, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._playing = playing

    def draw(self, width: int, height: int) -> list[Strip]:
        """Two lines: the bar, and in words."""
        playing, lab = self._playing, self._playing.recording
        length = max(1e-9, lab.end - lab.started)
        state: Parts = [(" ▶ ", "good bold")] if playing.playing else [(" ‖ ", "warn bold")]
        state.append((f"×{SPEEDS[playing.speed]:g} ", "text"))
        times: Parts = [(f" {lab.now - lab.started:.4f}", "text bold"), (f" of {length:.2f} s ", "label")]
        room = max(4, width - cells(state) - cells(times))
        place = min(room - 1, round((lab.now - lab.started) / length * (room - 1)))
        bar: Parts = [("━" * place, "busy"), ("●", "accent bold"), ("─" * (room - 1 - place), "faint")]
        record: Parts = [(f" record {units.count(lab.position)} of {units.count(lab.last)}", "label")]
        if lab.replay.cut:
            record.append((f" · cut: {clean(lab.replay.cut)}; it ends at its last whole block", "warn"))
        return [
            self.line([*state, *bar, *times], width),
            self.line(spread(record, [*self._compared(), (" ", "text")], width), width),
        ]

    def _compared(self) -> Parts:
        lab = self._playing.recording
        found = lab.replay.differences
        if lab.broken:
            return [("× ends where a core could not go on", "bad bold")]
        if not found:
            return [("✓ replayed as recorded", "good")]
        first = found[0]
        words = f"× {len(found)} differences, first {first.at - lab.started:.3f} s by {clean(first.name)}"
        return [(words, "bad bold")]


class Moves:
    """The keys of a recording's screen, as a mixin. List it before the other bases."""

    app: Any
    playing: Playing

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, keys are text. A recording takes no orders."""
        if action in OWN and isinstance(self.app.focused, Input):
            return False
        allowed: bool | None = super().check_action(action, parameters)  # type: ignore[misc]
        return allowed

    def action_play(self) -> None:
        """Play, from the beginning where it stands at the end; or hold."""
        playing = self.playing
        if not playing.playing and playing.recording.position == playing.recording.last:
            playing.recording.seek(0)
        playing.playing = not playing.playing
        self.app.tick()

    def action_step(self, way: int) -> None:
        """By one message, or one document's new name."""
        self.playing.playing = False
        if not self.playing.recording.step_message(way > 0):
            self.app.say("this is the end" if way > 0 else "this is the beginning")
        self.app.tick()

    def action_seek(self, seconds: int) -> None:
        """By recorded seconds."""
        self.playing.recording.seek_time(self.playing.recording.now + seconds)
        self.app.tick()

    def action_edge(self, tenth: int) -> None:
        """To a tenth of the recording."""
        lab = self.playing.recording
        if tenth in (0, 10):
            lab.seek(0 if tenth == 0 else lab.last)
        else:
            lab.seek_time(lab.started + (lab.end - lab.started) * tenth / 10)
        self.app.tick()

    def action_why(self) -> None:
        """Of the last choice before the position."""
        explain(self.app, self.playing.recording.why_last)

    def action_speed(self, step: int) -> None:
        """Faster or slower."""
        self.playing.speed = max(0, min(len(SPEEDS) - 1, self.playing.speed + step))
        self.app.tick()


def explain(app: Host, why: Callable[[], str]) -> None:
    """Open a page with the reasons, or show a notice why there are none."""
    try:
        words = why()
    except Refused as refusal:
        app.say(str(refusal), "warn")
    else:
        app.open_screen(Page("why?", [[(clean(line), "text")] for line in words.split("\n")]))
