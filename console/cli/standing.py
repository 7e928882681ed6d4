"""What a process has that runs on: a watcher of alerts, answers of its control socket, metrics, a process file, a log.

To a service manager it says when it is ready, that it is alive, and that it ends.
"""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from console.cli.streams import tell, tell_as
from engine.alerts.rules import read_rules
from engine.drive.logfile import LogFile
from engine.drive.service import Notify, process_file
from engine.labs.lab import Lab
from engine.labs.metrics import served
from engine.labs.watcher import Source, Watcher, of_lab
from engine.settings.settings import Settings
from engine.settings.tomlfile import Wrong


def is_service(options: Namespace) -> bool:
    """Whether it runs as a service: then SIGHUP asks it to read its configuration again."""
    return Notify(os.environ).wanted or getattr(options, "pid_file", None) is not None


@contextmanager
def standing(
    source: Source, settings: Settings, lab: Lab, options: Namespace, log: LogFile | None = None
) -> Iterator[Watcher]:
    """Watch a source as long as this lasts, and answer for it at the control socket of its lab.

    Raises ``tomlfile.Wrong`` where the file of alerts is wrong, ``engine.errors.Refused`` for other options.
    """
    rules = read_rules(settings.paths.alerts, optional=True)
    notify = Notify(os.environ)

    def looked(well: bool) -> None:
        if log is not None:
            log.follow()
        if well:
            notify.say("WATCHDOG=1")

    with ExitStack() as stack:
        if getattr(options, "pid_file", None) is not None:
            stack.enter_context(process_file(options.pid_file))
        if log is not None:
            stack.callback(log.close)
        most = notify.patience / 2  # as sd_watchdog_enabled(3) advises
        watcher = stack.enter_context(Watcher(source, rules, looked, minutes=settings.paths.minutes, most=most))
        if getattr(options, "metrics", None) is not None:
            url = stack.enter_context(served(options.metrics, lambda: watcher.status(time.monotonic(), listed=False)))
            tell(f"metrics are at {url}")
        lab.words.update(watcher.words())
        lab.watcher = watcher
        notify.say("READY=1")
        stack.callback(notify.say, "STOPPING=1")
        yield watcher


def watched(
    lab: Lab, role: str, endpoints: tuple[str, ...], settings: Settings, options: Namespace
) -> AbstractContextManager[Watcher]:
    """The same of a lab that is open, with its log."""
    source = of_lab(lab, role, endpoints, settings.paths.state)
    if getattr(options, "log_file", None) is None:
        tell_as(getattr(options, "log_format", "text"))
        return standing(source, settings, lab, options)
    log = LogFile(options.log_file, options.log_format, lab.feed)
    source = source._replace(unkept=lambda: (*lab.unkept, *filter(None, [log.lost])))
    return standing(source, settings, lab, options, log)


def reload(watcher: Watcher, settings: Settings) -> None:
    """Read the rules of alerts again; wrong ones are told, and those before stay."""
    try:
        watcher.reload(read_rules(settings.paths.alerts, optional=True), time.monotonic())
    except Wrong as wrong:
        for problem in wrong.problems:
            tell(str(problem))
    else:
        tell("the rules of alerts were read again")
