"""Which protocol is spoken at an endpoint, where ours gets no answer: a client of each of the others asks."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.system import System

PATIENCE = 2.0  # seconds that a broker may take to answer


def spoken_at(endpoint: str, systems: Iterable[System]) -> System | None:
    """The first of these systems whose client is answered at this endpoint; None where none is in ``PATIENCE``.

    A client only says hello. It is never given a task, so nothing is asked of that broker or taken from it.
    """
    with ExitStack() as stack:
        labs = []
        for system in systems:
            try:
                lab = LiveLab(system, connect=endpoint, workers=0, broker=False)
                labs.append(stack.enter_context(lab))
            except Refused:  # its clients find no endpoint beside this one
                continue
        wait_until(lambda: any(lab.client_view().linked for lab in labs), PATIENCE)
        return next((lab.system for lab in labs if lab.client_view().linked), None)
