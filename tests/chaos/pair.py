"""A pair of negotiated: a primary and its fallback in two processes, each behind a line, and a line between them.

Peers are told of the lines, so everybody reaches a broker by the same one, the probe as well. Each fault begins while
the primary serves: where the fallback does, an operator hands back first.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.chaos.house import LabManager, Well
from tests.chaos.proxy import Link
from tests.helpers.processes import SIDES, beside, free_endpoint

NAME = "negotiated-pair"
PRIMARY, FALLBACK = "primary", "fallback"
AGAIN = 1.0  # seconds after which an operator hands back again


class PairManager(LabManager):
    """The same with two brokers."""

    def __init__(self, folder: Path, seed: int, heartbeat: float = 0.5) -> None:
        super().__init__("negotiated", folder, seed, heartbeat)
        self.name = NAME
        self.pictures: dict[str, dict[str, Any] | None] = {}
        self._asked = 0.0  # when an operator handed back last

    def _lines(self) -> None:
        self.ends = {PRIMARY: self.endpoint, FALLBACK: free_endpoint()}
        self.lines = {which: self.line_to(endpoint) for which, endpoint in self.ends.items()}
        self.between = self.line_to(self.endpoint)
        told = {which: line.endpoint for which, line in self.lines.items()}
        self.options |= {**told, "peer": beside(self.between.endpoint, SIDES[-1])}

    def _peer_line(self) -> Link:
        return self.lines[PRIMARY]

    @property
    def _probed(self) -> str:
        return self.lines[PRIMARY].endpoint

    def _start_brokers(self) -> None:
        for which in self.ends:
            self.start_broker(which)

    def start_broker(self, which: str = PRIMARY) -> None:
        """At its own place, whoever was there before."""
        announced = self.lines[which].endpoint
        self.brokers[which] = self._children.broker(self.system.name, self.ends[which], self.options, announced)

    @property
    def links(self) -> list[Link]:
        """Every line."""
        return [*self.lines.values(), self.between]

    def shown(self) -> dict[str, Any] | None:
        """The picture of the one that serves; None where it is not exactly one."""
        self.pictures = {which: child.ask() for which, child in self.brokers.items()}
        serving = [shown for shown in self.pictures.values() if shown is not None and shown["serving"]]
        return serving[0] if len(serving) == 1 else None

    def well(self) -> Well:
        """As for one broker; beside it, the other one stands by, and each knows of the other."""
        found = super().well()
        states = {which: shown["terms"] if shown else {} for which, shown in self.pictures.items()}
        said = ", ".join(
            f"{which} {terms.get('state')}, its peer {terms.get('peer')}" for which, terms in states.items()
        )
        alive = sorted(terms.get("state", "") for terms in states.values()) in (
            ["active", "backup"],
            ["active", "passive"],
        )
        known = [terms.get("peer") for terms in states.values()]
        met = alive and all(peer in ("active", "backup", "passive") for peer in known)
        return Well(found.workers and met, found.slots and met, f"{found.said}; {said}")

    def ready(self) -> bool:
        """Whether the primary serves and everything is well; where the fallback serves, hand back."""
        if self.well().slots and (self.pictures[PRIMARY] or {}).get("serving"):
            return True
        fallback = self.pictures[FALLBACK]
        if fallback is not None and fallback["serving"] and time.monotonic() > self._asked + AGAIN:
            self._asked = time.monotonic()
            self.brokers[FALLBACK].ask(b"hand back")
        return False
