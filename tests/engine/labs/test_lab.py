"""The lab interface: who opens and closes, who may change nothing, and that the console asks no lab for its class."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from engine.errors import Refused
from tests.helpers.fake_lab import FakeLab

CONSOLE = Path(__file__).parents[3] / "console"


class Door(FakeLab):
    """Notes that it was opened and closed."""

    def open(self) -> Door:
        self.orders.append(("open",))
        return self

    def close(self) -> None:
        self.orders.append(("close",))


def test_it_is_open_inside_with_and_closed_behind_it() -> None:
    with Door(0) as lab:
        assert lab.orders == [("open",)]
    assert lab.orders[-1] == ("close",)


def test_what_a_lab_has_nothing_to_say_about_is_nothing() -> None:
    lab = FakeLab(0)
    assert lab.listening() == (0.0, 0) and not lab.unkept
    lab._change("a change")
    lab.readonly = True
    with pytest.raises(Refused, match="a change is refused: readonly is set"):
        lab._change("a change")


def asked(source: str) -> list[str]:
    """Every class of ``engine.labs`` that a module tells objects apart by."""
    tree = ast.parse(source)
    labs = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engine.labs")
        for alias in node.names
    }
    kinds = [
        node.args[1]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    ]
    kinds += [node.cls for node in ast.walk(tree) if isinstance(node, ast.MatchClass)]
    return [name.id for kind in kinds for name in ast.walk(kind) if isinstance(name, ast.Name) and name.id in labs]


def test_the_console_asks_no_lab_for_its_class() -> None:
    found = {path.name: names for path in CONSOLE.rglob("*.py") if (names := asked(path.read_text(encoding="utf-8")))}
    assert found == {}


@pytest.mark.parametrize("line", ["isinstance(lab, Sandbox)", "isinstance(lab, int | Sandbox)"])
def test_such_a_question_is_seen(line: str) -> None:
    assert asked(f"from engine.labs.sandbox import Sandbox\n{line}") == ["Sandbox"]
    assert asked("match lab:\n    case Sandbox():\n        pass\nfrom engine.labs.sandbox import Sandbox") == [
        "Sandbox"
    ]
    assert asked(f"from engine.sim.world import Sandbox\n{line}") == []
