"""Watches over one process: looks at its status once a second, evaluates the rules of alerts, and tells what fires.

The rules of this file:

- A look counts the workers and lists none, so it costs little; where it costs more all the same, the next comes later.
- All methods may be called by any thread. ``look`` and ``status`` take the time; the thread of ``with`` gives its own.
- An alert that fires or clears becomes an event and a notification (``engine.alerts.notify``).
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.alerts.notify import Notifier
from engine.alerts.rules import Rules
from engine.alerts.watch import Alert, Change, Watch
from engine.core import Note
from engine.errors import Refused
from engine.files.minutes import Figures, Recorder, path_of, whole
from engine.labs.brokers import FIRST, SECOND
from engine.labs.health import Health
from engine.labs.lab import Lab
from engine.labs.meter import Meter, Recent
from engine.labs.queuestatus import of_pipeline
from engine.labs.status import Disk, Process, Seen, of_brokers, status_of
from engine.parts.view import LedgerView
from engine.runs.load import versions
from engine.system import QueueSystem

LOOK = 1.0  # seconds between two looks
SHARE = 0.02  # of one processor that looking may take
STUCK = 15.0  # seconds without another picture after which nothing goes on
CLOSE = 1.0  # seconds that closing may take


class Source(NamedTuple):
    """Where a status comes from. ``seen``: what is shown, its workers listed or only counted. ``control``: what its
    control socket has counted, None where it has none."""

    system: str
    role: str
    endpoints: tuple[str, ...]
    seen: Callable[[bool], Seen | None]
    health: Callable[[], Health]
    unkept: Callable[[], Sequence[str]]
    say: Callable[[Note], None]
    disk: Callable[[], Disk | None]
    control: Callable[[], dict[str, Any] | None] = lambda: None


class Watcher:
    """``rules``: what fires, and who is notified.

    ``looked``: is called after each look of the thread, with whether all threads live and pictures go on.
    """

    def __init__(
        self,
        source: Source,
        rules: Rules,
        looked: Callable[[bool], None] = lambda _: None,
        began: float | None = None,
        minutes: Path | None = None,
        most: float = float("inf"),
    ) -> None:
        """``began``: the time now, if the clock's is not meant. ``minutes``: the folder of their history.

        ``most``: seconds between two looks, whatever they cost.
        """
        self._source, self._rules, self._looked, self._most = source, rules, looked, most
        self._began = time.monotonic() if began is None else began
        self._watch = Watch(rules.rules, self._began)
        self._meter = Meter()
        self._recent: Recent | None = None
        self._at, self._moved = -1.0, self._began  # of the newest picture, and when there was another one
        self._versions: Mapping[str, str] = versions()
        self._lock = threading.Lock()
        self._notifier = Notifier(rules.notify, source.say)
        self._minutes = path_of(minutes, source.system, source.endpoints) if minutes is not None else None
        self._recorder: Recorder | None = None
        if self._minutes is not None:
            self._recorder = Recorder(
                self._minutes, lambda words, well: source.say(Note("good" if well else "warn", words))
            )
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._main, name="roundhouse-watcher", daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join(CLOSE)
        self.close()

    def close(self) -> None:
        """Tell nobody any more. Who uses it without ``with`` calls this."""
        self._notifier.close()
        if self._recorder is not None:
            self._recorder.close()

    def look(self, now: float) -> list[Change]:
        """Evaluate the rules at monotonic ``now``, and tell what has changed."""
        with self._lock:
            seen = self._source.seen(False)
            if seen is not None and seen.at != self._at:
                self._at, self._moved = seen.at, now
            if seen is not None and seen.ledger is not None:
                self._recent = self._meter.look(now, seen.ledger)
            changes = self._watch.look(self._status(seen, now), now)
        if self._recorder is not None and seen is not None and seen.ledger is not None:
            self._recorder.look(time.time(), figures_of(seen, seen.ledger))
        for change in changes:
            self._tell(change)
        return changes

    def status(self, now: float, listed: bool = True) -> dict[str, Any]:
        """The status at monotonic ``now``; ``listed``: with each worker."""
        with self._lock:
            return self._status(self._source.seen(listed), now)

    def words(self) -> dict[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]]:
        """What a control socket answers out of it."""

        def status(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
            told = self.status(time.monotonic(), listed=fields.get("Brief") is not True)
            return "status", {"Status": json.dumps(told).encode()}

        def minutes(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
            try:
                data = whole(self._minutes) if self._minutes is not None else b""
            except FileNotFoundError:
                data = b""
            except OSError as error:
                raise Refused(f"the history of minutes can not be read: {error}") from None
            return "minutes", {"Data": data}

        return {"status": status, "minutes": minutes}

    def alerts(self) -> list[Alert]:
        """All alerts, those that fire first."""
        with self._lock:
            return self._watch.alerts()

    def acknowledge(self, name: str, now: float | None = None) -> Change:
        """Somebody knows of it, since the clock's time where none is given. Raises Refused as ``Watch`` does."""
        with self._lock:
            return self._watch.acknowledge(name, time.monotonic() if now is None else now)

    def silence(self, name: str, seconds: float, now: float | None = None) -> Change:
        """Say nothing of it for so long. Raises Refused as ``Watch`` does."""
        with self._lock:
            return self._watch.silence(name, seconds, time.monotonic() if now is None else now)

    def reload(self, rules: Rules, now: float) -> None:
        """Other rules from now on."""
        with self._lock:
            self._rules = rules
            self._watch.replace(rules.rules, now)
        self._notifier.replace(rules.notify)

    def _status(self, seen: Seen | None, now: float) -> dict[str, Any]:
        source = self._source
        up, disk = now - self._began, source.disk()
        process = Process(
            source.system, source.role, source.endpoints, os.getpid(), time.time(), up, self._versions, disk
        )
        rows = self._watch.rows(now)
        return status_of(
            process,
            seen,
            source.health(),
            recent=self._recent,
            alerts=rows,
            unkept=source.unkept(),
            control=source.control(),
        )

    def _tell(self, change: Change) -> None:
        if change.state == "firing":
            level = "bad" if change.rule.severity == "critical" else "warn"
            self._source.say(Note("bad" if level == "bad" else "warn", f"alert {change.text}"))
            self._notifier.fired(self._source.system, self._source.endpoints, change)
        elif change.state == "cleared" and change.before in ("firing", "acknowledged"):
            self._source.say(Note("good", f"alert cleared: {change.text}"))

    def _main(self) -> None:
        pause = 0.0
        while not self._closing.wait(pause):
            began = time.monotonic()
            self.look(began)
            self._looked(not self._source.health().dead and began - self._moved < STUCK)
            pause = min(max(LOOK, (time.monotonic() - began) / SHARE), self._most)


def figures_of(seen: Seen, ledger: LedgerView) -> Figures:
    """What the history of minutes is made of."""
    failed, totals = sum(n for _, n in ledger.failed), seen.totals
    return Figures(ledger.succeeded, failed, ledger.queued, round(seen.latency * 1e6), totals["alive"], totals["lost"])


def of_lab(lab: Lab, role: str, endpoints: tuple[str, ...], folder: Path) -> Source:
    """A lab as a source; the disk of ``folder`` is the one that counts."""
    any_lab: Any = lab

    def seen(listed: bool) -> Seen | None:
        if lab.system.kind == QueueSystem.kind:
            return of_pipeline(any_lab.view())
        names = (FIRST, SECOND, "client")
        pictures = {name: lab.feed.picture(name) for name in names}
        if pictures[FIRST] is None and pictures[SECOND] is None:
            # only then: pictures of thousands of workers cost time to draw
            crews = [lab.feed.picture(name) for name in any_lab.pool_pictures()]
            pictures["pool"] = {name: view for crew in crews if crew for name, view in crew.items()} or None
        return of_brokers(pictures, (FIRST, SECOND), listed)

    def say(note: Note) -> None:
        lab.feed.fact(note, "alerts", time.time())

    unkept, disk = lambda: lab.unkept, lambda: disk_of(folder)
    return Source(lab.system.name, role, endpoints, seen, lab.health, unkept, say, disk, lambda: counted(lab))


def counted(lab: Lab) -> dict[str, Any] | None:
    """What the control socket of a lab has counted; None where it has none."""
    return lab.control.told() if lab.control is not None else None


def disk_of(folder: Path) -> Disk | None:
    """The disk of a folder, or of the nearest one above it that is there; None where nobody can tell."""
    for place in (folder, *folder.parents):
        try:
            usage = shutil.disk_usage(place)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return Disk(str(place), usage.free, usage.total)
    return None
