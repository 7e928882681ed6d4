"""Throughput, backlog, latency and lost workers over one stretch of time, one above the other; of disk queues two."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from console import keys
from console.host import Host
from console.screens.layer import Layer
from console.widgets.chart import Backlog, Chart, Delay, Lost, Throughput
from console.widgets.keybar import KeyBar


class Charts(Layer):
    """All charts share one cursor, so what was slow and why stand in one column."""

    OPENED_BY = "charts"
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.SPAN, *keys.CHART, *keys.RUNS))]
    app: Host

    def __init__(self, charts: tuple[Chart, ...] = ()) -> None:
        """``charts``: in place of those of a broker."""
        super().__init__()
        self.charts = charts or (
            Throughput(id="throughput"),
            Backlog(id="backlog"),
            Delay(id="delay"),
            Lost(id="lost"),
        )

    def compose(self) -> ComposeResult:
        """The charts and the key bar."""
        with Container(id="charts"):
            yield from self.charts
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Keys move the cursor of all charts, so none of them has the keyboard."""
        for chart in self.charts:
            chart.can_focus, chart.compares = False, True
        self.set_focus(None)

    def show(self, picture: Any) -> None:
        """Show a picture; also while the main screen is paused."""
        for chart in self.charts:
            chart.show(picture)

    def action_move(self, step: int) -> None:
        """Move all cursors."""
        for chart in self.charts:
            chart.action_move(step)

    def action_unmark(self) -> None:
        """Remove the cursors."""
        for chart in self.charts:
            chart.action_unmark()

    def action_back(self) -> None:
        """To the screen before."""
        self.dismiss()
