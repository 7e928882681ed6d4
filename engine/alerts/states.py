"""The states of an alert as a table: (state, event) → the next state. An event that has no row changes nothing.

The events: ``over``: the condition holds. ``due``: it has held for long enough. ``under``: it does not hold any more.
``acknowledge`` and ``silence``: an operator said so. ``expire``: the silence is over, or was ended.
"""

from __future__ import annotations

from typing import Literal

State = Literal["cleared", "pending", "firing", "acknowledged", "silenced"]
On = Literal["over", "due", "under", "acknowledge", "silence", "expire"]

TABLE: dict[tuple[State, On], State] = {
    ("cleared", "over"): "pending",
    ("cleared", "silence"): "silenced",
    ("pending", "due"): "firing",
    ("pending", "under"): "cleared",
    ("pending", "silence"): "silenced",
    ("firing", "under"): "cleared",
    ("firing", "acknowledge"): "acknowledged",
    ("firing", "silence"): "silenced",
    ("acknowledged", "under"): "cleared",
    ("acknowledged", "silence"): "silenced",
    ("silenced", "expire"): "cleared",
}


def after(state: State, event: On) -> State:
    """The state after an event."""
    return TABLE.get((state, event), state)
