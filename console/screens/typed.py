"""The ``:`` line of a screen of disk queues."""

from __future__ import annotations

from textual.widget import Widget

from console.commands import QUEUE_WORDS, CommandError, parse
from console.history import History
from console.host import Host
from console.widgets.keybar import KeyBar
from console.widgets.prompt import Prompt


class Typed:
    """A mixin: a screen with a command line in place of its key bar. List it before the other bases."""

    app: Host
    keybar: KeyBar
    typist: Widget | None = None  # who has the keyboard when nothing is typed

    def make_prompt(self, history: History) -> None:
        """The line, hidden."""
        self.prompt = Prompt(history, QUEUE_WORDS, id="prompt")
        self.prompt.display = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, keys are text and no orders."""
        return not (action == "command" and self.prompt.display)

    def action_command(self) -> None:
        """Type a command."""
        self.typist = self.app.screen.focused
        self.keybar.display = False
        self.prompt.open(":")

    def _close(self) -> None:
        self.prompt.close()
        self.keybar.display = True
        self.app.screen.set_focus(self.typist)

    def on_prompt_left(self) -> None:
        """Escape."""
        self._close()

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        """Do what was typed."""
        self._close()
        if event.line:
            self.app.remember(event.line)
            try:
                command = parse(event.line, QUEUE_WORDS)
            except CommandError as error:
                self.app.say(str(error), "bad")
            else:
                self.app.perform(command)
