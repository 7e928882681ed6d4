"""The command ``relay``: documents of a queue go to NATS, or come from there, until it is done or a signal comes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from console.cli.signals import Signals
from console.cli.streams import result, tell
from console.text import clean
from engine.drive.queuerelay import Relay
from engine.drive.stores import NATS
from engine.drive.stores.natslink import Link
from engine.drive.stores.natsstreams import place_of
from engine.errors import Refused
from engine.parts.plain import several
from engine.parts.store import Unavailable
from engine.settings.settings import Flag

STEP = 0.2  # seconds between two looks at a folder in which nothing was ready
AGAIN = 1.0  # seconds until what could not be done is tried again


def relay(options: Namespace, flags: list[Flag]) -> int:
    """0 where the queue is done, 128+n at a signal. What can not be done now is said, and tried again."""
    sends = options.target.startswith(NATS)
    name, folder = (options.target, options.source) if sends else (options.source, options.target)
    if not name.startswith(NATS) or folder.startswith(NATS):
        raise Refused("relay FROM TO: one of the two is a queue, the other one nats://HOST:PORT/NAME")
    if not Path(folder).is_dir():
        raise Refused(f"{folder}: there is no such queue")
    try:
        place = place_of(name)
        link = Link(place.servers, "roundhouse relay")
    except (ValueError, Unavailable) as why:
        raise Refused(str(why)) from None
    with ExitStack() as stack:
        stack.enter_context(closing(link))
        link.start()
        passes = Relay(link, place, Path(folder))
        try:
            if sends:
                stack.enter_context(passes.sending())
        except OSError as error:
            raise Refused(str(error)) from None
        signals = stack.enter_context(Signals())
        return _pass(signals, passes, _sent if sends else _received)


def _pass(signals: Signals, passes: Relay, step: Callable[[Relay, Signals], tuple[int, bool]]) -> int:
    passed, done, said = 0, False, ""
    while not done and signals.caught is None:
        try:
            n, done = step(passes, signals)
            passed += n
            said = ""
        except (Unavailable, OSError) as error:
            if str(error) != said:
                said = str(error)
                tell(clean(said))
            signals.wait(AGAIN)
    result(f"{several(passed, 'document')} passed on\n")
    return 0 if signals.caught is None else 128 + signals.caught


def _sent(passes: Relay, signals: Signals) -> tuple[int, bool]:
    """How many documents went, and whether no more will come."""
    sent = len(passes.send())
    if sent:
        return sent, False
    done = passes.end()
    if not done:
        signals.wait(STEP)
    return 0, done


def _received(passes: Relay, signals: Signals) -> tuple[int, bool]:
    """The same of what came."""
    came = passes.receive()
    return (1, False) if came else (0, came == "")
