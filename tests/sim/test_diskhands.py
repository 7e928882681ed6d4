"""Others write in the folders of a queue: every error as the answer to every operation, and every odd thing under
every name. No document is lost by it, and none counts as published that is not.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import NEVER
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import (
    TROUBLE,
    Append,
    Error,
    Exists,
    List,
    Log,
    Operation,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
    WriteOut,
)
from engine.sim.disk import FOLDER, KINDS, SimDisk
from engine.sim.driver import Fate, SimDriver, config, result
from engine.sim.owners import STRANGER, USER, Access
from engine.sim.recovery import SimRecovery
from tests.helpers.examples import examples

TEXT = "the document"
FATES: dict[str, list[Fate]] = {
    "published": ["done"],
    "published at last": ["failed", "done"],
    "given up": ["failed", "failed"],
    "silent": ["silent", "done"],
    "crashed": ["crash", "done"],
    "crashed twice": ["crash", "crash"],
}


class Stranger:
    """Meddles with one operation, or with all of some kind: gives an error as the answer or makes it come true."""

    def __init__(self, disk: SimDisk, deed: str, at: int) -> None:
        self.disk, self.deed, self.at = disk, deed, at
        self.count = 0
        self.taken: list[str] = []  # content that it has carried off
        self.another = False  # it has put in a document of its own under this id: only one of two is kept (ruling 10)
        self.recovering = False
        self.seen = False  # the whole output stood under its final name: whoever reads the queue has it
        disk.meddle = self.meddle

    def meddle(self, operation: Operation) -> Error:
        self.count += 1
        self.seen = self.seen or published(self.disk)
        if self.count != self.at:
            return ""
        return self.do(operation)

    def do(self, operation: Operation) -> Error:
        match self.deed:
            case "full" | "denied" | "broken":
                return self.deed
            case "gone":
                if isinstance(operation, Exists | Read | Take | Rename | Remove | Append | Touch | Sync):
                    recovers = isinstance(operation, Exists) and self.recovering  # to whom that looks as if published
                    self._carry_off(operation.folder, operation.name, recovers)
            case "exists":
                if isinstance(operation, Take | Rename):
                    self._carry_off(operation.folder, operation.new)
                    self.disk.put(operation.folder, operation.new, "a stranger's")
                    self.another = self.another or operation.folder == "src"
            case "in the way":
                if isinstance(operation, Take | Rename):
                    self._carry_off(operation.folder, operation.new)
                    self.disk.put(operation.folder, operation.new, kind=FOLDER)
            case "a stranger's file":
                if isinstance(operation, Exists | Read | Take | Rename | Remove | Append | Touch | Sync):
                    self._carry_off(operation.folder, operation.name, isinstance(operation, Rename))
                    self.disk.put(operation.folder, operation.name, "a stranger's", owner=STRANGER)
                    self.another = self.another or operation.name in ("x.ready", "x.failed")
            case kind:
                if isinstance(operation, Exists | Read | Take | Rename | Remove | Append | Touch | Sync):
                    self._carry_off(operation.folder, operation.name, isinstance(operation, Rename))  # moved, unseen
                    self.disk.put(operation.folder, operation.name, kind=kind)
        return ""

    def _carry_off(self, folder: str, name: str, unseen: bool = False) -> None:
        """An output that is gone before it is published takes no input with it, unless nobody can have seen that."""
        file = self.disk.folders[folder].pop(name, None)
        if file is not None and not file.kind and (unseen or self.seen or file.content != result(TEXT)):
            self.taken.append(file.content)


DEEDS = ("full", "denied", "broken", "gone", "exists", "in the way", "a stranger's file", *KINDS)


def world() -> SimDisk:
    disk = SimDisk("src", "dst")
    disk.put("src", "x.ready", TEXT)
    disk.put("src", names.DONE)
    return disk


def drive(disk: SimDisk, number: str, fates: list[Fate], leave_at: int = -1) -> SimDriver:
    """Run one driver to its end, or until it can only wait for somebody to clear what is in its way."""

    def fate(id: str, attempt: int) -> Fate:
        return fates[min(attempt, len(fates)) - 1]

    made = config("src", "dst", number, timer_file="t", log_file="l")
    driver, now = SimDriver(disk, made, fate), 0.0
    for step in range(400):
        if not driver.alive:
            break
        if step == leave_at:
            driver.leave(now)
            driver.leave(now)
        now = now if driver.busy else max(now, driver.wake_at())
        assert now < NEVER, "a driver waits for nothing"
        driver.step(now)
    return driver


def drive_until(disk: SimDisk, reached: Callable[[Operation], bool]) -> SimDriver:
    """Run driver 1 until it is about to do such an operation."""
    driver = SimDriver(disk, config("src", "dst", "1"), lambda id, attempt: "done")
    while not (isinstance(driver.pending, Operation) and reached(driver.pending)):
        driver.step(0.0)
    return driver


def recover(disk: SimDisk, number: str) -> None:
    recovery = SimRecovery(disk, config("src", "dst", number))
    for _ in range(200):
        if not recovery.busy:
            return
        recovery.step()
    recovery.crash()


def published(disk: SimDisk) -> bool:
    return disk.regular("dst", "x.ready") and disk.text("dst", "x.ready") == result(TEXT)


def whereabouts(disk: SimDisk, stranger: Stranger) -> list[str]:
    """Where all of the document is: in its first queue, published, or with the stranger."""
    found = []
    for name, file in disk.folders["src"].items():
        item = names.parse(name)
        if isinstance(item, names.Item) and file.content == TEXT and not file.kind:
            found.append(f"src {item.state}")
    if stranger.seen or published(disk):
        found.append("published")
    return found + ["taken" for text in stranger.taken if text in (TEXT, result(TEXT))]


@pytest.mark.parametrize("fates", FATES.values(), ids=FATES)
@pytest.mark.parametrize("deed", DEEDS)
def test_every_error_at_every_operation_loses_nothing(deed: str, fates: list[Fate]) -> None:
    at = 0
    while True:
        at += 1
        disk = world()
        stranger = Stranger(disk, deed, at)
        first = drive(disk, "1", fates)
        first.crash()
        stranger.recovering = True
        recover(disk, "1")
        stranger.recovering = False
        assert whereabouts(disk, stranger) or stranger.another, (at, first.said)
        if first.core.snapshot(0.0).published and not stranger.another:
            assert {"published", "taken"} & set(whereabouts(disk, stranger)), (at, first.said)
        second = drive(disk, "2", fates)
        second.crash()
        recover(disk, "2")
        found = whereabouts(disk, stranger)
        assert found or stranger.another, (at, first.said, second.said)
        if deed in TROUBLE:
            assert len(found) == 1 and found[0] in ("published", "src kept"), (at, first.said, second.said)
        if stranger.count < at:
            break
    assert at > 20, "the walk went through a whole life"


@pytest.mark.parametrize("deed", DEEDS)
def test_every_error_while_a_document_is_given_back_loses_nothing(deed: str) -> None:
    for at in range(1, 30):
        disk = world()
        stranger = Stranger(disk, deed, at)
        # Its fifth step is the work: told twice to leave there, it gives the document back.
        driver = drive(disk, "1", ["done"], leave_at=7)
        driver.crash()
        recover(disk, "1")
        assert whereabouts(disk, stranger), (at, driver.said)


def collide(again: Callable[[SimDisk], None], times: int) -> tuple[SimDisk, SimDriver]:
    """A stranger puts something under the output's name before each of its first renamings."""
    disk = world()
    left = [times]

    def meddle(operation: Operation) -> Error:
        if isinstance(operation, Rename) and operation.new == "x.ready" and operation.folder == "dst" and left[0]:
            left[0] -= 1
            again(disk)
        return ""

    disk.meddle = meddle
    return disk, drive(disk, "1", ["done"])


def test_a_publish_collision_is_tried_ten_times() -> None:
    disk, driver = collide(lambda disk: disk.put("dst", "x.ready", "a stranger's"), 9)
    assert disk.text("dst", "x.ready") == result(TEXT)
    assert sorted(disk.folders["src"]) == ["done"]
    assert driver.core.snapshot(0.0).published == 1


def test_a_publish_collision_that_stays_fails_and_keeps_the_input() -> None:
    disk, driver = collide(lambda disk: disk.put("dst", "x.ready", kind=FOLDER), 1)
    assert disk.text("src", "x.failed_twice.input") == TEXT
    assert sorted(disk.folders["src"]) == [".x.attempts", "done", "x.failed_twice", "x.failed_twice.input"]
    assert sorted(disk.folders["dst"]) == ["done", "x.ready"], "and no half of an output is left"
    assert driver.said.count("rename dst/x.1.writing.xml x.ready = exists") == 20, "ten tries for each attempt"
    assert "note bad x: failed_twice: x.ready is in the way" in driver.said
    assert driver.core.snapshot(0.0).published == 0


def test_a_failure_whose_name_is_in_the_way_keeps_the_input_under_the_drivers_number() -> None:
    disk = world()
    disk.put("src", "x.failed_twice.input", kind=FOLDER)
    driver = drive(disk, "1", ["failed"])
    assert disk.text("src", "x.1.working") == TEXT
    assert driver.core.stuck and "note bad x: stuck: no good" in driver.said
    driver.crash()
    recovery = SimRecovery(disk, config("src", "dst", "1"))
    while recovery.busy:
        recovery.step()
    assert recovery.settled == [("x", "stuck")]
    del disk.folders["src"]["x.failed_twice.input"]
    recover(disk, "1")
    assert disk.text("src", "x.failed_twice.input") == TEXT, "once the name is free"


def test_what_is_no_document_takes_no_place_of_one_that_was_given_up() -> None:
    disk = SimDisk("src", "dst")
    disk.put("src", "x.failed_twice.input", TEXT)
    disk.put("src", "x.failed", "another of this id")

    def meddle(operation: Operation) -> Error:
        if isinstance(operation, Rename) and operation.name == "x.1.working":
            disk.put("src", "x.1.working", kind=FOLDER)
        return ""

    disk.meddle = meddle
    driver = drive(disk, "1", ["failed"])
    assert disk.text("src", "x.failed_twice.input") == TEXT
    assert "note bad x: gone: no good" in driver.said


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("attempt", [1, 2])
def test_a_document_that_was_taken_away_is_not_called_failed(attempt: int, keep: bool) -> None:
    disk = SimDisk("src", "dst")
    disk.put("src", "x.ready" if attempt == 1 else "x.failed", TEXT)

    def meddle(operation: Operation) -> Error:
        if isinstance(operation, Rename | Remove) and operation.name == "x.1.working":
            disk.folders["src"].pop(operation.name, None)
        return ""

    disk.meddle = meddle
    driver = SimDriver(disk, config("src", "dst", "1", keep_input=keep), lambda id, attempt: "failed")
    while driver.busy:
        driver.step(0.0)
    assert "note bad x: gone: no good" in driver.said
    assert driver.core.snapshot(0.0).given_up == 0


def test_a_promise_of_a_stranger_is_not_believed() -> None:
    """Whoever may write in the queue could have the input deleted by it."""
    disk = SimDisk("src", "dst")
    disk.put("src", "x.1.working", TEXT)
    disk.put("src", ".x.1.publishing", "dst\n", owner=STRANGER)
    recover(disk, "1")
    assert disk.text("src", "x.failed") == TEXT


STICKY = Access(0, 0o1777)  # of the superuser: nobody else removes or renames what is another's


@pytest.mark.parametrize("kind", ["", *KINDS])
@pytest.mark.parametrize("access", [STICKY, Access(USER, 0o777)], ids=["sticky", "open"])
def test_what_stands_under_the_former_name_of_a_published_output_is_none_of_ours(access: Access, kind: str) -> None:
    """Its driver died behind the publishing: neither is the document deleted, nor the stranger's published."""
    disk = world()
    disk.access["dst"] = access
    driver = drive_until(disk, lambda operation: isinstance(operation, Sync) and not operation.name)
    disk.put("dst", "x.1.writing.xml", "a stranger's", kind=kind, owner=STRANGER)
    driver.crash()
    recover(disk, "1")
    assert disk.text("dst", "x.ready") == result(TEXT)
    assert sorted(disk.folders["src"]) == ["done"], "it is published, so nothing of it is left to do"


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_what_took_the_place_of_an_output_is_not_published(kind: str) -> None:
    """Before it was published: the document is processed again."""
    disk = world()
    disk.access["dst"] = Access(USER, 0o777)
    driver = drive_until(disk, lambda operation: isinstance(operation, Exists) and operation.folder == "dst")
    disk.put("dst", "x.1.writing.xml", "a stranger's", kind=kind, owner=STRANGER)
    driver.crash()
    recover(disk, "1")
    assert disk.text("src", "x.failed") == TEXT
    assert "x.ready" not in disk.folders["dst"]


@pytest.mark.parametrize("wanted", [Sync, Exists])
def test_an_output_of_another_user_is_not_published(wanted: type[Operation]) -> None:
    disk = world()

    def meddle(operation: Operation) -> Error:
        if isinstance(operation, wanted) and getattr(operation, "name", "") == "x.1.writing.xml":
            disk.put("dst", "x.1.writing.xml", "a stranger's", owner=STRANGER, mode=0o600)
        return ""

    disk.meddle = meddle
    driver = drive(disk, "1", ["done"])
    assert "x.ready" not in disk.folders["dst"]
    assert disk.text("src", "x.failed_twice.input") == TEXT
    assert driver.core.snapshot(0.0).published == 0


def test_a_record_of_a_stranger_is_not_believed() -> None:
    """Whoever may write in the queue could have a document given up, and deleted, at its first failure."""
    disk = SimDisk("src", "dst")
    disk.put("src", "x.1.working", TEXT)
    disk.put("src", ".x.attempts", "begin\t2\t1\t0\t\n", owner=STRANGER)
    recovery = SimRecovery(disk, config("src", "dst", "1", keep_input=False))
    while recovery.busy:
        recovery.step()
    assert recovery.settled == [("x", "failed")]
    assert disk.text("src", "x.failed") == TEXT
    assert disk.own("src", ".x.attempts") and "begin" not in disk.text("src", ".x.attempts")


def test_in_a_sticky_queue_what_is_another_users_is_said_and_stops_nothing() -> None:
    disk = world()
    disk.access["src"] = disk.access["dst"] = STICKY
    disk.put("src", "s.ready", "a stranger's", owner=STRANGER)
    disk.put("src", "y.ready", TEXT)
    disk.put("dst", "y.ready", "a stranger's", owner=STRANGER)
    disk.put("dst", "z.1.writing.xml", "a stranger's", owner=STRANGER)
    disk.put("src", "z.ready", TEXT)
    driver = SimDriver(disk, config("src", "dst", "1"), lambda id, attempt: "done")
    now = 0.0
    for _ in range(300):
        now = now if driver.busy else max(now, driver.wake_at())
        driver.step(now)
    assert disk.text("dst", "x.ready") == result(TEXT)
    assert disk.text("src", "y.failed_twice.input") == TEXT, "its next name is in the way"
    assert disk.text("src", "z.failed_twice.input") == TEXT, "the name of its output is"
    strange = "note warn s.ready: not a document: another user's in a sticky folder, where nobody else can take it"
    assert driver.said.count(strange) == 1
    assert driver.core.snapshot(now).lost == 0 and driver.core.snapshot(now).trouble == ""
    assert disk.text("src", "s.ready") == disk.text("dst", "y.ready") == "a stranger's"


def test_a_promise_to_publish_elsewhere_leads_nowhere() -> None:
    """What stands in the file is compared, never used: the recoverer knows where documents go."""
    disk = SimDisk("src", "dst", "home")
    disk.put("src", "x.1.working", TEXT)
    disk.put("src", ".x.1.publishing", "home\n")
    for name in ("x", "x.ready", "x.1.writing.xml"):
        disk.put("home", name, "the operator's")
    recover(disk, "1")
    assert sorted(disk.folders["home"]) == ["x", "x.1.writing.xml", "x.ready"]
    assert disk.text("src", "x.failed") == TEXT
    assert disk.folders["dst"] == {}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_no_item_and_ends_no_driver_early(kind: str) -> None:
    disk = world()
    for name in ("d.ready", "e.failed", "f.7.working"):
        disk.put("src", name, kind=kind)
    driver = drive(disk, "1", ["done"])
    assert driver.ended == "done"
    assert sorted(disk.folders["src"]) == ["d.ready", "done", "e.failed", "f.7.working"]
    assert sorted(disk.folders["dst"]) == ["done", "x.ready"]
    assert f"note warn d.ready: not a document: it is {kind}" in driver.said


@pytest.mark.parametrize("kind", KINDS)
def test_done_is_a_regular_file(kind: str) -> None:
    disk = SimDisk("src", "dst")
    disk.put("src", names.DONE, kind=kind)
    driver = drive(disk, "1", ["done"])
    assert driver.alive and driver.ended == ""


@examples(150)
@given(seed=st.integers(0, 2**32), documents=st.integers(1, 4), drivers=st.integers(1, 3))
def test_strangers_at_every_moment(seed: int, documents: int, drivers: int) -> None:
    """Drivers, crashes, recoverers and a stranger, in any order: each document is with somebody at every moment."""
    random = Random(seed)
    disk = SimDisk("src", "dst", random=random)
    ids = [f"doc{i}" for i in range(documents)]
    for id in ids:
        disk.put("src", names.ready(id), id)
    disk.put("src", names.DONE)
    stranger = Stranger(disk, "", 0)

    def meddle(operation: Operation) -> Error:
        if random.random() < 0.9 or isinstance(operation, List | Log | WriteOut):
            return ""
        stranger.deed = random.choice(DEEDS)
        another = stranger.deed in ("exists", "a stranger's file")  # a document of this id: one of two is kept
        if another and isinstance(operation, Take | Rename) and operation.folder == "src":
            return ""
        return stranger.do(operation)

    disk.meddle = meddle
    living: list[SimDriver] = []
    used = 0
    for _ in range(300):
        while len(living) < drivers:
            used += 1
            living.append(SimDriver(disk, config("src", "dst", str(used)), lambda id, attempt: "done"))
        driver = random.choice(living)
        if random.random() < 0.05:
            driver.crash()
            recover(disk, driver.config.number)
        else:
            driver.step(max(0.0, driver.wake_at()) if not driver.busy else 0.0)
        living = [driver for driver in living if driver.alive]
        texts = {file.content for files in disk.folders.values() for file in files.values() if not file.kind}
        known = texts | set(stranger.taken)
        lost = [id for id in ids if not {id, result(id)} & known]
        assert not lost, (lost, driver.said[-12:])
