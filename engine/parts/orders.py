"""Orders that more than one system's cores take: ``Ordered`` brings one; each core says which it takes."""

from __future__ import annotations

from typing import NamedTuple


class Inspect(NamedTuple):
    """Include the details of one worker (its in-flight tasks, last violations) in snapshots; None: of no worker."""

    worker: bytes | None


class Drain(NamedTuple):
    """Broker: give this worker nothing new; it leaves when what it holds is done."""

    worker: bytes


class Undrain(NamedTuple):
    """Broker: a worker that an operator drained, and that has not left, is given tasks again."""

    worker: bytes


class Expire(NamedTuple):
    """Broker: a worker counts as lost from now on, and others get what it holds. Once it is heard again it is back."""

    worker: bytes


class Requeue(NamedTuple):
    """Broker: take back what this worker holds, or one task of any worker; it waits again, as after a failed try."""

    worker: bytes
    client: bytes = b""
    id: bytes = b""


class Throttle(NamedTuple):
    """Broker: give out at most so many tasks a second, of this client or of all; 0: none, None: no limit."""

    rate: float | None
    client: bytes = b""


class Withdraw(NamedTuple):
    """Broker: end the tasks of this client that no worker has yet; the client is told."""

    client: bytes


class Discard(NamedTuple):
    """Broker: end one task that no worker has; its client is told so where the protocol has words for it."""

    client: bytes
    id: bytes


class Move(NamedTuple):
    """Broker: one task that no worker has waits as the first of its kind, or as the last."""

    client: bytes
    id: bytes
    first: bool


class Leave(NamedTuple):
    """Worker: finish what is held, say goodbye, exit."""


class Slow(NamedTuple):
    """Worker: answer every task so many seconds after it came, to show what a slow worker does; 0: at once."""

    seconds: float


class Slots(NamedTuple):
    """Worker: take so many tasks at a time from now on."""

    slots: int


class Pack(NamedTuple):
    """All roles: write messages on the system's packed lane where the other end does too, or no longer."""

    on: bool


class StopRun(NamedTuple):
    """Client: send nothing more; what is in flight may still be answered."""


class ClockSet(NamedTuple):
    """Wall time is ``now + offset`` seconds since the epoch: for cores whose protocol sends wall times (004)."""

    offset: float
