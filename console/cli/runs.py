"""One message or a bulk run without a screen, against a broker elsewhere or one of our own that ends with the run."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from pathlib import Path

from console import bulks, units
from console.cli.asking import chosen
from console.cli.common import configured, far_of, fleet_of, lab_of, settings_of
from console.cli.compare import against, baseline_of
from console.cli.signals import Signals
from console.cli.streams import STDOUT, Alarms, Progress, deliver, result, tell, unanswered
from engine.drive.control.place import NOWHERE
from engine.errors import Refused
from engine.labs.elsewhere import Elsewhere
from engine.labs.live import LiveLab
from engine.labs.otel import collector_of, export
from engine.parts.bulk import BulkSpec
from engine.runs.record import RunRecord, duration, to_json
from engine.runs.summary import summary
from engine.settings.settings import Flag, Settings

STEP = 0.05  # seconds between two looks at a run
REDRAW = 5  # steps
GRACE = 10  # steps that what is in flight may take after a signal
PATIENCE = 10.0  # seconds, at least, in which something must succeed
JOIN = 5.0  # seconds that our own workers may take to join


def run(command: str, options: Namespace, flags: list[Flag]) -> int:
    """Carry out ``ping``, ``pingt``, ``data``, ``bulkping`` or ``bulkdata``; print and keep its record.

    0 where everything succeeded, 1 where it did not, could not be kept or is worse than ``--bound`` allows, 2 where
    there is no such baseline, 128 + n after signal n. Raises ``engine.labs.live.Refused`` where nothing can be started.
    """
    settings = settings_of(flags)
    baseline, known = baseline_of(options)
    if not known:
        return 2
    workers = 0 if options.connect else settings.pool.workers
    own = options.connect is None  # a broker that ends with the run: nobody has to find it
    given = {"connect": options.connect, "journal": options.journal, "listens": NOWHERE}
    control = getattr(options, "broker_control", None)
    place = chosen(settings.paths.control, control, far_of(settings), fleet_of(settings)) if control else None
    afar = Elsewhere(place) if place else None
    lab = lab_of(settings, bind=settings.bind if own else (), workers=workers, broker=own, elsewhere=afar, **given)
    spec = spec_of(command, settings, getattr(options, "rate", None), lab.system.window(lab.options))
    lab.admit(spec)
    collector = options.otel and collector_of(options.otel)
    alarms = Alarms(lab.feed)
    with Signals() as signals:
        with configured(settings, options.connect, "--connect runs against who is there"), lab:
            alarms.tell()
            try:
                if meet(lab, signals, workers, spec.timeout, options.connect):
                    lab.run(spec)
                    follow(lab, signals, Progress(command))
                    record = lab.report()
                    send_traces(lab, collector)
                else:
                    record = lab.give_up(spec)
            except Refused as refusal:
                alarms.tell()
                tell(str(refusal))
                record = None
        kept = alarms.end(lab.unkept)
        if record is None:
            return signals.status(1)
        printed = show(command, record, options.json)
        held = signals.caught is not None or against(baseline, record, options)
    return signals.status(0 if record["verdict"] == "pass" and kept and printed and held else 1)


def spec_of(command: str, settings: Settings, rate: float | None, window: int) -> BulkSpec:
    """What a command asks of the client; ``window``: as in ``bulks.spec``."""
    asked = settings.run
    bulk = command.startswith("bulk")
    data = command.endswith("data")
    typed = bulks.Asked(asked.count if bulk else 1, rate=rate)
    spec = bulks.spec("data" if data else "ping", typed, asked, window)
    return spec._replace(tracked=command != "ping")


def meet(lab: LiveLab, signals: Signals, workers: int, timeout: float, connect: str | None) -> bool:
    """Wait for a broker, and where they are ours for all workers; whether a run makes sense."""
    if not met(lab, signals, timeout):
        if signals.caught is None:
            tell(unanswered(lab.system.name, connect or lab.endpoints[0]))
        return False
    if signals.caught is None and workers and not lab.wait_registered(workers, JOIN):
        tell(f"{lab.registered():,} of {units.several(workers, 'worker')} joined")
    return signals.caught is None


def met(lab: LiveLab, signals: Signals, timeout: float) -> bool:
    """Wait for a broker, so many seconds or until a signal comes; a client that gives up has met none."""
    with suppress(Refused):  # it has left; an event says why
        for _ in range(max(1, round(timeout / STEP))):
            if lab.wait_linked(STEP):
                return True
            if signals.caught is not None:
                break
    return False


def follow(lab: LiveLab, signals: Signals, progress: Progress) -> None:
    """Until the run has ended, or a signal came, or nothing has succeeded for so long that nothing will."""
    succeeded, since, steps, grace = 0, 0.0, 0, GRACE
    while (view := lab.run_view()) is None or view.state != "ended":
        steps += 1
        if signals.caught is not None:
            if view is not None and view.state == "running":
                lab.stop_run()
            grace -= 1
            if grace < 0:
                break
        if view is None:
            signals.wait(STEP)
            continue
        if view.ledger.succeeded != succeeded:
            succeeded, since = view.ledger.succeeded, view.elapsed
        elif view.state == "running" and view.elapsed - since > patience(view.spec):
            tell(f"nothing has succeeded for {view.elapsed - since:.0f} s: the run is stopped")
            lab.stop_run()
        if steps % REDRAW == 0:
            progress.show(view)
        pause(lab, signals)
    progress.clear()


def send_traces(lab: LiveLab, collector: str | None) -> None:
    """Send the traces of a run that has ended, where a collector was named; say where it did not take them."""
    if collector and (traces := lab.traces()) and not export(collector, traces):
        tell(f"{collector} has not taken the {units.several(len(traces), 'trace')} of this run; they are lost")


def patience(spec: BulkSpec) -> float:
    """Seconds without a success after which a run is given up: some timeouts long, and some tasks at a slow rate."""
    return max(PATIENCE, 3 * spec.timeout, 3 / spec.rate if spec.rate else 0.0)


def pause(lab: LiveLab, signals: Signals) -> None:
    """One step, shorter where the run ends in it; after a signal there is nothing more to wait for but the run."""
    if signals.caught is None:
        signals.wait(STEP)
    else:
        lab.wait_run(STEP)


def show(command: str, record: RunRecord, json: Path | None) -> bool:
    """Print a run as it was asked for; False where a file could not be written."""
    if json != STDOUT:
        result(summary(record) if command.startswith("bulk") else one_line(command, record), inked=True)
    return json is None or deliver(to_json(record), json)


def one_line(command: str, record: RunRecord) -> str:
    """One message's outcome."""
    if record["verdict"] == "pass" and command == "ping":
        return "ping: sent, no reply is asked for\n"
    if record["verdict"] == "pass":
        size = f"{record['bytes']:,} bytes, " if command == "data" else ""
        return f"{command}: {size}{duration(record['service_us']['max'])}\n"
    return f"{command}: failed, {', '.join(record['failed']) or 'not sent'}\n"
