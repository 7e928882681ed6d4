"""On a real disk, others put links, FIFOs, devices and more under any name at any moment: nothing outside the queues is
opened, changed or removed, whoever is at work: driver, feeder or recoverer (the watchdog: ``test_diskwatchdog.py``).
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Exit, Note, Start, Started, Woken
from engine.drive import disk, documents
from engine.drive.disk import Disk
from engine.drive.feeding import feed
from engine.errors import Refused
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.operations import Done, Operation, Process, Processed
from engine.protocols.diskqueue.transitions import recover
from tests.helpers.examples import examples
from tests.helpers.queuehands import KINDS, NUMBER, Place, somewhere
from tests.helpers.strangers import STRANGER, as_stranger, needs_stranger, open_folder

PLANTS = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 13), st.sampled_from(sorted(KINDS))), min_size=1, max_size=6
)
"""At which operation, under which name, what."""

FEW = examples(60)


class Meddled(Disk):
    """The real disk, with somebody who is quicker than each operation."""

    def __init__(self, place: Place, plants: list[tuple[int, int, str]]) -> None:
        super().__init__()
        self.place, self.plants, self.asked = place, plants, 0

    def perform(self, operation: Operation) -> Done:
        self.asked += 1
        self.meddle(operation)
        return super().perform(operation)

    def meddle(self, operation: Operation | None = None) -> None:
        place = self.place
        for at, which, kind in self.plants:
            if at != self.asked:
                continue
            targets = [
                place.src / "x.ready",
                place.src / names.working("x", NUMBER),
                place.src / names.publishing("x", NUMBER),
                place.src / names.attempts("x"),
                place.src / names.failed("x"),
                place.src / names.failed_twice("x"),
                place.src / names.kept("x"),
                place.src / names.DONE,
                place.dst / names.writing("x", NUMBER),
                place.dst / "x.ready",
                place.dst / "x",
                place.dst / names.DONE,
                place.own / "times",
                place.own / "documents",
            ]
            name, folder = getattr(operation, "name", ""), getattr(operation, "folder", "")
            place.plant(Path(folder, name) if name and which % 2 else targets[which], kind)


def drive(place: Place, held: Meddled, work: str) -> None:
    """One driver's core on it, in no time."""
    own = f"{place.own}/times", f"{place.own}/quit", f"{place.own}/documents"
    core = Driver(DriverConfig(str(place.src), str(place.dst), NUMBER, work, 0, 0, *own))
    does = documents.parse_work(work)
    event: Any = Started()
    now = 0.0
    for _ in range(120):
        now = max(now, core.wake_at()) if isinstance(event, Woken) else now
        commands, event = core.handle(event, now), Woken()
        for command in commands:
            match command:
                case Exit():
                    return
                case Note():
                    pass
                case Start(_, body):
                    assert isinstance(body, Process)
                    held.asked += 1
                    held.meddle()
                    event = documents.process(does, body)
                    assert isinstance(event, Processed)
                case _:
                    event = held.perform(command)  # type: ignore[arg-type]


@FEW
@given(plants=PLANTS, work=st.sampled_from(["copy", "upper", "fail marked", "shutil:copyfile"]))
def test_a_driver_touches_nothing_outside(plants: list[tuple[int, int, str]], work: str) -> None:
    with somewhere() as place:
        for name, text in (("x", "fail once\n"), ("y", "text\n")):
            (place.src / names.ready(name)).write_text(text, encoding="utf-8")
        with Meddled(place, plants) as held:
            drive(place, held, work)
        place.judge()


@FEW
@given(plants=PLANTS)
def test_a_recoverer_touches_nothing_outside(plants: list[tuple[int, int, str]]) -> None:
    with somewhere() as place:
        (place.src / names.working("x", NUMBER)).write_text("text\n", encoding="utf-8")
        (place.src / names.publishing("x", NUMBER)).write_text(f"{place.dst}\n", encoding="utf-8")
        (place.dst / names.writing("x", NUMBER)).write_text("text\n", encoding="utf-8")
        with Meddled(place, plants) as held:
            steps = recover(str(place.src), str(place.dst), NUMBER, True, 0.0)
            answer: Done | None = None
            try:
                while answer is None or answer.error not in ("full", "denied", "broken"):
                    answer = held.perform(next(steps) if answer is None else steps.send(answer))
            except StopIteration:
                pass
        place.judge()


@FEW
@given(plants=PLANTS)
def test_a_feeder_touches_nothing_outside(plants: list[tuple[int, int, str]]) -> None:
    with somewhere() as place, pytest.MonkeyPatch.context() as patch:
        (place.root / "in").mkdir()
        soon = [(at % 5, which, kind) for at, which, kind in plants]
        paths = [place.root / "in" / name for name in ("x", "y")]
        for path in paths:
            path.write_text("text", encoding="utf-8")
        patch.setattr("engine.drive.feeding.Disk", lambda: Meddled(place, soon))
        with suppress(Refused):  # where it can not say that all is fed
            feed(str(place.root), map(str, paths), done=True)
        place.judge()


@pytest.mark.parametrize("name", ["secret", "startup"])
def test_a_file_with_a_name_elsewhere_keeps_its_content_and_its_mode(name: str) -> None:
    """Hard links, where the system lets others make them: outputs, records and promises are never such files."""
    with somewhere() as place:
        home = place.home / name
        for path in (place.src / ".x.attempts", place.src / ".x.7.publishing", place.dst / "x.7.writing.xml"):
            os.link(home, path)
        (place.src / "x.ready").write_text("fail once\n", encoding="utf-8")
        with Meddled(place, []) as held:
            drive(place, held, "fail marked")
        assert (place.dst / "x.ready").read_text(encoding="utf-8") == "fail once\n"

        def swap(task: Process, source: int) -> None:
            os.link(home, task.output)

        task = Process("y", 1, str(place.src / "y"), str(place.dst / "y"))
        (place.src / "y").write_text("text", encoding="utf-8")
        (place.src / "y").chmod(0o666)
        assert "names (hard links)" in documents.process(swap, task).text
        assert place.seen()[str(home)] == place.before[str(home)]


def test_the_disk_of_these_tests_is_the_one_of_drivers() -> None:
    assert issubclass(Meddled, disk.Disk) and Meddled.close is disk.Disk.close


# ---- as another user, in a queue that is shared --------------------------------------------------------------------

PLANTER = """
import os, sys
queue, dst, home = sys.argv[1:]
os.symlink(home + "/secret", queue + "/secret.ready")
os.symlink("/dev/zero", queue + "/zero.ready")
os.mkfifo(queue + "/fifo.ready")
with open(queue + "/doc.ready", "w") as file:
    file.write("fail once\\n")
os.chmod(queue + "/doc.ready", 0o640)
os.symlink(home + "/startup", queue + "/.doc.attempts")
os.symlink(home + "/startup", queue + "/.doc.7.publishing")
os.symlink(home + "/startup", dst + "/doc.7.writing.xml")
os.symlink(home + "/startup", dst + "/done")
for name in ("x", "x.1"):
    os.symlink(home + "/startup", queue + "/." + name + ".probe.lock")
"""


@needs_stranger
def test_another_user_who_writes_in_a_queue_gets_a_document_published_and_nothing_else() -> None:
    with open_folder() as root:
        place = Place(root)
        for queue in (place.src, place.dst):
            queue.chmod(0o777)
        planter = as_stranger(PLANTER, str(place.src), str(place.dst), str(place.home))
        planter.communicate(timeout=60)
        assert planter.returncode == 0
        with Meddled(place, []) as held:
            drive(place, held, "fail marked")
        place.judge()
        published = place.dst / "doc.ready"
        assert published.read_text(encoding="utf-8") == "fail once\n"
        assert stat.S_IMODE(published.lstat().st_mode) == 0o640, "it keeps its mode"
        left = sorted(path.name for path in place.src.iterdir() if not path.name.startswith("."))
        assert left == ["fifo.ready", "secret.ready", "zero.ready"], "what is no document stays where it is"


INTRUDER = """
import os, sys
for what in (os.listdir, lambda path: open(path + "/x.ready").read(), lambda path: open(path + "/y.ready", "w")):
    try:
        what(sys.argv[1])
    except PermissionError:
        print("refused", flush=True)
"""


@needs_stranger
def test_another_user_gets_into_no_queue_that_was_made_without_a_mode() -> None:
    with open_folder() as root:
        (root / "x").write_text("text", encoding="utf-8")
        feed(str(root), [str(root / "x")])
        out, _ = as_stranger(INTRUDER, str(root / "queue-start")).communicate(timeout=60)
        assert out == "refused\n" * 3


RECOVERED = """
import os, sys
with open(sys.argv[1] + "/.x.7.publishing", "w") as file:
    file.write(sys.argv[2] + "\\n")
"""


OUTPUT = """
import sys
with open(sys.argv[1] + "/x.7.writing.xml", "w") as file:
    file.write("a stranger's")
"""


@needs_stranger
def test_another_users_promise_deletes_no_document() -> None:
    with open_folder() as root:
        place = Place(root)
        place.src.chmod(0o777)
        (place.src / "x.7.working").write_text("text", encoding="utf-8")
        as_stranger(RECOVERED, str(place.src), str(place.dst)).communicate(timeout=60)
        assert (place.src / ".x.7.publishing").exists()
        disk.run(recover(str(place.src), str(place.dst), NUMBER, True, 0.0))
        assert (place.src / "x.failed").read_text(encoding="utf-8") == "text"


@needs_stranger
@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_another_users_file_under_the_former_name_of_an_output_is_not_published(mode: int) -> None:
    """The driver died behind the publishing. The recoverer deletes no published document for what stands there."""
    with open_folder() as root:
        place = Place(root)
        place.dst.chmod(mode)
        (place.src / "x.7.working").write_text("text", encoding="utf-8")
        (place.src / ".x.7.publishing").write_text(f"{place.dst}\n", encoding="utf-8")
        (place.dst / "x.ready").write_text("published", encoding="utf-8")
        as_stranger(OUTPUT, str(place.dst)).communicate(timeout=60)
        assert (place.dst / "x.7.writing.xml").lstat().st_uid == STRANGER
        settled = disk.run(recover(str(place.src), str(place.dst), NUMBER, True, 0.0))
        assert settled == [("x", "published")]
        assert (place.dst / "x.ready").read_text(encoding="utf-8") == "published"
        assert list(place.src.iterdir()) == []


RECORD = """
import sys
with open(sys.argv[1] + "/.x.attempts", "w") as file:
    file.write("begin\\t2\\t7\\t0\\t\\n")
"""


@needs_stranger
def test_another_users_record_has_no_document_given_up() -> None:
    with open_folder() as root:
        place = Place(root)
        place.src.chmod(0o777)
        (place.src / "x.7.working").write_text("text", encoding="utf-8")
        as_stranger(RECORD, str(place.src)).communicate(timeout=60)
        assert (place.src / ".x.attempts").lstat().st_uid == STRANGER
        settled = disk.run(recover(str(place.src), str(place.dst), NUMBER, False, 0.0))
        assert settled == [("x", "failed")]
        assert (place.src / ".x.attempts").lstat().st_uid == os.geteuid(), "the record is made anew"
