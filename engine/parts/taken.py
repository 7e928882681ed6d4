"""Whether another program lives under our routing id, as far as the one that lost it can tell (F8: the newest wins).

Of two live connections of one id a ROUTER serves the newer. The older is not closed: it stands, and is deaf. No message
can tell its owner, for all messages under that id go to the newcomer, and no monitor event does. So it infers:

- It was answered on a connection that then stood and said nothing for our whole patience. A line that is cut does so
  too, and a broker that does not run.
- It opened anew under the same id and was answered at once: the broker is well, and the line too. That is a strike.
- If the new connection goes deaf the same way, while that strike counts, the id is taken.

A patience that ends before the first heartbeat is due tells nothing: the id is never taken then.

How a core uses it: ``heard`` with each message of the broker; ``disconnected`` with ``Disconnected``; ``silent`` when
it gives up a silent connection, before it opens anew: where that says True it opens anew under another id, or ends if
the id was configured, and says so in a Note. It needs no ``Connected``, so it holds over inproc too.
"""

from __future__ import annotations

from engine.core import NEVER


class Taken:
    """Seconds: ``patience`` is the silence after which the core gives a connection up, ``heartbeat`` what is prompt."""

    __slots__ = ("_answered", "_gave_up", "_prompt", "_strike", "_tells", "_window")

    def __init__(self, patience: float, heartbeat: float) -> None:
        self._prompt = heartbeat
        self._tells = heartbeat < patience  # else it is silent by its settings: nothing was due to be answered
        self._window = 2 * (patience + heartbeat)  # each of the two takes the id back after its patience, by turns
        self._answered = False  # on the connection at hand
        self._gave_up = -NEVER  # when the one before was given up
        self._strike = -NEVER

    def heard(self, now: float) -> None:
        """The broker said something."""
        if not self._answered:
            self._answered = True
            self._strike = now if now <= self._gave_up + self._prompt else -NEVER

    def disconnected(self) -> None:
        """The connection ended, and that was told. So it was no takeover."""
        self._answered, self._gave_up = False, -NEVER

    def silent(self, now: float) -> bool:
        """The connection is given up after ``patience`` of silence. Returns whether the id is taken."""
        deaf, self._answered = self._answered and self._tells, False
        taken = deaf and now <= self._strike + self._window
        self._gave_up = now if deaf and not taken else -NEVER
        self._strike = -NEVER
        return taken
