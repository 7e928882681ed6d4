"""Disk queues under everything at once: ``python -m tests.chaos.diskqueue [--documents N] [--seed N]``.

A pipeline of eight drivers in three stages runs on a small file system of its own. Meanwhile drivers and the watchdog
are killed (SIGKILL), the file system is filled to its last block, a folder is forbidden, and another user creates
names that documents are about to be published under, files and folders. After so many faults all of that ends, and the
pipeline has to come to its end. Then each document is there exactly once: published with its own content, or failed
twice by its name.

It needs the superuser, who mounts the file system; the pipeline itself runs without any capability, so that modes
count for it as for everybody. What it uses is bounded: drivers that live, folders that are kept.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.options import Options
from tests.helpers.processes import ROOT, own_environment
from tests.helpers.strangers import as_stranger, open_folder

STAGES = {"values": (2, "sleep 0.01"), "parse": (4, "fail marked 0.02"), "output": (2, "upper")}
DRIVERS = sum(workers for workers, _ in STAGES.values())
ROOM = 4 * 1024  # KiB of the file system, and for each document:
EACH = 16  # KiB: a block for every copy that there may be of it
PAUSES = (0.05, 0.4)  # seconds between two faults
LASTS = (0.1, 0.6)  # seconds that a fault lasts which has an end
ENDS = 120.0  # seconds in which the pipeline has to end once nothing disturbs it any more
FOLDERS = Options().worker_folders + 2 * DRIVERS  # of drivers: those that are kept, and those that were just begun

STRANGER = """
import os, random, sys, time
queue, choose = sys.argv[1], random.Random(int(sys.argv[2]))
print("here", flush=True)
while True:
    try:
        found = os.listdir(queue)
    except OSError:
        found = []
    for name in found:
        if name.endswith(".writing.xml") and choose.random() < 0.3:
            path = f"{queue}/{name.rsplit('.', 3)[0]}.ready"
            try:
                if choose.random() < 0.2:
                    os.mkdir(path)
                else:
                    with open(path, "x") as file:
                        file.write("a stranger's")
                print(path, flush=True)
            except OSError:
                pass
    time.sleep(0.001)
"""


@dataclass
class Figures:
    """What it came to."""

    documents: int
    seconds: float = 0.0
    published: int = 0
    failed_twice: Counter[str] = field(default_factory=Counter)  # by queue
    faults: Counter[str] = field(default_factory=Counter)
    watchdogs: Counter[str] = field(default_factory=Counter)  # how they ended
    collisions: int = 0
    most_drivers: int = 0  # that lived at once
    most_folders: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [
            f"{self.documents:,} documents, {DRIVERS} drivers, {self.seconds:.1f} s",
            f"{self.published:,} published, {self.failed_twice.total():,} failed twice "
            f"({', '.join(f'{count} from {queue}' for queue, count in sorted(self.failed_twice.items())) or 'none'})",
            ", ".join(f"{what} {count}" for what, count in sorted(self.faults.items())),
            f"collisions by a stranger {self.collisions}",
            "watchdogs ended: " + ", ".join(f"{how} {count}" for how, count in sorted(self.watchdogs.items())),
            f"at most {self.most_drivers} drivers alive and {self.most_folders} folders",
            f"wrong: {len(self.wrong)}",
        ]
        return "\n".join([*parts, *self.wrong[:20]])


def why_not() -> str:
    """Why it can not be played here, or the empty string."""
    if os.geteuid() != 0 or sys.platform != "linux":
        return "only the superuser of a Linux can mount a file system and act as another user"
    if missing := [tool for tool in ("setpriv", "mount", "umount") if shutil.which(tool) is None]:
        return f"there is no {', '.join(missing)}"
    with open_folder() as place:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], capture_output=True, check=False)
        if mounted.returncode:
            return "mounting a file system is not permitted here"
        subprocess.run(["umount", "-l", place], check=True)
    return ""


def play(documents: int, seed: int, faults: int) -> Figures:
    """So many documents through so many faults."""
    figures = Figures(documents)
    with open_folder() as folder, small_disk(folder / "disk", ROOM + EACH * documents) as disk:
        scene = Scene(folder, disk, seed, figures)
        try:
            scene.play(faults)
        finally:
            scene.close()
    return figures


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[Path]:
    """A file system of so many KiB."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k,mode=0755", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


class Scene:
    """One pipeline, and everything that happens to it."""

    def __init__(self, folder: Path, disk: Path, seed: int, figures: Figures) -> None:
        self._folder, self._disk, self._figures, self._seed = folder, disk, figures, seed
        self._choose = Random(seed)
        self._root = disk / "p"
        self._root.mkdir(0o755)  # so that the stranger reaches the queues; only ours may write in it
        self._last = self._root / "queue-output"
        self._log = (folder / "watchdog").open("ab")
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._stranger: subprocess.Popen[str] | None = None
        self._undo: list[tuple[float, Callable[[], object]]] = []  # when, what
        self._config = folder / "pipeline.toml"
        self._config.write_text(
            "[diskqueue]\npoll = 0.1\nrestart_first = 0.05\nrestart_most = 0.5\nstart_failures = 1000\n"
            + "".join(f'[[stage]]\nname = "{n}"\nworkers = {w}\nwork = "{work}"\n' for n, (w, work) in STAGES.items()),
            encoding="utf-8",
        )

    def play(self, faults: int) -> None:
        """From the first document to the judgement."""
        texts = self._feed()
        began = time.monotonic()
        self._run()
        self._stranger = as_stranger(STRANGER, str(self._last), str(self._seed))
        happen = [self._kill_driver, self._kill_driver, self._kill_watchdog, self._fill, self._forbid]
        while self._figures.faults.total() < faults and self._goes_on():
            self._wait(self._choose.uniform(*PAUSES))
            if what := self._choose.choice(happen)():
                self._figures.faults[what] += 1
        for _, undo in self._undo:
            undo()
        self._undo.clear()
        self._end_stranger()
        limit = time.monotonic() + ENDS + len(texts) / 20
        while self._goes_on():
            if time.monotonic() > limit:
                self._figures.wrong.append(f"the pipeline did not end: {self._said()}")
                break
            self._wait(0.1)
        self._figures.seconds = time.monotonic() - began
        self._judge(texts)

    def close(self) -> None:
        """Nothing of it stays."""
        for _, undo in self._undo:
            undo()
        self._end_stranger()
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.wait()
        for pid in self._living():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._log.close()

    # ---- the pipeline ------------------------------------------------------------------------------------------------

    def _feed(self) -> dict[str, str]:
        """Feed every document; their texts by their ids."""
        inputs = self._folder / "in"
        inputs.mkdir()
        firsts = ("fail once", "fail twice")
        texts = {}
        for number in range(self._figures.documents):
            first = firsts[number % 40 // 10] if number % 40 in (7, 17) else "a document"
            texts[f"doc-{number}.txt"] = f"{first}\nnumber {number}\n"
        for id, text in texts.items():
            (inputs / id).write_text(text, encoding="utf-8")
        files = [str(inputs / id) for id in texts]
        subprocess.run(self._words("feed", "--root", str(self._root), "--done", *files), env=self._env(), check=True)
        return texts

    def _run(self) -> None:
        words = self._words("pipeline", "run", "--root", str(self._root), "--config", str(self._config))
        self._watchdog = subprocess.Popen(
            [*words, "--mode", "777"],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=self._env(),
            cwd=self._folder,
        )

    @staticmethod
    def _words(*arguments: str) -> list[str]:
        return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m", "console", *arguments]

    def _env(self) -> dict[str, str]:
        home = {name: str(self._folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
        return own_environment(self._folder, **home, PYTHONPATH=str(ROOT))

    def _goes_on(self) -> bool:
        """Whether the pipeline has not come to its end; a watchdog that ended before is started anew, as people do."""
        if self._watchdog is None:
            return False
        status = self._watchdog.poll()
        if status is None:
            return True
        self._figures.watchdogs[f"status {status}" if status >= 0 else f"signal {-status}"] += 1
        if status == 0:
            self._watchdog = None
            return False
        self._run()
        return True

    def _wait(self, seconds: float) -> None:
        """Let time pass; what has lasted long enough ends."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for entry in [entry for entry in self._undo if entry[0] <= time.monotonic()]:
                self._undo.remove(entry)
                entry[1]()
            self._figures.most_drivers = max(self._figures.most_drivers, len(self._living()))
            folders = sum(name.startswith("worker-") for name in os.listdir(self._root))
            self._figures.most_folders = max(self._figures.most_folders, folders)
            time.sleep(0.02)

    def _living(self) -> list[int]:
        """Drivers of this root, by what the system says of processes."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"engine.drive.queuedriver" in words and any(os.fsencode(self._root) in word for word in words):
                    found.append(int(pid))
        return found

    def _said(self) -> str:
        return (self._folder / "watchdog").read_text(encoding="utf-8", errors="replace")[-2000:]

    # ---- what happens ------------------------------------------------------------------------------------------------

    def _kill_driver(self) -> str:
        if not (living := sorted(self._living())):
            return ""
        with suppress(ProcessLookupError):
            os.kill(self._choose.choice(living), signal.SIGKILL)
        return "drivers killed"

    def _kill_watchdog(self) -> str:
        if self._watchdog is None:
            return ""
        self._watchdog.kill()
        self._watchdog.wait()
        return "watchdogs killed"

    def _fill(self) -> str:
        """To the last block."""
        ballast = self._disk / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        self._later(lambda: ballast.unlink(missing_ok=True))
        return "disk full"

    def _forbid(self) -> str:
        folder = self._root / f"queue-{self._choose.choice(['start', *STAGES])}"
        if not folder.is_dir():
            return ""
        mode = folder.stat().st_mode & 0o7777
        if not mode & 0o200:  # it is forbidden already
            return ""
        folder.chmod(0o500)
        self._later(lambda: folder.chmod(mode))
        return "folder forbidden"

    def _later(self, undo: Callable[[], object]) -> None:
        self._undo.append((time.monotonic() + self._choose.uniform(*LASTS), undo))

    def _end_stranger(self) -> None:
        if self._stranger is not None:
            self._stranger.kill()
            self._figures.collisions += max(0, self._stranger.communicate()[0].count("\n") - 1)
            self._stranger = None

    # ---- what it came to ---------------------------------------------------------------------------------------------

    def _judge(self, texts: dict[str, str]) -> None:
        """Each document once, and nothing between."""
        figures = self._figures
        ends: dict[str, list[str]] = {id: [] for id in texts}
        for id, text in texts.items():
            path = self._last / names.ready(id)
            if path.is_file() and path.read_text(encoding="utf-8") == text.upper():
                ends[id].append("published")
                figures.published += 1
        for queue in ("start", *STAGES):
            for name in os.listdir(self._root / f"queue-{queue}"):
                item = names.parse(name)
                if not isinstance(item, names.Item):
                    continue
                if item.state == "failed_twice":
                    ends[item.id].append(f"failed twice in {queue}")
                    figures.failed_twice[queue] += 1
                elif item.state != "kept" and not (item.state == "ready" and queue == "output"):
                    figures.wrong.append(f"left in {queue}: {name}")
        figures.wrong += [f"{id}: {' and '.join(end) or 'LOST'}" for id, end in ends.items() if len(end) != 1]
        if figures.most_folders > FOLDERS:
            figures.wrong.append(f"{figures.most_folders} folders of drivers")
        if figures.most_drivers > 2 * DRIVERS:
            figures.wrong.append(f"{figures.most_drivers} drivers at once")
        if figures.wrong:
            figures.wrong.append(self._said())


def main() -> int:
    """Status 0 where every document came to one end."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.diskqueue", description="Disk queues under all faults."
    )
    parser.add_argument("--documents", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--faults", type=int, default=0, help="how many (one for each ten documents)")
    parser.add_argument("--seed", type=int, default=1, help="of what happens, and when (1)")
    options = parser.parse_args()
    if reason := why_not():
        print(reason)
        return 2
    figures = play(options.documents, options.seed, options.faults or options.documents // 10)
    print(figures)
    return 1 if figures.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
