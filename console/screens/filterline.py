"""The ``/`` line of a screen: what is typed there filters its list, while it is typed."""

from __future__ import annotations

from abc import abstractmethod

from textual.screen import Screen
from textual.widget import Widget

from console.widgets.keybar import KeyBar
from console.widgets.prompt import Prompt


class FilterLine(Screen[None]):
    """A screen with a list, a key bar, and a ``prompt`` that takes the place of the key bar."""

    keybar: KeyBar
    prompt: Prompt

    @property
    @abstractmethod
    def listed(self) -> Widget:
        """The list, which has the focus while no line is typed."""

    @property
    @abstractmethod
    def filtered(self) -> str:
        """The filter that is set, as it was typed; empty for none."""

    @abstractmethod
    def perform_filter(self, text: str) -> None:
        """Set a filter, or none where the text is empty. One that is wrong is said, and changes nothing."""

    @abstractmethod
    def try_filter(self, text: str) -> str:
        """What is wrong with a filter that is being typed; empty where it is right, and then it may hold already."""

    def action_filter(self) -> None:
        """Type a filter, beginning with the one that is set."""
        self.keybar.display = False
        self.prompt.open("/", self.filtered)

    def on_prompt_edited(self, event: Prompt.Edited) -> None:
        """Mark a filter that is wrong while it is typed."""
        self.prompt.mark(self.try_filter(event.line))

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        """Set the filter that was typed."""
        self._close()
        self.perform_filter(event.line)

    def on_prompt_left(self) -> None:
        """Escape on the filter line also clears the filter."""
        self._close()
        self.perform_filter("")

    def _close(self) -> None:
        self.prompt.close()
        self.keybar.display = True
        self.set_focus(self.listed)
