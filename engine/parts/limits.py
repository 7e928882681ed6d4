"""Bounds on frames, sizes, names and counts. What exceeds one is refused with a reason, never dropped in silence."""

from __future__ import annotations

MAX_FRAMES = 32  # in one message; no protocol here uses more than a dozen
MAX_FRAME = 4 * 1024 * 1024  # bytes in one frame, as MAXMSGSIZE on the sockets; inproc ignores that option
MAX_MESSAGE = 8 * MAX_FRAME  # bytes that come by a tcp connection before it is cut off because no message has ended
MAX_UNFINISHED = 4 * MAX_MESSAGE  # the same of all connections of a socket together
MAX_ROUTING_ID = 255  # bytes, the most that a socket takes; a raw peer may say more in its READY, and is refused
NONCES = 10**12  # routing ids of ours end in a number 1..NONCES: of 1,000 beside 1,000 others none meets one of them
MAX_ID = 64  # bytes of a task's id; the original aborts at 512
MAX_SLOTS = 100_000  # that one worker may offer
MAX_WORKERS = 100_000  # joined at one broker
MAX_BACKLOG = 1_000_000  # tasks queued at one broker
MAX_HELD = 512 * 1024 * 1024  # bytes that clients wrote in the tasks which one broker holds, queued or in flight


def decimal(text: bytes, low: int, high: int) -> int | None:
    """A plain ASCII decimal number within low..high, or None; no sign, no space, no underscore, no huge string."""
    if not text or len(text) > 20 or not text.isdigit():
        return None
    value = int(text)
    return value if low <= value <= high else None
