"""The wheel: everything that runs and nothing else, and it runs from any folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from engine import __version__
from engine.drive.pump import hook
from tests.helpers.processes import own_environment
from tests.helpers.wheels import build_compiled_wheel, build_wheel

ROOT = Path(__file__).parents[1]
COMPILED_TESTS = (
    "tests/engine/protocols/roundrobin",
    "tests/engine/protocols/conversation",
    "tests/engine/parts",
    "tests/engine/labs/test_replay.py",
    "tests/engine/labs/test_replaylab.py",
    "tests/engine/labs/test_why.py",
    "tests/engine/sim/explore",
    "tests/sim/test_roundrobin.py",
)
REPLACES = (  # a constant or a method, which compiled code does not look up
    "protocols/roundrobin/test_broker.py::test_r2_what_tasks_bring_is_bounded_in_bytes",
    "protocols/roundrobin/test_broker.py::test_a_full_table_refuses_a_worker",
    "protocols/roundrobin/test_lanes.py::test_peers_are_remembered_up_to_a_bound",
    "protocols/roundrobin/test_owners.py::test_of_too_many_the_first_is_gone_at_once",
    "protocols/roundrobin/test_picture.py::test_percentiles_of_many_workers_come_by_turns",
    "protocols/roundrobin/test_records.py::test_what_tasks_bring_is_bounded_whether_they_wait_or_not",
    "protocols/roundrobin/test_worker.py::test_what_is_held_is_bounded",
    "sim/explore/test_liveness.py::test_who_never_answers_is_found",
    "sim/explore/test_liveness.py::test_who_wants_to_be_woken_for_ever_is_found",
    "sim/explore/test_report.py::test_a_violation_is_repeated_before_it_is_told",
)
READS_SOURCES = ("protocols/roundrobin/test_pool.py", "protocols/roundrobin/test_explored.py")


@pytest.fixture(scope="module", params=["as it is", "without a compiler"])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once each way."""
    folder = tmp_path_factory.mktemp("wheel")
    if request.param == "as it is":
        return build_wheel(folder)
    built = build_wheel(folder, {**os.environ, "PATH": "", "CC": "no-such-compiler"})
    assert built.name == f"roundhouse-{__version__}-py3-none-any.whl"
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files where nothing else of ours is."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_holds_every_source_and_theme_and_no_stray_file(wheel: Path) -> None:
    info = f"roundhouse-{__version__}.dist-info"
    wanted = {f"console/themes/{path.name}" for path in (ROOT / "themes").glob("*.toml")}
    assert wanted, "there are no themes"
    for package in ("console", "engine"):
        sources = [path for path in (ROOT / package).rglob("*") if path.suffix in (".py", ".tcss", ".md")]
        wanted |= {path.relative_to(ROOT).as_posix() for path in sources}
    wanted -= {f"{hook.HERE}/hook.py"}  # builds wheels, and is not needed afterwards
    wanted |= {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    with zipfile.ZipFile(wheel) as archive:
        native = {f"{hook.HERE}/{hook.BINARY}"} & set(archive.namelist())
        wanted |= native  # there where there is a C compiler, and the wheel's name says so
        assert wheel.name == f"roundhouse-{__version__}-{hook.tag() if native else 'py3-none-any'}.whl"
        assert sorted(archive.namelist()) == sorted(wanted)
        top = {name.partition("/")[0] for name in archive.namelist()}
        assert top == {"console", "engine", info}, "docs/architecture.md says which names it takes"
        metadata = archive.read(f"{info}/METADATA").decode()
        for line in (
            "Author: Roundhouse maintainers",
            "Keywords: ",
            "License-Expression: MIT",
            "Requires-Python: >=3.11",
        ):
            assert f"\n{line}" in metadata, line
        assert "roundhouse = console.__main__:main" in archive.read(f"{info}/entry_points.txt").decode()


@pytest.mark.parametrize(
    ("arguments", "printed"), [(["--version"], f"roundhouse {__version__}\n"), (["paths"], "config ")]
)
def test_it_runs_from_another_folder(arguments: list[str], printed: str, installed: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    done = run_alone(
        ["-c", "import sys; from console.__main__ import main; sys.exit(main())", *arguments], path, tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(printed)


def test_it_says_which_pump_runs(wheel: Path, installed: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    done = run_alone(["-c", "from engine.drive.pump.chosen import words; print(words())"], path, tmp_path)
    pure = "pure (the native one does not run: it was not built when this was installed)"
    assert done.stdout == (f"{pure}\n" if wheel.name.endswith("-none-any.whl") else "native\n"), done.stderr


def test_it_finds_its_themes_there(installed: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    done = run_alone(["-c", "from console.themes import *; print(shipped_folder())"], path, tmp_path)
    assert (done.stdout, done.stderr) == (f"{installed / 'console' / 'themes'}\n", "")


def run_alone(arguments: list[str], path: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python in an empty folder, without what an editable installation would add to it."""
    environment = own_environment(folder, PYTHONPATH=path)
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_ci_runs_the_readmes_command_and_no_other() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^python3 -m venv .*", readme, re.MULTILINE)
    assert commands == [
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/roundhouse",
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest",
    ]
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == commands[1]


@pytest.mark.skipif(not os.environ.get("ROUNDHOUSE_SLOW"), reason="compiles for minutes: set ROUNDHOUSE_SLOW")
def test_a_wheel_with_compiled_cores_does_what_the_sources_do(tmp_path: Path) -> None:
    """Those tests run on it that neither read the source of what they test nor replace parts of it."""
    wheel = build_compiled_wheel(tmp_path / "dist")
    here = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{here}-{here}-" in wheel.name
    folder = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for name in ("tests", "docs", "themes"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    environment = {**os.environ, "PYTHONPATH": str(folder), "ROUNDHOUSE_SLOW": ""}
    said = "from engine.drive.pump.chosen import cores; from engine.parts import ready; print(cores(), ready.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", said], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"compiled {folder}/engine/parts/ready.cpython-")
    left_out = [f"--ignore=tests/engine/{name}" for name in READS_SOURCES]
    left_out += [f"--deselect=tests/engine/{name}" for name in REPLACES]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-n", "2", f"--rootdir={folder}", *left_out, *COMPILED_TESTS],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
