"""The native pump is built where that can be done; where not, nothing of an installation fails."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.drive.pump import hook
from engine.drive.pump.hook import (
    BINARY,
    COMPILE,
    FUTURE,
    HERE,
    IMPORT,
    OPEN,
    Failed,
    Hook,
    compile_cores,
    compile_pump,
    compilers,
    opened,
    place,
)
from engine.drive.pump.native import INTERFACE
from tests.helpers.pumps import SOURCE, binary_at

Script = Callable[[str], Path]


class App:
    """What a hook tells goes here."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def display_warning(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Makes a shell script the only compiler."""

    def only(script: str) -> Path:
        path = tmp_path / "compiler"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(hook, "compilers", lambda: iter([[str(path)]]))
        return path

    return only


def built(version: str, root: Path) -> tuple[dict[str, Any], list[str]]:
    """What the hook makes of an empty build, and what it says."""
    app, data = App(), {"force_include": {}, "pure_python": True}
    made = Hook(str(root), {"compiled": ["engine/core.py"]}, None, None, str(root), "wheel", app)  # type: ignore[arg-type]
    made.initialize(version, data)
    made.finalize(version, data, "")
    assert all(not Path(path).exists() for path in data["force_include"])  # type: ignore[attr-defined]
    return data, app.said


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout that has nothing but the source."""
    folder = tmp_path / "root"
    (folder / HERE).mkdir(parents=True)
    (folder / HERE / SOURCE.name).write_bytes(SOURCE.read_bytes())
    return folder


def compiled_of(root: Path) -> list[str]:
    """The files that pyproject.toml has compiled."""
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    names: list[str] = table["targets"]["wheel"]["hooks"]["custom"]["compiled"]
    return names


def needs_compiler() -> None:
    if not any(compilers()):
        pytest.skip("there is no C compiler")


def test_what_is_compiled_loads(tmp_path: Path) -> None:
    needs_compiler()
    compile_pump(SOURCE, tmp_path / BINARY)
    assert binary_at(tmp_path / BINARY).INTERFACE == INTERFACE


def test_a_wheel_holds_the_binary_and_is_tagged_for_every_later_python(root: Path) -> None:
    needs_compiler()
    data, said = built("standard", root)
    assert said == [] and list(data["force_include"].values()) == [f"{HERE}/{BINARY}"]
    assert not data["pure_python"] and data["tag"].startswith("cp311-abi3-") and "manylinux" not in data["tag"]
    assert not (root / HERE / BINARY).exists()


def test_an_editable_installation_gets_it_beside_the_sources(root: Path) -> None:
    needs_compiler()
    data, said = built("editable", root)
    assert (data, said) == ({"force_include": {}, "pure_python": True}, [])
    assert sorted(path.name for path in (root / HERE).iterdir()) == [BINARY, SOURCE.name]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no Python.h >&2; exit 1", "no Python.h"),
        ("exit 0", "non-zero exit status|No such file|ImportError"),
        ('while [ "$1" != -o ]; do shift; done; echo garbage > "$2"', "ImportError|invalid ELF|file too short"),
        ("kill -9 $$", "SIGKILL"),
    ],
    ids=["an error", "nothing", "garbage", "its end"],
)
@pytest.mark.parametrize("version", ["standard", "editable"])
def test_a_compiler_that_fails_leaves_the_package_pure(
    version: str, script: str, said: str, root: Path, compiler: Script
) -> None:
    compiler(script)
    data, (warning,) = built(version, root)
    assert data == {"force_include": {}, "pure_python": True}
    assert warning.startswith("The native pump is left out")
    assert [path.name for path in (root / HERE).iterdir()] == [SOURCE.name]
    with pytest.raises(Failed, match=said):
        compile_pump(SOURCE, root / BINARY)


def test_a_compiler_that_hangs_is_ended(root: Path, compiler: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler("exec sleep 1000")
    monkeypatch.setattr(hook, "SECONDS", 0.1)
    _, (warning,) = built("standard", root)
    assert "timed out" in warning


def test_without_a_compiler_the_package_is_pure(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert list(compilers()) == []
    data, (warning,) = built("standard", root)
    assert data["pure_python"] and "no C compiler was found" in warning


def test_the_next_compiler_is_tried_where_one_fails(
    tmp_path: Path, compiler: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_compiler()
    real = list(compilers())
    broken = compiler("exit 1")
    monkeypatch.setattr(hook, "compilers", lambda: iter([[str(broken)], *real]))
    compile_pump(SOURCE, tmp_path / BINARY)


def test_a_compiler_is_named_by_the_environment_with_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"'{sys.executable}' -O")
    assert next(compilers()) == [sys.executable, "-O"]


def test_a_folder_that_can_not_be_written_leaves_the_package_pure(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(made: Path, target: Path) -> None:
        raise PermissionError(13, "Read-only file system", str(target))

    monkeypatch.setattr(hook, "compile_pump", lambda source, target: target.write_bytes(b"binary"))
    monkeypatch.setattr(hook, "place", denied)
    data, (warning,) = built("editable", root)
    assert data == {"force_include": {}, "pure_python": True} and "Read-only" in warning


def test_a_binary_takes_the_place_of_one_in_use_at_once(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / BINARY
    new.write_bytes(b"new")
    old.write_bytes(b"old")
    with old.open("rb") as in_use:
        place(new, old)
        assert in_use.read() == b"old"
    assert old.read_bytes() == b"new" and sorted(path.name for path in tmp_path.iterdir()) == [BINARY, "new"]
    with pytest.raises(OSError, match="nowhere"):
        place(new, tmp_path / "nowhere" / BINARY)


def test_each_class_of_what_is_compiled_can_be_copied_and_its_constants_are_known() -> None:
    classes = "class A(B[C]):\n    Y = 1\n\n\nclass D(NamedTuple):\n    a: int\n"
    source = f'"""Doc."""\n\n{FUTURE}\nX = 1\nT = TypeVar()\n\n\n{classes}'
    made = opened(source)
    assert made.count(OPEN) == 1 and f"{OPEN}class A(B[C]):" in made
    assert made.startswith(f'"""Doc."""\n\n{FUTURE}{IMPORT}\nX: Final = 1\n') and made.count(": Final") == 1
    assert made.endswith("a: int\nsetattr(D, '__annotations__', {'a': 'int'})\n"), "mypyc's own tell nothing"
    compile(made, "made", "exec")
    assert opened("X = 1\n") == "X = 1\n", "what has no annotations that are not looked at stays"


def test_no_compiled_class_has_a_subclass_that_is_not() -> None:
    """A copy of one would miss what the subclass adds: mypyc copies the fields that it knows."""
    root = Path(__file__).parents[4]
    hot = compiled_of(root)
    modules = {name.removesuffix(".py").replace("/", ".") for name in hot}
    found = []
    for path in (root / "engine").rglob("*.py"):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if name in hot or not re.search(r"^class \w+\(", text, re.MULTILINE):
            continue
        tree = ast.parse(text)
        froms = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module in modules]
        imported = {alias.asname or alias.name for node in froms for alias in node.names}
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        found += [f"{name}: {one.name}" for one in classes if imported & {ast.unparse(base) for base in one.bases}]
    assert not found and len(hot) > 30


def test_cores_are_compiled_only_where_that_is_asked_for_and_a_failure_ends_the_build(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(root: Path, hot: list[str], folder: Path) -> dict[str, str]:
        raise Failed("mypyc: it does not")

    def made(root: Path, hot: list[str], folder: Path) -> dict[str, str]:
        return {str(folder / "core.so"): "engine/core.so"}

    monkeypatch.setattr(hook, "compile_pump", lambda source, target: target.write_bytes(b"binary"))
    monkeypatch.setattr(hook, "compile_cores", fails)
    data, _ = built("standard", root)
    assert data["tag"].startswith("cp311-abi3-")
    monkeypatch.setenv(COMPILE, "1")
    with pytest.raises(Failed, match="it does not"):
        built("standard", root)
    built("editable", root)
    monkeypatch.setattr(hook, "compile_cores", made)
    data, _ = built("standard", root)
    here = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert data["tag"].startswith(f"{here}-{here}-") and "manylinux" not in data["tag"] and not data["pure_python"]
    assert set(data["force_include"].values()) == {f"{HERE}/{BINARY}", "engine/core.so"}


def test_mypyc_is_needed_only_where_cores_are_compiled(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Hook(str(root), {}, None, None, str(root), "wheel", App())  # type: ignore[arg-type]
    assert made.dependencies() == []
    monkeypatch.setenv(COMPILE, "1")
    assert [name.partition("=")[0] for name in made.dependencies()] == ["mypy", "setuptools>"]


@pytest.mark.parametrize(
    ("setup", "said"), [("raise SystemExit('it is refused')", "mypyc: it is refused"), ("", "made 0 binaries of 1")]
)
def test_what_mypyc_refuses_is_told(setup: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine/x.py").write_text("x = 1\n")
    monkeypatch.setattr(hook, "SETUP", setup)
    with pytest.raises(Failed, match=said):
        compile_cores(tmp_path, ["engine/x.py"], tmp_path / "made")
