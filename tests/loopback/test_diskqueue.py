"""Disk queues with real processes on a real disk: races, kill -9, full and forbidden disks, a foreign program."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.core import Note
from engine.drive.feeding import feed
from engine.drive.pipeline import Pipeline
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig, parameter_file
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage, parse_stage, queue_folder, worker_folder
from tests.helpers.processes import WAIT, own_environment, until

HOME = Path(__file__).parents[2]
MEMORY = Path("/dev/shm")


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder on the fastest file system that there is."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder)


class Drivers:
    """Driver processes between two queues."""

    def __init__(self, src: Path, dst: Path, home: Path | None = None) -> None:
        self.src, self.dst, self.home = src, dst, home or src.parent
        self.processes: list[subprocess.Popen[str]] = []
        src.mkdir(parents=True, exist_ok=True)

    def start(self, number: int, work: str = "copy", user: int = 0) -> subprocess.Popen[str]:
        """Start one; as another user it changes to that with everything imported, for nobody may read what root may."""
        times = f"{self.home}/times-{number}"
        config = DriverConfig(str(self.src), str(self.dst), str(number), timer_file=times)
        path = self.home / f"{number}.par"
        path.write_text(parameter_file(config) + "OVERRIDE disk_queue_max_dst_files: 0\n", encoding="utf-8")
        program = "import os, sys, engine.drive.queuedriver as driver\n"
        program += f"os.setuid({user})\n" if user else ""
        process = subprocess.Popen(
            [sys.executable, "-c", f"{program}sys.exit(driver.main())", str(path), "--work", work],
            cwd=HOME,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=own_environment(self.home, PYTHONPATH=str(HOME)),
        )
        self.processes.append(process)
        return process

    def end(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Its exit status and what it printed."""
        assert process.stdout is not None
        output = process.stdout.read()  # not communicate(), which would miss what readline() has buffered
        return process.wait(WAIT), output

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def drivers(root: Path) -> Iterator[Drivers]:
    found = Drivers(root / "src", root / "dst")
    yield found
    found.close()


def fill(folder: Path, count: int, text: str = "text of {}\n") -> list[str]:
    """Ready documents; their ids."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = [f"doc-{index}" for index in range(count)]
    for id in ids:
        (folder / names.ready(id)).write_text(text.format(id), encoding="utf-8")
    return ids


def visible(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def test_eight_drivers_race_and_every_document_has_one_winner(drivers: Drivers) -> None:
    """F15, with 2,000 documents; each driver writes down what it processed."""
    race(drivers, 2_000)


@pytest.mark.skipif(not os.environ.get("ROUNDHOUSE_SLOW"), reason="the 20,000 of F15: set ROUNDHOUSE_SLOW")
def test_eight_drivers_race_for_twenty_thousand(drivers: Drivers) -> None:
    race(drivers, 20_000)


def race(drivers: Drivers, count: int) -> None:
    ids = fill(drivers.src, count)
    (drivers.src / names.DONE).touch()
    started = [drivers.start(number, "tests.helpers.diskqueue_work:note") for number in range(1, 9)]
    for process in started:
        assert drivers.end(process) == (0, "")
    assert visible(drivers.src) == [names.DONE]
    assert visible(drivers.dst) == sorted([*map(names.ready, ids), names.DONE])
    noted = (drivers.src.parent / "processed").read_text(encoding="utf-8").split()
    assert sorted(noted) == sorted(ids), "processed more than once, or never"
    for id in ids:
        assert (drivers.dst / names.ready(id)).read_text(encoding="utf-8") == f"text of {id}\n"


@pytest.mark.parametrize("phase", ["working", "half", "published"])
def test_kill_9_in_every_phase_loses_nothing(drivers: Drivers, phase: str) -> None:
    """The driver is killed while it works, with half an output, and stopped short of deleting its input."""
    fill(drivers.src, 1)
    (drivers.src / names.DONE).touch()
    victim = drivers.start(1, f"tests.helpers.diskqueue_work:{phase}")
    until(lambda: (drivers.src.parent / "reached").exists())
    victim.kill()
    assert drivers.end(victim)[0] == -signal.SIGKILL
    assert visible(drivers.src) == ["doc-0.1.working", names.DONE]
    heir = drivers.start(1)
    code, output = drivers.end(heir)
    assert code == 0
    assert "left over from a driver 1 that died: failed" in output
    assert visible(drivers.src) == [names.DONE]
    assert visible(drivers.dst) == [names.ready("doc-0"), names.DONE]
    assert (drivers.dst / names.ready("doc-0")).read_text(encoding="utf-8") == "text of doc-0\n"


def test_two_processes_of_one_number_cannot_be(drivers: Drivers) -> None:
    """Ruling 5."""
    drivers.src.mkdir(exist_ok=True)
    first = drivers.start(1)
    until(lambda: (drivers.src.parent / "times-1").exists())
    code, output = drivers.end(drivers.start(1))
    assert code == 2
    assert "another driver works under number 1" in output
    first.send_signal(signal.SIGTERM)
    assert drivers.end(first) == (128 + signal.SIGTERM, "")
    assert [name for name in os.listdir(drivers.src) if name.endswith(".lock")] == []


def test_sigterm_finishes_the_document_and_a_second_gives_it_back(drivers: Drivers) -> None:
    """Ruling 7."""
    fill(drivers.src, 2)
    gate = drivers.home / "go"
    os.mkfifo(gate)
    driver = drivers.start(1, f'sh -c \'read x < {gate}; cp "$1" "$2"\' sh {{input}} {{output}}')
    until(lambda: "doc-0.1.working" in visible(drivers.src))
    driver.send_signal(signal.SIGTERM)
    gate.write_text("go\n")
    assert drivers.end(driver) == (128 + signal.SIGTERM, "")
    assert (visible(drivers.src), visible(drivers.dst)) == (["doc-1.ready"], ["doc-0.ready"])
    patient = drivers.start(2, 'sh -c \'sleep 60; cp "$1" "$2"\' sh {input} {output}')
    until(lambda: "doc-1.2.working" in visible(drivers.src))
    patient.send_signal(signal.SIGTERM)
    patient.send_signal(signal.SIGINT)  # another signal, for two of a kind may arrive as one
    code, output = drivers.end(patient)
    assert code in (128 + signal.SIGTERM, 128 + signal.SIGINT)
    assert "given back" in output
    assert (visible(drivers.src), visible(drivers.dst)) == (["doc-1.ready"], ["doc-0.ready"])


def test_a_full_disk_pauses_and_goes_on_when_space_returns(drivers: Drivers) -> None:
    """F14 on a real file system of 512 KiB."""
    small = drivers.src.parent / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        tight = Drivers(small / "src", small / "dst", drivers.home)
        fill(tight.src, 1, "x" * 100_000)
        ballast = small / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        (tight.src / names.DONE).touch()
        driver = tight.start(1)
        assert driver.stdout is not None
        line = driver.stdout.readline()
        assert "bad doc-0: paused, " in line
        assert [name for name in visible(tight.dst) if name.endswith(".ready")] == []
        ballast.unlink()
        code, output = tight.end(driver)
        assert (code, "goes on after" in output) == (0, True)
        assert (tight.dst / "doc-0.ready").stat().st_size == 100_000
        assert visible(tight.src) == [names.DONE]
        tight.close()
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_permission_lost_pauses_and_goes_on(drivers: Drivers) -> None:
    """F14; root may write anywhere, so the driver runs as nobody where this test runs as root."""
    user = 0
    drivers.dst.mkdir()
    if os.geteuid() == 0:
        user = 65534
        for folder in (drivers.src.parent, drivers.src, drivers.dst):
            os.chown(folder, user, -1)
    driver = drivers.start(1, user=user)
    until((drivers.src.parent / "times-1").exists)
    drivers.dst.chmod(0o500)
    fill(drivers.src, 1)
    assert driver.stdout is not None
    assert "bad doc-0: paused, " in driver.stdout.readline()
    assert os.listdir(drivers.dst) == [".1.writing.lock"]
    drivers.dst.chmod(0o700)
    (drivers.src / names.DONE).touch()
    code, output = drivers.end(driver)
    assert (code, "goes on after" in output) == (0, True)
    assert visible(drivers.dst) == ["doc-0.ready", names.DONE]


def test_queues_on_two_file_systems_are_refused(drivers: Drivers, tmp_path: Path) -> None:
    """Ruling 6."""
    if os.stat(tmp_path).st_dev == os.stat(drivers.src).st_dev:
        pytest.skip("there is only one file system here")
    fill(drivers.src, 1)
    across = Drivers(drivers.src, tmp_path / "dst")
    code, output = across.end(across.start(1))
    assert code == 2
    assert "are on two file systems" in output
    assert visible(drivers.src) == ["doc-0.ready"]
    assert os.listdir(tmp_path / "dst") == []
    across.close()


@pytest.mark.parametrize(
    ("work", "message"),
    [
        ("no-such-command {input} {output}", "there is no command 'no-such-command'"),
        ("no_such_module:f", "ModuleNotFoundError"),
        ("nonsense", "neither copy, upper"),
    ],
)
def test_what_cannot_be_done_is_refused_at_the_start(drivers: Drivers, work: str, message: str) -> None:
    fill(drivers.src, 1)
    code, output = drivers.end(drivers.start(1, work))
    assert code == 2
    assert message in output
    assert visible(drivers.src) == ["doc-0.ready"]


def test_an_independent_program_shares_the_queues(drivers: Drivers) -> None:
    """It only renames, as the seed describes, and knows nothing of locks and records."""
    ids = fill(drivers.src, 600)
    foreign = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("renaming_program.py")), drivers.src, drivers.dst],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert foreign.stdout is not None
    foreign.stdout.readline()  # it is at work
    ours = [drivers.start(number) for number in (1, 2)]
    until(lambda: not any(name.endswith(".ready") for name in os.listdir(drivers.src)))
    (drivers.src / names.DONE).touch()
    for process in ours:
        assert drivers.end(process) == (0, "")
    theirs = foreign.stdout.read().split()
    assert foreign.wait(WAIT) == 0
    foreign.stdout.close()
    assert theirs, "it got nothing"
    assert visible(drivers.src) == [names.DONE]
    assert visible(drivers.dst) == sorted([*map(names.ready, ids), names.DONE])
    for id in ids:
        text = (drivers.dst / names.ready(id)).read_text(encoding="utf-8")
        assert text == (f"theirs: text of {id}\n" if id in theirs else f"text of {id}\n")


# ---- pipelines ----------------------------------------------------------------------------------------------------


def test_a_pipeline_with_drivers_killed_at_random_ends_by_itself_with_all_accounted_for(root: Path) -> None:
    inputs = root / "in"
    inputs.mkdir()
    ids = [f"doc-{index}" for index in range(400)]
    for id in ids:
        (inputs / id).write_text(f"text of {id}\n", encoding="utf-8")
    fed = feed(str(root / "p"), [str(inputs / id) for id in ids], done=True)
    assert [one.reason for one in fed] == [""] * 400
    stages = [
        parse_stage("values=1"),
        parse_stage("parse=3", "sleep 0.004"),
        parse_stage("output=2", "sleep 0.002"),
    ]
    notes: list[Note] = []
    pipeline = Pipeline(str(root / "p"), stages, Options(poll=0.1), notes.append)
    ended = threading.Event()
    killed = []

    def started(number: str) -> bool:
        return Path(worker_folder(str(root / "p"), number), "times").exists()

    def kill_at_random() -> None:
        choose = random.Random(3)
        while not ended.wait(0.3):
            # Five in a row that are killed before they have started stop their stage, rightly.
            busy = [driver for driver in pipeline.picture().drivers if driver.pid and started(driver.number)]
            if busy:
                victim = choose.choice(busy)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim.pid, signal.SIGKILL)
                    killed.append(victim.number)

    killer = threading.Thread(target=kill_at_random)
    killer.start()
    try:
        assert pipeline.run(signals=False) == 0
    finally:
        ended.set()
        killer.join()
    assert killed
    assert notes[-1] == Note("good", "done")
    last = Path(queue_folder(str(root / "p"), "output"))
    assert (last / names.DONE).exists()
    published = {name.removesuffix(".ready") for name in os.listdir(last) if name.endswith(".ready")}
    given_up: list[str] = []
    for queue in ("start", "values", "parse"):
        folder = Path(queue_folder(str(root / "p"), queue))
        for name in os.listdir(folder):
            item = names.parse(name)
            assert item is None or (isinstance(item, names.Item) and item.state in ("failed_twice", "kept")), name
            if isinstance(item, names.Item) and item.state == "failed_twice":
                given_up.append(item.id)
    assert sorted([*published, *given_up]) == sorted(ids)
    for id in published:
        assert (last / names.ready(id)).read_text(encoding="utf-8") == f"text of {id}\n"
    view = pipeline.picture()
    assert (view.state, view.queues[-1].counts.ready, len(view.drivers)) == ("ended", len(published), 0)


def test_a_folder_named_as_a_document_keeps_nothing_from_its_end(root: Path) -> None:
    """Its drivers ended and its watchdog started them again, four a second, without end."""
    path = root / "in.txt"
    path.write_text("text", encoding="utf-8")
    feed(str(root), [str(path)], done=True)
    for name in ("d.ready", "e.failed"):
        (root / "queue-start" / name).mkdir()
    (root / "queue-start" / "f.7.working").symlink_to(path)
    pipeline = Pipeline(str(root), [Stage("a", 2)])
    assert pipeline.run(signals=False) == 0
    assert sorted(os.listdir(root / "queue-a")) == ["done", "in.txt.ready"]
    assert len(list(root.glob("worker-*"))) == 2, "and none was started again"
    assert pipeline.show().queues[0].counts.strange == 3


def test_a_publish_collision_fails_and_keeps_the_input(drivers: Drivers) -> None:
    """A folder stood in the output's way: the driver ended well, the input was gone and the output half named."""
    (drivers.dst / "x.ready").mkdir(parents=True)
    (drivers.src / "x.ready").write_text("text", encoding="utf-8")
    (drivers.src / names.DONE).touch()
    code, output = drivers.end(drivers.start(1))
    assert code == 0
    assert "x: failed_twice: x.ready is in the way" in output
    assert (drivers.src / "x.failed_twice.input").read_text(encoding="utf-8") == "text"
    assert sorted(os.listdir(drivers.dst)) == ["done", "x.ready"]


def test_a_pipeline_whose_drivers_cannot_start_says_why(root: Path) -> None:
    notes: list[Note] = []
    stages = [Stage("a"), Stage("b", 2, "no-such-command {input} {output}")]
    assert Pipeline(str(root), stages, Options(poll=0.1), notes.append).run(signals=False) == 1
    assert notes[-1] == Note("bad", "b is stopped")
    assert sum("there is no command 'no-such-command'" in note.text for note in notes) == 1


def test_start_show_stop_and_kill_from_other_processes(root: Path) -> None:
    pipeline = Pipeline(str(root), [parse_stage("a=2")])
    assert pipeline.start() == ["1", "2"]
    for number in ("1", "2"):
        until((root / f"worker-{number}" / "times").exists)
    other = Pipeline.open(str(root))
    view = other.show()
    assert (view.state, [driver.number for driver in view.drivers]) == ("absent", ["1", "2"])
    assert all(driver.memory > 0 and driver.stage == "a" for driver in view.drivers)
    assert pipeline.start() == ["1", "2"], "they run already"
    assert pipeline.stop(WAIT)
    assert other.show().drivers == ()
    assert pipeline.start() == ["3", "4"], "numbers are never used again"
    assert pipeline.kill(WAIT)
    assert [name for name in os.listdir(root / "queue-start") if name.endswith(".lock")] == []


def test_a_running_watchdog_is_stopped_through_its_folder(root: Path) -> None:
    pipeline = Pipeline(str(root), [parse_stage("a=1")], Options(poll=0.05))
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(pipeline.run(signals=False)))
    thread.start()
    until(lambda: bool(pipeline.picture().drivers))
    other = Pipeline.open(str(root))
    assert other.watched()
    assert Pipeline(str(root), [parse_stage("a=1")]).run(signals=False) == 2
    assert other.stop(WAIT)
    thread.join(WAIT)
    assert codes == [0]
    assert not other.watched()
