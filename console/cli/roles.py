"""The commands ``broker`` and ``worker``: one role, no screen.

Both run until a signal ends them or a thread of theirs dies; workers also until the broker has sent the last one away.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from console.cli.common import broker_of, configured, lab_of, settings_of, spoken, system_of
from console.cli.signals import Signals
from console.cli.streams import Alarms, announce, tell
from engine.errors import Refused
from engine.labs.health import Workers
from engine.labs.live import LiveLab
from engine.settings import Flag

LOOK = 0.25  # seconds between two looks at how things are


def broker(options: Namespace, flags: list[Flag]) -> int:
    """Bind, say ``ready`` with the endpoints, and serve. Raises ``engine.labs.live.Refused`` where it can not bind."""
    settings = settings_of(flags)
    usual = (system_of(settings).endpoint,)
    bind = (options.bind,) if options.bind else settings.bind or usual
    lab = lab_of(settings, bind=bind, client=False, journal=options.journal, trust=options.trust)
    alarms = Alarms(lab.feed)
    with Signals() as signals:
        with configured(settings, options.bind), lab:
            announce(f"ready {' '.join(lab.endpoints)}\n")
            status = serve(lab, signals, alarms)
        return status if alarms.end(lab.unkept) else status or 1


def worker(options: Namespace, flags: list[Flag]) -> int:
    """Join a broker with so many workers, say ``ready`` when all have, and work; on a signal they drain and leave."""
    settings = settings_of(flags)
    connect = options.connect or broker_of(settings)
    lab = lab_of(
        settings,
        connect=connect,
        workers=options.count,
        broker=False,
        client=False,
        journal=options.journal,
        trust=options.trust,
    )
    alarms = Alarms(lab.feed)
    with Signals() as signals:
        with lab:
            looks = 0
            while not joined(workers := look(lab)) and not lab.health().dead and not signals.wait(LOOK / 5):
                alarms.tell()
                looks += 1
                if looks == 40:
                    tell(f"no broker at {connect} has taken all {options.count} workers yet; waiting")
                    if other := spoken(lab.system, connect):
                        tell(other)
            if signals.caught is None and workers is not None and joined(workers) and workers.here:
                announce(f"ready {workers.joined} workers at {connect}\n")
            status = serve(lab, signals, alarms, lambda: (workers := look(lab)) is None or workers.here > 0)
        return status if alarms.end(lab.unkept) else status or 1


def look(lab: LiveLab) -> Workers | None:
    """The workers of this process; None while their thread is too busy to say, which is no reason to end."""
    try:
        return lab.workers()
    except Refused:
        return None


def joined(workers: Workers | None) -> bool:
    """Whether a broker has taken in all that are here."""
    return workers is not None and workers.joined >= workers.here


def serve(lab: LiveLab, signals: Signals, alarms: Alarms, busy: Callable[[], bool] = lambda: True) -> int:
    """Until a signal comes (128 + its number), a thread has died (1), or nothing is left to do (0; 1 after errors)."""
    while not (dead := lab.health().dead) and busy() and not signals.wait(LOOK):
        alarms.tell()
    alarms.tell()
    return signals.status(1 if dead or lab.health().failed else 0)
