"""Each stage's throughput, and its shares of time: working, waiting for documents, waiting for room."""

from __future__ import annotations

from textual.content import Content
from textual.strip import Strip

from console import units
from console.pictures.queuebridge import QueuePicture
from console.text import clean, fit
from console.widgets.drivers import shares
from console.widgets.ink import Inked, Parts, cells, spread
from console.widgets.queuestrip import STATES
from engine.protocols.diskqueue.config import DriverTimes
from engine.protocols.diskqueue.pipeline import StageRow

_SHARES = (("work", "busy", "█"), ("wait", "faint", "░"), ("block", "warn", "▓"), ("overhead", "label", "▒"))


def bar(times: DriverTimes, width: int) -> Parts:
    """The shares side by side, each in its own ink and its own shade."""
    parts: Parts = []
    done, sum_ = 0, 0.0
    for (_, share), (_, ink, block) in zip(shares(times), _SHARES, strict=True):
        sum_ += share
        end = round(sum_ / 100 * width)
        parts.append((block * (end - done), ink))
        done = end
    return [*parts, ("░" * (width - done), "faint")]


class Stages(Inked):
    """Two lines for each stage; where there is no room for all, those around the chosen one."""

    BORDER_TITLE = "stages"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._picture: QueuePicture | None = None
        self._chosen = 0
        self.border_subtitle = Content(" " + "  ".join(f"{block} {name}" for name, _, block in _SHARES) + " ")

    def show(self, picture: QueuePicture, chosen: int) -> None:
        """Show a picture."""
        self._picture, self._chosen = picture, chosen
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """As many as fit."""
        if self._picture is None:
            return []
        stages = self._picture.view.stages
        shown = max(1, height // 2)
        first = min(max(0, self._chosen - shown // 2), max(0, len(stages) - shown))
        lines: list[Parts] = []
        for place, stage in list(enumerate(stages))[first : first + shown]:
            lines += [self._title(stage, place == self._chosen, width - 2), self._times(stage, width - 2)]
        return [self.line([(" ", "text"), *line], width) for line in lines]

    @staticmethod
    def _title(stage: StageRow, chosen: bool, width: int) -> Parts:
        glyph, ink = STATES[stage.state]
        left: Parts = [("▸" if chosen else " ", "accent bold")]
        left += [
            (fit(clean(stage.name), 10), "accent bold" if chosen else "text bold"),
            (f" {glyph} {stage.state}", ink),
        ]
        right: Parts = [(f"{units.short(stage.rate)}/s", "text bold" if stage.rate else "label")]
        each = units.duration(stage.times.work / stage.docs * 1e6) if stage.docs else "–"
        right += [(fit(each, 7, right=True), "label")]
        restarts: Parts = [(f"{units.count(stage.restarts)} died ", "warn")] if stage.restarts else []
        return spread(
            left, [*restarts, *right] if cells(left) + cells(restarts) + cells(right) < width else right, width
        )

    @staticmethod
    def _times(stage: StageRow, width: int) -> Parts:
        figures: Parts = []
        for (_, share), (_, ink, _) in list(zip(shares(stage.times), _SHARES, strict=True))[:3]:
            figures.append((fit(f"{share:.0f} %", 6, right=True), "label" if ink == "faint" or share < 0.5 else ink))
        return [(" ", "text"), *bar(stage.times, width - 1 - cells(figures)), *figures]
