"""Another process at the console."""

from __future__ import annotations

from typing import Any

from console import keys
from console.sessions.cost import KEPT
from console.sessions.session import Session
from engine.tracing.ring import Ring


class RemoteSession(Session[Any]):
    """A lab of another process. What a trace costs there, is not measured here."""

    def listen(self) -> Ring[Any]:
        """A trace to attach to the lab."""
        trace: Ring[Any] = self.lab.trace(KEPT)
        return trace

    @property
    def tour(self) -> str:
        """Of what only looks on."""
        return self.kind.tour_away

    @property
    def idle_keys(self) -> frozenset[str]:
        """Those of runs, where there is no client to run them."""
        alone = getattr(self.picture, "client", True) is None
        return frozenset(key.id for key in keys.RUNS) if alone else frozenset()
