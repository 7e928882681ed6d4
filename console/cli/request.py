"""The command ``request``: one request to a service that a worker somewhere offers, and its reply."""

from __future__ import annotations

import sys
from argparse import Namespace

from console.cli.common import lab_of, settings_of
from console.cli.runs import met
from console.cli.signals import Signals
from console.cli.streams import Alarms, OutputLost, tell, unanswered
from console.text import clean
from engine.catalogue import SERVERS, SYSTEMS
from engine.labs.live import LiveLab
from engine.settings.settings import Flag
from engine.settings.tomlfile import Problem, Wrong

STEP = 0.05  # seconds between two looks


def request(options: Namespace, flags: list[Flag]) -> int:
    """Print the reply as it came. 0 where there is one, 1 with the reason where there is none."""
    asked = {flag.name: flag.text for flag in flags if flag.place == ("system",)}
    for name, text in asked.items():
        if text not in SERVERS:
            raise Wrong([Problem(name, f"services are those of {' or '.join(SERVERS)}, not of {clean(text)}")])
    system = next(iter(asked.values()), SERVERS[0])
    settings = settings_of([*flags, Flag(("system",), "--system", system)])
    connect = options.connect or (settings.bind[0] if settings.bind else SYSTEMS[system].endpoint)
    data = sys.stdin.buffer.read() if options.data == "-" else options.data.encode()
    lab = lab_of(settings, connect=connect, broker=False)
    alarms = Alarms(lab.feed)
    with Signals() as signals, lab:
        if not met(lab, signals, settings.run.timeout):
            alarms.tell()
            if signals.caught is None:
                tell(unanswered(system, connect))
            return signals.status(1)
        status = asked_of(lab, signals, options.service, data, settings.run.timeout)
        alarms.tell()
    return signals.status(status)


def asked_of(lab: LiveLab, signals: Signals, service: str, data: bytes, timeout: float) -> int:
    """Ask, and print what comes within so many seconds; a command that a service runs has as long as it takes."""
    make = lab.system.ask
    assert make is not None, "a system of SERVERS"
    lab.order_client(make(service, data), "asking a service")
    steps = 0
    while not (answers := lab.client_view().answers) and signals.caught is None:
        signals.wait(STEP)
        steps += 1
        if steps == round(timeout / STEP):
            tell(f"{clean(service)} has not answered for {timeout:g} s; waiting, Ctrl+C ends it")
    if not answers:
        return 1
    answer: object = answers[0]
    if error := getattr(answer, "error", ""):
        tell(f"{clean(service)}: {clean(error)}")
        return 1
    try:
        sys.stdout.buffer.write(getattr(answer, "body", b""))
        sys.stdout.flush()
    except OSError as error:
        raise OutputLost(error) from None
    return 0
