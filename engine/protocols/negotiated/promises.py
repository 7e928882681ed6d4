"""The times that negotiated's rules come to, and what it promises of a wrong wall clock and of its fallback."""

from __future__ import annotations

from engine.parts.promise import Observation, Promise, Times
from engine.protocols.negotiated import names
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.standby import ASK, SILENCE


def times(options: Options) -> Times:
    """``silence`` intervals lose a worker, and turn a peer to another broker; a task in doubt is asked for after
    ``doubt``, looked at every half of it.
    """
    lost = options.silence * options.heartbeat
    back = 2 * lost + 2 * options.heartbeat
    return Times(kept=lost - 1.5 * options.heartbeat, lost=lost, back=back, repair=1.5 * options.doubt + back)


def wrong_clock(name: str, key: bytes, shift: float, seconds: float, options: Options) -> tuple[Promise, ...]:
    """The wall clock of a worker is ``shift`` seconds ahead for ``seconds``."""
    told, beat = f"told {names.CLOCK}", 2 * options.heartbeat
    if abs(shift) <= options.skew:
        text = f"{options.skew:g} s are allowed: {name} stays in the table"
        return (Promise(text, seconds, lambda _, now: now.row(key) is not None, always=True),)

    def put_out(before: Observation, now: Observation) -> bool:
        return now.count(told) > before.count(told) and now.row(key) is None

    back = times(options).back
    return (
        Promise(f"more than {options.skew:g} s: {name} is told {names.CLOCK} and is out of the table", beat, put_out),
        Promise(
            f"its clock set right, {name} is in the table again within {back:g} s",
            seconds + back,
            lambda _, now: now.row(key) is not None,
            since=seconds,
        ),
    )


def takeover(options: Options, workers: int) -> tuple[Promise, ...]:
    """The primary of a pair is killed; ``workers``: how many it had."""
    beat, slack = options.heartbeat, 0.5
    serves = (SILENCE + ASK) * beat + options.silence * beat + slack  # a request must come, and peers notice first
    found = serves + times(options).back
    return (
        Promise("never do both brokers serve", found, lambda _, now: len(now.serving) < 2, always=True),
        Promise(
            f"the fallback serves within {serves:g} s", serves, lambda before, now: bool(set(now.serving) - {"broker"})
        ),
        Promise(
            f"all {workers} workers are with it within {found:g} s",
            found,
            lambda _, now: (
                now.broker is not None and sum(row.state in ("ready", "busy") for row in now.broker.workers) >= workers
            ),
            since=beat,
        ),
    )
