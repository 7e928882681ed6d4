"""What others hold: settled where they are dead, told once where they are waited for."""

from __future__ import annotations

from engine.parts.machine import Walk
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.heirs import MOST, PATIENCE, Heirs
from engine.protocols.diskqueue.machine import ITEM
from engine.sim.disk import SimDisk
from engine.sim.driver import config


class Scene:
    """Driver 1 on a simulated disk."""

    def __init__(self) -> None:
        self.disk = SimDisk("src", "dst")
        self.said: list[tuple[str, str]] = []
        self.asked: list[str] = []
        self.heirs = Heirs(config("src", "dst", "1"), lambda level, text, id: self.said.append((id, text)))

    def look(self, now: float) -> bool:
        items = sorted(item for name in self.disk.folders["src"] if isinstance(item := names.parse(name), names.Item))
        steps = self.heirs.look(tuple(item for item in items if item.number), now, 0.0, Walk(ITEM))
        try:
            operation = next(steps)
            while True:
                self.asked.append(type(operation).__name__)
                operation = steps.send(self.disk.perform(operation, "1"))
        except StopIteration as end:
            found: bool = end.value
            return found


def test_who_lives_is_told_of_once_for_each_document_after_a_while() -> None:
    scene = Scene()
    scene.disk.put("src", "d.7.working")
    scene.disk.lock("src", "dst", "7")
    for now in (0.0, PATIENCE - 0.1, PATIENCE, 2 * PATIENCE):
        assert not scene.look(now)
    assert scene.said == [("d", "waits for it: driver 7 has it: exists")]
    scene.disk.abandon("7")
    assert scene.look(3 * PATIENCE)
    assert scene.said[1:] == [("d", "of driver 7, which died: failed")]
    assert sorted(scene.disk.folders["src"]) == [".d.attempts", "d.failed"]


def test_a_document_that_comes_back_is_waited_for_anew() -> None:
    scene = Scene()
    scene.disk.lock("src", "dst", "7")
    for now in (0.0, PATIENCE, 20.0, 20.0 + PATIENCE):
        scene.disk.put("src", "d.7.working")
        scene.look(now)
        if now == PATIENCE:
            del scene.disk.folders["src"]["d.7.working"]
            scene.look(now)
    assert len(scene.said) == 2


def test_an_output_of_the_stage_before_is_waited_for_and_left_alone() -> None:
    scene = Scene()
    scene.disk.put("src", "d.7.writing.xml")
    assert not scene.look(0.0) and not scene.look(PATIENCE)
    assert scene.said[0][1].startswith("waits for it: driver 7 of the stage before writes it")
    assert scene.asked == []


def test_of_one_driver_is_asked_once_and_of_many_only_so_many() -> None:
    scene = Scene()
    for number in range(2, MOST + 20):
        scene.disk.put("src", f"a.{number}.working")
        scene.disk.put("src", f"b.{number}.working")
    scene.disk.put("src", "c.1.working")
    assert not scene.look(0.0)
    assert scene.asked == ["Inherit"] * MOST
