"""Files from elsewhere on the command line: no regular file, hostile names and content; and full disks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from console.__main__ import main
from engine.catalogue import SYSTEMS
from engine.journal.write import Journal
from engine.labs.sandbox import Sandbox
from tests.helpers.processes import ROOT, own_environment

Capture = pytest.CaptureFixture[str]

HOSTILE = "x\x1b]0;owned\x07\x1b]8;;u\x1b\\\x1b]52;c;aGk=\x07\x9b31m\u202ey\u2066"


@pytest.mark.parametrize(
    "words", [["replay"], ["replay", "--check"], ["drill"], ["submit"], ["pipeline", "run", "--root", "r", "--config"]]
)
@pytest.mark.parametrize("odd", ["fifo", "device"])
def test_what_is_no_regular_file_is_refused_at_once(home: Path, words: list[str], odd: str, capsys: Capture) -> None:
    """A FIFO given as FILE blocked for ever, and no signal ended it."""
    path = home / "given.toml"
    if odd == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    assert main([*words, str(path)]) == 2
    told = capsys.readouterr()
    kind = "a FIFO" if odd == "fifo" else "a device"
    assert str(path) in told.err and f"is {kind}, not a regular file" in told.err and told.out == ""


@pytest.mark.parametrize("words", [["replay"], ["drill"], ["submit"], ["runs"], ["compare", "a"], ["runs", "--csv"]])
@pytest.mark.parametrize("there", [True, False])
def test_the_name_of_a_file_steers_no_terminal(home: Path, words: list[str], there: bool, capsys: Capture) -> None:
    path = home / f"{HOSTILE[:60]}.toml" if there else home / "gone" / HOSTILE.replace("/", "")
    if there:
        path.write_text("[[[" + HOSTILE.replace("\n", ""), encoding="utf-8")
    with suppress(SystemExit):
        main([*words, str(path)])
    told = capsys.readouterr()
    for line in [*told.out.splitlines(), *told.err.splitlines()]:
        assert line.isprintable(), line


def test_a_recording_made_up_by_a_stranger_steers_no_terminal(home: Path, capsys: Capture) -> None:
    path = home / "a.journal"
    system = SYSTEMS["pingpong"]
    journal = Journal(path, system, system.options(), lambda note: None)
    journal.seated(HOSTILE, HOSTILE, HOSTILE, [HOSTILE], {})
    journal.close()
    assert main(["replay", "--check", str(path)]) == 1
    told = capsys.readouterr()
    assert "no core has the role" in told.out
    assert all(line.isprintable() for line in [*told.out.split("\n"), *told.err.split("\n")])


def test_the_output_of_a_document_steers_no_terminal(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("src", "dst"):
        (home / name).mkdir(mode=0o700)
    (home / "src" / "a.ready").write_text(HOSTILE, encoding="utf-8")
    (home / "src" / "done").touch()
    work = "sh -c 'cat \"$1\"; exit 1' sh {input} {output}"
    status = main(["drive", "--src", str(home / "src"), "--dst", str(home / "dst"), "--number", "1", "--work", work])
    told = capfd.readouterr()
    assert status in (0, 1) and "owned" in told.err
    assert all(line.isprintable() for line in [*told.out.split("\n"), *told.err.split("\n")])


def test_who_else_can_read_a_recording_is_said(home: Path, capsys: Capture) -> None:
    path = home / "a.journal"
    with Sandbox(SYSTEMS["pingpong"], workers=1, slots=1, journal=path) as sandbox:
        sandbox.advance(1.0)
    assert path.stat().st_mode & 0o777 == 0o600
    assert main(["replay", "--check", str(path)]) == 0
    assert capsys.readouterr().err == ""
    path.chmod(0o644)
    assert main(["replay", "--check", str(path)]) == 0
    assert "others can read it, its mode is 0644" in capsys.readouterr().err


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.getuid() or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no small disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_journal_that_can_not_write_its_last_block_says_so(small: Path, home: Path) -> None:
    """A real disk that is full: exit 1, the name, and what is kept."""
    (small / "ballast").write_bytes(bytes(48 * 1024))
    journal = small / "a.journal"
    done = subprocess.run(
        [sys.executable, "-m", "console", "bulkping", "3000", "--journal", str(journal)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=own_environment(home, XDG_STATE_HOME=str(home / "state"), PYTHONPATH=str(ROOT)),
    )
    assert done.returncode == 1, done.stderr
    assert f"the journal {journal} ends here: No space left on device" in done.stderr
    assert f"{journal} is not whole: No space left on device; " in done.stderr and "records stand in it" in done.stderr
    assert "3,000" in done.stdout, "the run itself is told"
    assert sorted(path.name for path in small.iterdir()) == ["a.journal", "ballast"]
    assert main(["replay", "--check", str(journal)]) in (0, 2)


def test_a_run_that_can_not_be_kept_is_status_1(small: Path, home: Path) -> None:
    (small / "ballast").write_bytes(bytes(63 * 1024))
    done = subprocess.run(
        [sys.executable, "-m", "console", "pingt", "--json", "-"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=own_environment(home, XDG_STATE_HOME=str(small / "state"), PYTHONPATH=str(ROOT)),
    )
    assert done.returncode == 1 and "could not be kept" in done.stderr, done.stderr
    assert json.loads(done.stdout)["verdict"] == "pass"


def test_what_an_own_run_keeps_is_nobody_elses(home: Path) -> None:
    """Runs and state: 0600 in 0700 folders, whatever the umask, and older looser ones are tightened."""
    state = home / "state"
    (state / "roundhouse" / "runs").mkdir(parents=True, mode=0o755)
    before = os.umask(0)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "console", "pingt"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=own_environment(home, XDG_STATE_HOME=str(state), PYTHONPATH=str(ROOT)),
        )
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    (run,) = (state / "roundhouse" / "runs").iterdir()
    assert (run.stat().st_mode & 0o777, run.parent.stat().st_mode & 0o777) == (0o600, 0o700)
