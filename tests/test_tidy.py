"""The habits of the house, held by the tests themselves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path.relative_to(ROOT) for top in ("engine", "console") for path in (ROOT / top).rglob("*.py"))
TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))

LINES = 400  # of a file
BODY = 70  # lines of a function, without its decorators
PRIVATES = 228  # attributes that tests look at though they are private: no more, and none in the end
NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}

IMPURE = {
    "console/cli/explore.py": "measures how long a walk takes, and says it",
    "console/cli/streams.py": "stamps what it tells as JSON",
    "console/cli/standing.py": "gives the watcher the time at which it is asked",
    "console/app.py": "the screen's timer reads the clock, and gives it on as an argument",
    "console/host.py": "the same",
    "console/screens/messages.py": "measures what a look at the trace costs, and says it",
    "console/sessions/cost.py": "measures what a trace costs, and says it",
    "console/shell.py": "reads the clock for the screen's timer, as the others do",
    "engine/drive/": "sockets, threads and disks live here",
    "engine/labs/brokers.py": "tells a taken endpoint from another error of the socket",
    "engine/labs/audit.py": "stamps each order that is kept",
    "engine/faults/real.py": "does each act of a drill at its second, and stamps who was stopped",
    "engine/faults/realprocess.py": "waits until a process says that it is ready",
    "engine/runs/checker.py": "stamps what clients and workers of several processes did",
    "engine/feed.py": "notes when it was looked at last, so that nobody draws for nobody",
    "engine/journal/write.py": "stamps what is recorded, and whose clock it was",
    "engine/labs/controlsession.py": "notes when a picture is due, and what drawing one costs",
    "engine/labs/fleet.py": "looks at its pace, and notes when each was heard",
    "console/screens/fleet.py": "ages are counted by the clock that the fleet is looked at with",
    "engine/labs/queueorders.py": "notes when it was begun, and when something was said",
    "engine/labs/remote.py": "says since when the other process runs, by our clock",
    "engine/labs/link.py": "asks at its pace, and says since when it has not been answered",
    "engine/labs/elsewhere.py": "reads both clocks of an exchange, and asks again until legs are drawn",
    "engine/labs/live.py": "waits, for whoever calls it, until threads have done what they were told",
    "engine/runs/load.py": "stamps a run with its time and the versions that made it",
    "engine/labs/queues.py": "feeds at its pace, and stamps what it says",
    "engine/labs/watcher.py": "looks once a second, and stamps what it says",
    "engine/labs/pool.py": "tells an endpoint that can not be reached from another error of the socket",
    "tests/engine/drive/": "",
    "tests/engine/files/test_safely.py": "a socket is one of the things that are no regular file",
    "tests/engine/labs/": "",
    "tests/helpers/processes.py": "",
    "tests/helpers/natsserver.py": "",
    "tests/helpers/settle.py": "lets other tasks go on, for no time",
    "tests/helpers/terminal.py": "",
    "tests/console/cli/test_standing.py": "is a service manager that hears",
    "tests/loopback/": "",
    "tests/terminal/": "",
    "tests/interop/": "",
    "tests/bench/": "",
    "tests/matrix/": "",
    "tests/chaos/": "",
    "tests/hostile/": "",
}
WIRES = {"zmq", "socket", "selectors", "select", "socketserver"}
CLOCKS = {
    f"{module}.{name}{unit}"
    for module, names in {
        "time": ("time", "monotonic", "perf_counter", "process_time", "sleep"),
        "asyncio": ("sleep",),
        "datetime": ("now", "utcnow", "today"),
        "date": ("today",),
    }.items()
    for name in names
    for unit in ("", "_ns")
}

# A folder that only exists on somebody's machine. Relative paths and addresses have something before the slash.
MACHINE = re.compile(rb"(?<![\w.~:}*/-])/(?:home|Users|root|work|mnt|tmp|private)/\w|[A-Z]:\\Users\\")

LINT = "from importlinter.cli import lint_imports_command as lint; lint()"


# What costs little to look for, before a file is parsed.
PRIVATE = re.compile(r"(?<!\bself)(?<!\bcls)\._[a-zA-Z]")
IMPURITY = re.compile(
    rf"^(\s*(import|from) .*|\s+)\b({'|'.join((*WIRES, 'asyncio', 'datetime', 'date', 'time'))})\b", re.MULTILINE
)
A_TEST = re.compile(r"^\s*(async )?def test_|TestCase", re.MULTILINE)  # hypothesis: Machine.TestCase


def text_of(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path), str(path))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def mirror(source: Path) -> Path:
    """Where the tests of a source file are: at its place, on real sockets where nothing less would show it, or where
    one is for all systems.
    """
    name = f"test_{source.stem.strip('_')}.py"
    others = [Path("tests/loopback", name)]
    if source.parts[:2] == ("engine", "protocols"):
        others.append(Path("tests/engine/protocols", name))
    return next((path for path in others if path in TESTS), Path("tests", source.parent, name))


def run(*command: str, at: Path = ROOT) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *command], cwd=at, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


# ---- size and place -------------------------------------------------------------------------------------------------


def test_there_is_something_to_check() -> None:
    assert Path("engine/core.py") in SOURCES and Path("tests/test_tidy.py") in TESTS


def test_source_files_are_short() -> None:
    lines = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path: n for path, n in lines.items() if n > LINES} == {}


def test_functions_are_short() -> None:
    long = [
        f"{path}:{function.lineno} {function.name}"
        for path in SOURCES
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > BODY
    ]
    assert long == []


def test_every_source_file_has_its_test_file() -> None:
    """An ``__init__.py`` that defines nothing needs none."""
    wanted = [path for path in SOURCES if path.name != "__init__.py" or any(functions(path))]
    assert [f"{path} wants {mirror(path)}" for path in wanted if mirror(path) not in TESTS] == []


def test_every_test_file_holds_a_test() -> None:
    empty = [path for path in TESTS if path.name.startswith("test_") and not A_TEST.search(text_of(path))]
    assert empty == []


def privates(tree: ast.Module) -> list[str]:
    """Attributes of others that are private by their name; those of named tuples are not."""
    return [
        f"{node.lineno}: {node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in NAMED_TUPLES
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


def test_tests_look_at_no_more_private_attributes_than_before() -> None:
    """The number may only go down: a test looks from outside, or what it tests says it in public."""
    found = {str(path): seen for path in TESTS if PRIVATE.search(text_of(path)) and (seen := privates(tree_of(path)))}
    assert sum(map(len, found.values())) <= PRIVATES, found
    assert privates(ast.parse("row._replace(x=1); self._x; cls._y; a.__b__; core._tasks")) == ["1: _tasks"]


# ---- clocks, sockets, machines --------------------------------------------------------------------------------------


def impurities(tree: ast.Module) -> list[str]:
    """Every clock read, sleep and socket library in a module, with its line."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                bad = [name.name for name in names if name.name.split(".")[0] in WIRES]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                wires = module.split(".")[0] in WIRES
                bad = [f"{module}.{n.name}" for n in names if wires or f"{module}.{n.name}" in CLOCKS]
            case (
                ast.Attribute(value=ast.Name(owner), attr=name)
                | ast.Attribute(value=ast.Attribute(attr=owner), attr=name)
            ):
                bad = [f"{owner}.{name}"] if f"{owner}.{name}" in CLOCKS else []
            case _:
                continue
        found += [f"{node.lineno}: {name}" for name in bad]
    return found


def test_sleeps_sockets_and_the_real_clock_stay_where_they_belong() -> None:
    bad = {
        str(path): found
        for path in (*SOURCES, *TESTS)
        if not path.as_posix().startswith(tuple(IMPURE))
        and IMPURITY.search(text_of(path))
        and (found := impurities(tree_of(path)))
    }
    assert bad == {}


@pytest.mark.parametrize(
    "line",
    [
        "import zmq.error",
        "from socket import socket",
        "from time import sleep",
        "time.monotonic_ns()",
        "at = clock or time.time",
        "datetime.datetime.now()",
        "datetime.now(UTC)",
        "await asyncio.sleep(1)",
    ],
)
def test_an_impurity_is_seen(line: str) -> None:
    assert len(impurities(ast.parse(line))) == 1
    assert impurities(ast.parse("from datetime import UTC, datetime\nsleep_of(job.time)\nimport zmqish")) == []


def test_no_tracked_file_names_a_place_on_somebodys_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout")
    bad = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file():  # else deleted and not yet committed
            lines = path.read_bytes().splitlines()
            bad += [f"{name}:{i} {line!r}" for i, line in enumerate(lines, 1) if MACHINE.search(line)]
    assert bad == []


def test_a_machine_path_is_seen() -> None:
    for slash in ("", " ", '"', "="):
        assert MACHINE.search(f"{slash}{'/'}home/somebody/x".encode())
    for fine in ("tests/work/x", "https://example.org/home/x", "~/tmp/x", "/homely/x", "{root}/tmp/x"):
        assert not MACHINE.search(fine.encode())


# ---- tools ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("-m", "ruff", "check"), id="ruff"),
        pytest.param(("-m", "ruff", "format", "--check"), id="format"),
        pytest.param(("-m", "mypy"), id="mypy"),
        pytest.param(("-c", LINT), id="imports"),
    ],
)
def test_tools_are_content(command: tuple[str, ...]) -> None:
    status, output = run(*command)
    assert status == 0, output


def layered(root: Path) -> list[str]:
    """A copy of the package with every layer of the import contracts, empty; returns the contracts' names."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (root / "pyproject.toml").write_text(text, encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    names = {name for contract in contracts for layer in contract.get("layers", ()) for name in layer.split(" | ")}
    for name in sorted(names | {"engine", "engine.protocols.one", "engine.protocols.two"}):
        folder = root
        for part in name.split("."):
            folder /= part
            folder.mkdir(exist_ok=True)
            (folder / "__init__.py").touch()
    return [str(contract["name"]) for contract in contracts]


def test_import_contracts_hold_where_nothing_is_imported(tmp_path: Path) -> None:
    layered(tmp_path)
    status, output = run("-c", LINT, "--no-cache", at=tmp_path)
    assert status == 0, output


def test_every_import_contract_catches_what_it_forbids(tmp_path: Path) -> None:
    names = layered(tmp_path)
    wrongs = {
        "engine/core": "import engine.labs",
        "engine/parts": "import engine.protocols.one",
        "engine/sim": "import engine.drive",
        "engine/protocols/one": "import engine.protocols.two",
        "engine/protocols/two": "import time\nimport zmq.error\nfrom random import Random",
        "engine/drive": "from textual.app import App",
    }
    for module, text in wrongs.items():
        (tmp_path / module / "wrong.py").write_text(text, encoding="utf-8")
    status, output = run("-c", LINT, "--no-cache", at=tmp_path)
    assert status == 1, output
    said = re.sub(r"\s+", " ", output)
    assert [name for name in names if f"{name} BROKEN" not in said] == []
    for importer, imported in (
        ("engine.core.wrong", "engine.labs"),
        ("engine.parts.wrong", "engine.protocols.one"),
        ("engine.sim.wrong", "engine.drive"),
        ("engine.protocols.one.wrong", "engine.protocols.two"),
        ("engine.protocols.two.wrong", "time"),
        ("engine.protocols.two.wrong", "zmq"),
        ("engine.protocols.two.wrong", "random"),
        ("engine.drive.wrong", "textual"),
    ):
        assert f"{importer} -> {imported} " in said, output
