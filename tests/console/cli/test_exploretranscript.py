"""Courses as transcripts: those that are kept are played on today's cores, and what is printed can be kept as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.explorefile import parse_scene
from console.cli.exploretranscript import HOLDS, Part, again, parts, toml, transcript
from engine.catalogue import SYSTEMS
from engine.protocols.roundrobin.worker import Worker
from engine.sim.explore.counterexample import AFTER
from engine.sim.explore.documents import Documents
from engine.sim.explore.scene import Bounds, Scene

TRANSCRIPTS = Path(__file__).parents[2] / "transcripts" / "explore"
KEPT = [part for path in sorted(TRANSCRIPTS.iterdir()) for part in parts(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("part", KEPT, ids=lambda part: part.title)
def test_a_course_that_is_kept(part: Part) -> None:
    assert again(part) == list(part.lines)


def printed(out: str) -> Part:
    """The transcript in what was printed, as somebody would copy it."""
    lines = out.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("= "))
    last = next(at for at, line in enumerate(lines) if line.startswith("? "))
    (part,) = parts("\n".join(lines[first : last + 1]))
    return part


def test_what_is_printed_of_a_broker_can_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small.toml"
    path.write_text('system = "roundrobin"\ntasks = 1\n[bounds]\nrounds = 1\n', encoding="utf-8")
    with monkeypatch.context() as planted:
        planted.setattr(Worker, "_serve", lambda self, now, out: self._held.clear())  # it keeps its answers for itself
        assert main(["explore", "--scene", str(path)]) == 1
        part = printed(capsys.readouterr().out)
        assert part.lines[-1] == "? 0 of 1 task of client succeeded (1 timeout)"
        assert again(part) == list(part.lines)
    moves = ("! client is asked", "! client > broker", "! broker > worker-1", f"! {AFTER}")
    assert again(part._replace(lines=moves))[-1] == f"? {HOLDS}"


def test_what_is_printed_of_disk_queues_can_be_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Documents.wrong
    with monkeypatch.context() as planted:
        planted.setattr(Documents, "wrong", lambda self, state: real(self, state) or "gone" * (state.left == 0))
        assert main(["explore", "--system", "diskqueue", "--faults", "kill"]) == 1
        part = printed(capsys.readouterr().out)
        assert part.lines[-2:] == ("! kill driver 1", "? gone")
        assert again(part) == list(part.lines)
    assert again(part)[-1] == f"? {HOLDS}"


def test_a_scene_comes_back() -> None:
    system = SYSTEMS["negotiated"]
    options = system.options(services='a "quoted" \\ name', max_backlog=7)
    scene = Scene(system, options=options, pair=True, faults=("cut", "lose"), outage=1.5, bounds=Bounds(rounds=2))
    assert parse_scene("\n".join(toml(scene)), Path("x")) == replace(scene, name="x")
    assert toml(Scene(system)) == ['system = "negotiated"']


def test_the_parts_of_a_file() -> None:
    lines = transcript("it\x1b is wrong", ["a = 1", "[b]"], ["! x", "y > z: W"])
    first, second = parts("\n".join(["# a file", "", *lines, "", "# said", "= more", "@ c = 2", "! d"]))
    assert first.scene == "a = 1\n[b]" and first.lines[:2] == ("! x", "y > z: W")
    assert first.lines[2].startswith("? it") and "\x1b" not in first.title
    assert second == Part("more", "c = 2", ("! d",))
