"""The commands ``pipeline``, ``drive`` and ``feed``: disk queues without a screen."""

from __future__ import annotations

import os
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from types import TracebackType

from console import units
from console.cli.attended import attended
from console.cli.common import control_of, settings_of
from console.cli.pipelinefile import read_pipeline
from console.cli.queuearguments import trusted
from console.cli.queuereport import document, report_of, table
from console.cli.streams import STDOUT, Progress, deliver, result, tell
from console.text import clean
from engine.core import Note
from engine.drive import environment
from engine.drive.control.place import NOWHERE
from engine.drive.detached import detach, watchdog
from engine.drive.documents import parse_work
from engine.drive.feeding import feed as feed_files
from engine.drive.hub import seat_of
from engine.drive.pipeline import Pipeline
from engine.drive.pipelinerecord import read_back
from engine.drive.queuedriver import load_config, run_driver
from engine.drive.queuefolders import QUEUE_MODE
from engine.drive.queueview import sorted_out
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.write import Journal
from engine.labs.queueorders import said
from engine.labs.record import begin
from engine.protocols.diskqueue import SYSTEM, names
from engine.protocols.diskqueue.books import entries, whole
from engine.protocols.diskqueue.config import DriverConfig, driver_config
from engine.protocols.diskqueue.driver import Command, Event
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import PipelineView
from engine.settings.settings import Flag, Settings

REDRAW = 0.25  # seconds


def pipeline(options: Namespace, flags: list[Flag]) -> int:
    """``run``, ``start``, ``stop``, ``kill``, ``show``, ``recover``, ``retry``, ``status``.

    0 done · 1 a stage was stopped, or drivers are left · 2 there is no such pipeline, its root can not be used, another
    watchdog runs it, or a stage's work can not be done · 128+n ended by signal n. Raises ``Wrong`` or
    ``engine.labs.pool.Refused``.
    """
    settings = settings_of(flags)
    orders = {
        "run": run,
        "start": start,
        "stop": stop,
        "kill": kill,
        "show": show,
        "recover": recover,
        "retry": retry,
        "status": status,
    }
    try:
        return orders[options.order](options, settings)
    except Refused as refusal:
        tell(clean(str(refusal)))
    except OSError as error:
        tell(clean(f"{error.filename or options.root}: {error.strerror or error}"))
    return 2


def run(options: Namespace, settings: Settings) -> int:
    """Until it is done; then where every document is."""
    with Watched() as watched:
        made = watched.pipeline = pipeline_of(options, settings, watched)
        attending = attended(made, options, settings, watched, watched.feed)
        with attending, recorded(made, options.journal, watched) as journal:
            status = made.run()
    status = whole_journal(journal, status)
    if status != 2:  # else there is nothing of ours to report
        return status if show_report(made.picture(), options.json) else status or 1
    return status


@contextmanager
def recorded(made: Pipeline, path: Path | None, say: Watched) -> Iterator[Journal | None]:
    """Record what happens in a pipeline as long as this lasts, where a file is named for it."""
    if path is None:
        yield None
        return
    journal = begin(path, SYSTEM, made.options, say)
    try:
        made.record(journal)
        yield journal
        made.hub.detach(journal)
    finally:
        journal.close()


def whole_journal(journal: Journal | None, status: int) -> int:
    """The exit status: 1 instead of 0, and a message, where the journal is incomplete."""
    if journal is None or not journal.lost:
        return status
    tell(journal.lost)
    return status or 1


def start(options: Namespace, settings: Settings) -> int:
    """Leave a watchdog running that keeps every stage at its drivers."""
    made = pipeline_of(options, settings)
    already = made.watched()
    if already and (options.stages is not None or options.config):
        raise Refused(f"a watchdog runs already in {made.root}: stop it first, or leave the stages out")
    pid = watchdog(made.root) if already else detach(made, watching(made.root, options))
    result(f"a watchdog {'runs already' if already else 'runs'}: process {pid}\n")
    return 0


def watching(root: str, options: Namespace) -> list[str]:
    """The command line of a watchdog's own process."""
    words = [sys.executable, "-P", "-m", "console"]
    if (passed := environment.narrowed()) is not None:
        words += ["--env", ",".join(passed)]
    words += ["--trust-root"] if trusted(options) else []
    at = control_of(options)
    placed = ["--control", "none" if at == NOWHERE else f"ipc://{at}"] if at is not None else []
    return [*words, "pipeline", "run", "--root", root, *placed]


def status(options: Namespace, settings: Settings) -> int:
    """Who watches, and where it stands; 0 where somebody watches or all is done, else 1."""
    made = found(options)
    view, told = made.show(), read_back(made.root)
    if made.watched():
        result(f"a watchdog runs: process {watchdog(made.root) or 'unknown'}\n")
    else:
        result(f"no watchdog runs{f'; the last one ended: {clean(told.ended)}' if told and told.ended else ''}\n")
    show_report(view, None)
    return 0 if view.state != "absent" or all(stage.state == "done" for stage in view.stages) else 1


def stop(options: Namespace, settings: Settings) -> int:
    """Every driver finishes its document and leaves."""
    made = found(options)
    return _ended(made, made.stop, "finished and left")


def kill(options: Namespace, settings: Settings) -> int:
    """Every driver is killed now; what they held counts as failed."""
    made = found(options)
    return _ended(made, made.kill, "killed, and what they held settled")


def recover(options: Namespace, settings: Settings) -> int:
    """Drivers are dead by the operator's word: what they held has failed once. 1 where something of it stays."""
    made, stays = found(options), 0
    for number in options.names:
        documents, reasons = made.recover(number)
        for reason in reasons:
            tell(clean(reason))
        stays += bool(reasons)
        result(f"{units.several(documents, 'document')} of driver {clean(number)} settled\n")
    return 1 if stays else 0


def retry(options: Namespace, settings: Settings) -> int:
    """Documents that failed twice get two fresh attempts; 1 where one of them could not be tried again."""
    made = found(options)
    made.check_root()
    wanted = made.given_up() if options.all else []
    refused = 0
    for id in options.names:
        places = made.given_up(id)
        wanted += places
        if not places:
            refused += 1
            tell(clean(f"{id}: has not failed twice, or its input was not kept"))
    for queue, id in wanted:
        if reason := made.retry(queue, id):
            refused += 1
            tell(clean(f"{id} in queue {queue}: {reason}"))
        else:
            result(f"{clean(id)} is tried again, in queue {queue}\n")
    if wanted and not made.watched():
        tell("nobody watches over it now: roundhouse pipeline run takes them")
    return 1 if refused else 0


def show(options: Namespace, settings: Settings) -> int:
    """Where it stands."""
    return 0 if show_report(found(options).show(), options.json) else 1


def _ended(made: Pipeline, order: Callable[[], bool], words: str) -> int:
    drivers = len(made.show().drivers)
    if order():
        result(f"{units.several(drivers, 'driver')} {words}\n" if drivers else "no driver runs\n")
        return 0
    tell("some drivers are still at work, or what they held is not settled")
    return 1


def found(options: Namespace, say: Callable[[Note], None] | None = None) -> Pipeline:
    """What was run last under this root. Raises ``Refused``."""
    return Pipeline.open(options.root, say or tell_note, trusted(options))


def pipeline_of(options: Namespace, settings: Settings, say: Watched | None = None) -> Pipeline:
    """What was asked for: stages of flags or a file, else those that were run last under this root."""
    notes = say or tell_note
    made = settings.options[SYSTEM.name]
    stages = options.stages
    if options.config:
        stages, made = read_pipeline(options.config, made)
    if stages is None:
        asked = found(options, notes)
    else:
        try:
            asked = Pipeline(options.root, stages, made, notes, trust=trusted(options))
        except ValueError as error:
            raise Refused(str(error)) from None
    if options.mode is not None:
        asked.options = replace(asked.options, queue_mode=options.mode)
    asked.check_root()  # before a function that somebody else named is looked for
    for stage in asked.stages:
        try:
            parse_work(stage.work)
        except Refused as refusal:
            raise Refused(f"stage {stage.name}: {refusal}") from None
    return asked


def show_report(view: PipelineView, json: Path | None) -> bool:
    """Print it as it was asked for; False where a file could not be written."""
    report = report_of(view)
    if json != STDOUT:
        result(table(report))
    return json is None or deliver(document(report), json)


def tell_note(note: Note) -> None:
    """What a watchdog has to say; the routine of recovering is left out."""
    if note.level != "info":
        subject = note.subject.decode("utf-8", "backslashreplace")
        tell(clean(f"{subject}: {note.text}" if subject and subject not in note.text else note.text))


class Watched:
    """While it is entered, a line on the terminal says how far its pipeline is; notes are told above it."""

    def __init__(self) -> None:
        self.pipeline: Pipeline | None = None
        self.feed = Feed()  # the notes, for who attaches
        self._progress = Progress("pipeline")
        self._one_at_a_time = threading.Lock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="roundhouse-progress", daemon=True)

    def __enter__(self) -> Watched:
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._ticker.join()
        self._progress.clear()

    def __call__(self, note: Note) -> None:
        with self._one_at_a_time:
            self._progress.clear()
            tell_note(note)
        said(self.feed, note)

    def _tick(self) -> None:
        while not self._ended.wait(REDRAW):
            if self.pipeline is not None:
                with self._one_at_a_time:
                    self._progress.line(progress(self.pipeline.picture()))


def progress(view: PipelineView) -> str:
    """How far, how fast, and what each stage holds."""
    stages = entries([queue.counts for queue in view.queues])
    all_ = whole(stages)
    parts = [f"{all_.published:,}/{all_.total:,} published"]
    parts += [f"{all_.failed_twice:,} failed twice"] if all_.failed_twice else []
    parts += [f"{units.short(view.stages[-1].rate)} /s"]
    for row, entry in zip(view.stages, stages, strict=True):
        state = "" if row.state == "running" else f" {row.state}"
        parts.append(f"{row.name} {entry.waiting:,}+{entry.working}{state}")
    parts += [clean(row.full) for row in view.stages if row.full]
    return "  ".join(parts)


def drive(options: Namespace) -> int:
    """One driver, on this thread."""
    try:
        if options.par:
            config = load_config(str(options.par), options.work)
        else:
            wanted = {"src": options.src, "dst": options.dst, "worker_ext": f".{options.number}", "max_dst_files": "0"}
            config = driver_config({f"disk_queue_{name}": value for name, value in wanted.items()}, options.work)
        config = replace(config, dead=" ".join(options.dead))
    except Refused as refusal:
        tell(
            clean(f"{options.par}: {refusal}" if options.par and str(options.par) not in str(refusal) else str(refusal))
        )
        return 2
    if idle(config.src):
        tell(clean(f"{config.src} is not done and holds no document to take: waiting for one"))
    mode = QUEUE_MODE if options.mode is None else options.mode
    if options.journal is None:
        return run_driver(config, mode=mode)
    journal = begin(options.journal, SYSTEM, Options(), tell_note)
    try:
        status = run_driver(config, hears=partial(Recorded, journal), mode=mode)
    finally:
        journal.close()
    return whole_journal(journal, status)


class Recorded:
    """A driver of this process in a journal."""

    def __init__(self, journal: Journal, config: DriverConfig, epoch: float) -> None:
        self._journal, self._seat = journal, seat_of(config)
        journal.seated(*self._seat, "driver", [list(astuple(config)), epoch], {"pid": os.getpid()})

    def tell(self, now: float, event: Event, commands: list[Command]) -> None:
        """One event and what came of it."""
        self._journal.tap(*self._seat, now, event, commands)  # type: ignore[arg-type]

    def close(self) -> None:
        """It has left."""
        self._journal.left(*self._seat)


def idle(queue: str) -> bool:
    """Whether there is nothing to do for a driver yet; where this can not be seen, the driver itself will say why."""
    try:
        found, _ = sorted_out(queue)
    except OSError:
        return False
    items = (item for item in map(names.parse, found) if isinstance(item, names.Item))
    return names.DONE not in found and not any(item.live for item in items)


def feed(options: Namespace) -> int:
    """Copy files into the first queue; 1 where one of them could not be fed, then ``done`` is not set either."""
    try:
        fed = feed_files(
            options.root, options.files, options.done, QUEUE_MODE if options.mode is None else options.mode
        )
    except Refused as refusal:
        tell(clean(str(refusal)))
        return 2
    refused = [one for one in fed if one.reason]
    for one in refused:
        tell(clean(f"{one.path}: {one.reason}"))
    if refused and options.done:
        tell("done is not set, as not all of them were fed")
    result(f"{units.several(len(fed) - len(refused), 'document')} fed\n")
    return 1 if refused else 0
