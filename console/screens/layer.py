"""Base classes of screens that lie on top of others and are closed once.

Keys come faster than screens go: a second escape, or a second enter, is still for the one that has just been left.
Textual then takes away whatever is on top by that time, and ends the application where that is the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.command import CommandList, CommandPalette
from textual.css.query import NoMatches
from textual.screen import ModalScreen, Screen, ScreenResultType

from console import keys


class Once:
    """A screen that closes only while it is on top.

    Messages may still arrive while it closes, so its widgets stay available.
    """

    is_active: bool
    is_mounted: bool
    call_later: Callable[..., bool]
    children: Sequence[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._had: dict[Any, Any] = {}
        self._built = False
        super().__init__(*args, **kwargs)

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Leave it, with a result; nothing where it has been left, or another one lies above it."""
        left: AwaitComplete
        if self.is_active and not self.is_mounted:  # its parts are being made: when that is done
            self.call_later(self.dismiss, result)
            left = AwaitComplete.nothing()  # type: ignore[no-untyped-call]
        elif self.is_active:
            left = super().dismiss(result)  # type: ignore[misc]
        else:
            left = AwaitComplete.nothing()  # type: ignore[no-untyped-call]
        return left

    async def on_event(self, event: events.Event) -> None:
        """A screen that is closed before it was built is neither mounted nor unmounted."""
        if isinstance(event, events.Mount):
            self._built = bool(self.children)
        if self._built or not isinstance(event, events.Mount | events.Unmount):
            await super().on_event(event)  # type: ignore[misc]

    def query_one(self, selector: Any, expect_type: Any = None) -> Any:
        """The part that fits."""
        find: Any = super().query_one  # type: ignore[misc]
        try:
            found = find(selector) if expect_type is None else find(selector, expect_type)
        except NoMatches:
            if selector not in self._had:
                raise
            return self._had[selector]
        self._had[selector] = found
        return found


class Layer(Once, Screen[None]):
    """A screen to read and close. ``OPENED_BY``: the id of the key that leads here, which the key bar leaves out."""

    OPENED_BY: ClassVar[str] = ""


class Question(Once, ModalScreen[ScreenResultType]):
    """A dialog; the screen below stays visible. It need not be answered to quit: ctrl+c quits as ctrl+q does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *keys.bindings(tuple(key._replace(action="app.quit") for key in keys.APP if key.id == "quit.ask"))
    ]


class Palette(Once, CommandPalette):
    """Every command, to be searched. It has no id: one may be opened while another is still closing."""

    def on_mount(self) -> None:
        """Remember the list, for keys that come after it has gone."""
        self.query_one(CommandList)

    def _action_command_list(self, action: str) -> None:
        """Keys for the list; one that is not on the screen yet, or no longer, knows no pages."""
        if self._ready and self.query_one(CommandList).size:
            super()._action_command_list(action)

    def _action_cursor_down(self) -> None:
        """Move down into the list."""
        if self._ready:
            super()._action_cursor_down()

    @property
    def _ready(self) -> bool:
        return self.is_active and self._built
