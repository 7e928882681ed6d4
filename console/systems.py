"""How each system shows itself in its protocol's own words. One that is not here shows its terms as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from console.pictures.rows import Shown
from console.screens.conversation import COLUMNS as CONVERSATION
from console.screens.conversation import Conversation
from console.screens.negotiated import COLUMNS as NEGOTIATED
from console.screens.negotiated import Negotiated
from console.screens.pingpong import COLUMNS as PINGPONG
from console.screens.pingpong import PingPong
from console.screens.terms import Terms
from console.widgets.table import Column
from console.widgets.workers import COLUMNS, with_own


class View(NamedTuple):
    """The columns of the worker table, and the screen of the protocol."""

    columns: tuple[Column[Shown], ...] = COLUMNS
    screen: Callable[[], Terms] = Terms


VIEWS = {
    "pingpong": View(with_own(PINGPONG, without=("rtt", "slots")), PingPong),
    "conversation": View(with_own(CONVERSATION, without=("rtt", "in-flight")), Conversation),
    "negotiated": View(with_own(NEGOTIATED, without=("rtt",)), Negotiated),
}
"""A ping-pong worker has one slot; a conversation's running processors say what is in flight; and only the broker of
round robin knows round trips.
"""


def view_of(name: str) -> View:
    """The view of the system of this name."""
    return VIEWS.get(name, View())
