"""One role and no screen: a broker, or workers. Both run until a signal ends them or a thread of theirs dies."""

from __future__ import annotations

from argparse import Namespace

from console.cli.common import lab_of, settings_of
from console.cli.signals import Signals
from console.cli.streams import Alarms, result, tell
from engine.catalogue import SYSTEMS
from engine.lab import Lab
from engine.settings import Flag

LOOK = 0.25  # seconds between two looks at how things are


def broker(options: Namespace, flags: list[Flag]) -> int:
    """Bind, say ``ready`` with the endpoints, and serve. Raises ``engine.lab.Refused`` where it can not bind."""
    settings = settings_of(flags)
    usual = (SYSTEMS[settings.system].endpoint,)
    bind = (options.bind,) if options.bind else settings.bind or usual
    with Signals() as signals, lab_of(settings, bind=bind, client=False) as lab:
        result(f"ready {' '.join(lab.endpoints)}\n")
        return serve(lab, signals)


def worker(options: Namespace, flags: list[Flag]) -> int:
    """Join a broker with so many workers, say ``ready`` when all have, and work; on a signal they drain and leave."""
    settings = settings_of(flags)
    usual = (*settings.bind, SYSTEMS[settings.system].endpoint)
    connect = options.connect or usual[0]
    lab = lab_of(settings, connect=connect, workers=options.count, broker=False, client=False)
    with Signals() as signals, lab:
        looks = 0
        while lab.registered() < options.count and not signals.wait(LOOK / 5):
            looks += 1
            if looks == 40:
                tell(f"no broker at {connect} has taken all {options.count} workers yet; waiting")
        if signals.caught is None:
            result(f"ready {options.count} workers at {connect}\n")
        return serve(lab, signals)


def serve(lab: Lab, signals: Signals) -> int:
    """Until a signal comes (128 + its number) or a thread has died (1)."""
    alarms = Alarms(lab.feed)
    while not lab.health().dead and not signals.wait(LOOK):
        alarms.tell()
    alarms.tell()
    return signals.status(1)
