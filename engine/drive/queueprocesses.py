"""The driver processes of a pipeline: started, adopted, told to leave, and seen to end.

The rules of this file:

- A driver's folder is made by us, 0700, and every file in it is opened by its handle.
- No driver takes code from the folder that it is started in: ``-P``, and no empty entry in ``PYTHONPATH``.
- A signal goes to our own children, and to those that ``engine.drive.driverprocess`` knows again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import engine
from engine.core import Note
from engine.drive import driverprocess, environment
from engine.drive.driverprocess import driver_process, own_folder
from engine.drive.pipelineview import Observation
from engine.drive.queueview import tail_of, times_of
from engine.drive.sender import FOLDER
from engine.files import safely
from engine.protocols.diskqueue.config import DriverConfig, parameter_file
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage, queue_folder, source, worker_folder
from engine.protocols.diskqueue.watchdog import Ended, Found

OUTPUT_MOST = 1024 * 1024  # bytes of a driver's out.txt; then it starts anew beside its old end


class DriverProcesses:
    """Those that this watchdog started, and those that it found alive."""

    def __init__(
        self,
        root: str,
        stages: tuple[Stage, ...],
        options: Options,
        sight: Observation,
        bound: bool = False,
        say: Callable[[Note], None] = lambda note: None,
    ) -> None:
        """``bound``: no driver outlives this process (on Linux), so that nothing is ever left of a demonstration.

        ``say`` gets the reasons why a driver is left alone.
        """
        self._root, self._say = root, say
        self._bound = bound
        self._stages = stages
        self._options = options
        self._sight = sight
        self._children: dict[str, subprocess.Popen[bytes] | None] = {}  # None: not started by this process
        self._stage_of: dict[str, str] = {}

    def spawn(self, stage: str, number: str) -> list[Ended]:
        """Start one; an ``Ended`` at once where the system refuses."""
        index = [known.name for known in self._stages].index(stage)
        folder, words = worker_folder(self._root, number), self._words(index, number)
        try:
            os.mkdir(folder, 0o700)
            with own_folder(folder, os.geteuid()) as handle:
                with os.fdopen(safely.create("worker.par", at=handle), "w", encoding="utf-8") as out:
                    out.write(parameter_file(self._config(index, number)))
                output = safely.open_or_create("out.txt", os.O_WRONLY | os.O_APPEND, at=handle)
                try:
                    child = subprocess.Popen(
                        words,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,  # a ^C in the terminal is the watchdog's business
                        env={**environment.passed(), "PYTHONPATH": search_path()},
                    )
                finally:
                    os.close(output)
                self._children[number], self._stage_of[number] = child, stage
                driverprocess.write_down(handle, child.pid, words)
        except OSError as error:
            if number not in self._children:
                # A full disk is no mistake of the stage's: as if it had run and died, so it is tried again later.
                full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                return [Ended(number, 1, full, 0, str(error))]
            self.kill(number)  # without its pid on disk no later watchdog would find it
        return []

    def _words(self, index: int, number: str) -> list[str]:
        """A driver's command line."""
        folder = worker_folder(self._root, number)
        words = [sys.executable, "-P", "-m", "engine.drive.queuedriver", f"{folder}/worker.par"]
        words += ["--work", self._stages[index].work, "--log", f"{folder}/documents"]
        words += [] if self._options.keep_input else ["--discard"]
        if (passed := environment.narrowed()) is not None:
            words += ["--env", ",".join(passed)]
        words += ["--bound", str(os.getpid())] if self._bound else []
        return [*words, "--watchers", f"{self._root}/{FOLDER}"]

    def _config(self, index: int, number: str) -> DriverConfig:
        folder = worker_folder(self._root, number)
        last = index == len(self._stages) - 1  # nothing empties the last queue, so it has no limit
        return DriverConfig(
            queue_folder(self._root, source(self._stages, index)),
            queue_folder(self._root, self._stages[index].name),
            number,
            max_files=0 if last else self._options.max_files,
            max_bytes=0 if last else self._options.max_bytes,
            timer_file=f"{folder}/times",
            quit_file=f"{folder}/quit",
            start_stage=self._stages[index].name,
            end_stage=self._stages[index].name,
        )

    def adopt(self) -> list[Found]:
        """Drivers that an earlier watchdog started and that still live; of the others it is said why not."""
        found: list[Found] = []
        for number in self._sight.numbers():
            if not driver_process(self._root, number):
                if why := driverprocess.disowned(self._root, number):
                    self._say(Note("warn", f"driver {number} is left alone: {why}", number.encode()))
                continue
            stage = self._sight.stage_of(number)
            if stage and number not in self._children:
                self._children[number], self._stage_of[number] = None, stage
            found.append(Found(number, stage))
        return found

    def ends(self) -> Iterator[Ended]:
        """Those that have ended since the last time."""
        for number, child in list(self._children.items()):
            code = child.poll() if child is not None else None
            if code is None and (child is not None or driver_process(self._root, number)):
                continue
            del self._children[number]
            times = times_of(self._root, number)
            lines = tail_of(f"{worker_folder(self._root, number)}/out.txt", 1000).strip().splitlines()
            self._sight.bury(self._stage_of.pop(number), number, times)
            yield Ended(number, code, times is not None, times.docs if times else 0, lines[-1][:300] if lines else "")

    def running(self) -> dict[str, tuple[str, int]]:
        """Number → stage and pid, of those that are started or adopted and have not been seen to end."""
        return {
            number: (self._stage_of[number], child.pid if child is not None else driver_process(self._root, number))
            for number, child in self._children.items()
        }

    def living(self) -> list[str]:
        """The numbers of all drivers under the root that live, whoever started them."""
        return [number for number in self._sight.numbers() if driver_process(self._root, number)]

    def quit(self, number: str) -> None:
        """The quit file, which any driver obeys, and the signal, which wakes ours."""
        with contextlib.suppress(OSError), own_folder(worker_folder(self._root, number), os.geteuid()) as handle:
            os.close(safely.open_or_create("quit", os.O_WRONLY, at=handle))
        self._send(number, signal.SIGTERM)

    def kill(self, number: str) -> None:
        """SIGKILL."""
        self._send(number, signal.SIGKILL)

    def trim(self) -> None:
        """Keep what drivers print within bounds."""
        for number in self._children:
            with contextlib.suppress(OSError), own_folder(worker_folder(self._root, number), os.geteuid()) as handle:
                self._trim(handle)

    @staticmethod
    def _trim(handle: int) -> None:
        with os.fdopen(safely.open_file("out.txt", os.O_RDWR, at=handle), "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            if size > OUTPUT_MOST:
                file.seek(size - OUTPUT_MOST)
                safely.replace("out.txt.old", file.read(OUTPUT_MOST), at=handle)
                file.truncate(0)

    def prune(self) -> None:
        """Delete the folders of the long dead; never the newest: its number shows which were used."""
        for number in self._sight.numbers()[: -self._options.worker_folders]:
            folder = worker_folder(self._root, number)
            if number not in self._children and not driver_process(self._root, number):
                with contextlib.suppress(OSError), own_folder(folder, os.geteuid()):  # not another user's, and no link
                    shutil.rmtree(folder, ignore_errors=True)

    def _send(self, number: str, what: signal.Signals) -> None:
        child = self._children.get(number)
        if child is None:
            why = driverprocess.send(self._root, number, what)
        else:
            try:
                child.send_signal(what)
                why = ""
            except PermissionError:
                why = f"process {child.pid} takes no {what.name} from us: the operation is not permitted"
        if why:
            self._say(Note("bad", f"driver {number} is left alone: {why}", number.encode()))


def search_path() -> str:
    """Where a driver finds modules: ours and the operator's, and never the folder that it happens to be started in."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(engine.__file__)))
    return os.pathsep.join([home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
