"""The bulk runs of a lab that runs: begun, looked at, reported, kept in the history.

A run is kept when it has ended, by a thread of its own, and once more when the lab closes before that.
"""

from __future__ import annotations

import threading
from abc import abstractmethod

from engine.catalogue import SEED_LANE
from engine.core import Note
from engine.drive.node import Node
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.elsewhere import Elsewhere
from engine.labs.liveworkers import LiveWorkers
from engine.labs.stored import tagged
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.view import ClientView
from engine.runs.history import History
from engine.runs.load import Afar, RunReport
from engine.runs.record import RunRecord
from engine.runs.spans import TaskTrace

UNASKED = "the broker is elsewhere, and no --control names its control socket"


class LiveRuns(LiveWorkers):
    """Orders to the client of a lab that runs, and what came of them."""

    _nodes: dict[str, Node]

    def __init__(self, history: History | None, elsewhere: Elsewhere | None) -> None:
        """``history``: where runs are kept. ``elsewhere``: the broker that is joined, where its clock is asked."""
        self._history, self._elsewhere = history, elsewhere
        self._run: RunReport | None = None
        self._asked: RunReport | None = None  # the run whose legs the broker elsewhere has sent
        self._asking = threading.Lock()
        self._afar = Afar((), None, UNASKED)
        self.unkept: list[str] = []
        self._unsaved, self._closing = False, threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="roundhouse-lab", daemon=True)

    @abstractmethod
    def client_view(self) -> ClientView:
        """The client as it is now; the answers to its orders are in ``answers``."""

    def run(self, spec: BulkSpec) -> None:
        """Start a bulk run; its course is in the client's picture. Refused while one goes, and as ``admit`` does."""
        self._change("starting a run")
        if not self._with_client:
            raise Refused("there is no client here to run anything")
        view = self.run_view()
        if view is not None and view.state != "ended":
            raise Refused(f"a run is going on ({view.ledger.succeeded:,} of {view.spec.n:,} done): stop it first")
        self.admit(spec)
        if self._elsewhere is not None:
            self._elsewhere.begin()
        self._run = self._begun(spec := tagged(self.system, self.options, spec))
        self._unsaved = True
        self._nodes["client"].order("client", spec)

    def run_view(self) -> BulkView | None:
        """The newest run as the client sees it now; None before the first."""
        return self.client_view().run if self._with_client and self._run is not None else None

    def wait_run(self, timeout: float) -> bool:
        """Wait until the run has ended; False if it has not in ``timeout`` seconds."""
        return wait_until(lambda: (view := self.run_view()) is None or view.state == "ended", timeout)

    def give_up(self, spec: BulkSpec) -> RunRecord:
        """The record of a run that sent nothing, because no broker was there. It is kept like any other."""
        self._file(record := self._begun(spec).nothing())
        return record

    def report(self) -> RunRecord:
        """The run JSON of the newest run, ended or so far. Refused before the first."""
        if self._run is None:
            raise Refused("nothing has been run yet")
        client = self.client_view()
        if client.run is None:
            raise Refused("the run has not begun yet")
        _, broker = self._brokers.serving() if self._with_broker else ("", None)
        self._run.watch.look(self.health().loop_lag, self.feed.refresh)
        return self._run.document(client, self._client_id, broker, self._told_afar(client.run))

    def _told_afar(self, run: BulkView) -> Afar | None:
        """What the broker elsewhere told of a run, asked once when it has ended; None where the broker is here."""
        if self._with_broker:
            return None
        with self._asking:
            if self._elsewhere is not None and self._asked is not self._run:
                if run.state != "ended":
                    return Afar((), None, "the run has not ended")
                self._afar, self._asked = self._elsewhere.end(self._client_id), self._run
        return self._afar

    def traces(self) -> list[TaskTrace]:
        """Sampled tasks of the newest run, with their legs where the broker tells them; none before the first."""
        client = self.client_view() if self._run is not None else None
        if self._run is None or client is None or client.run is None:
            return []
        broker = self._brokers.serving()[1] if self._with_broker else None
        return self._run.traces(client, self._client_id, broker, self._told_afar(client.run))

    # ---- inside ----

    def _begun(self, spec: BulkSpec) -> RunReport:
        return RunReport(self.system.name, self._reach("").partition(":")[0], spec, lane=self.lane or SEED_LANE)

    def _keep(self) -> None:
        """Save a run when it has ended, and say so; whatever has been run so far when the lab closes."""
        closing = False
        while not closing:
            closing = self._closing.wait(0.1)
            if not self._unsaved:
                continue
            try:
                view = self.run_view()
                if self._run is not None:
                    self._run.watch.look(self.health().loop_lag, self.feed.refresh)
                if not closing and (view is None or view.state != "ended"):
                    continue
                self._unsaved = False
                self._file(self.report())
            except Refused as refusal:  # the client has died: its own event says why
                self._unsaved = False
                self._say(Note("bad", f"the run is lost: {refusal}"))

    def _file(self, record: RunRecord) -> None:
        try:
            if self._history is not None:
                self._history.keep(record)
        except OSError as error:
            self._lose(f"the run could not be kept: {error}")

    def _lose(self, words: str) -> None:
        if words not in self.unkept:
            self.unkept.append(words)
        self._say(Note("bad", words))
