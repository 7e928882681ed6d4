"""What commands inherit, and what they do not."""

from __future__ import annotations

import os
from pathlib import Path
from queue import Queue

import pytest

from engine.core import Process as Body
from engine.drive import environment
from engine.drive.documents import TOLD, parse_work, process
from engine.drive.jobs import Jobs
from engine.drive.pipelineview import Observation
from engine.drive.queueprocesses import DriverProcesses
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Process
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from tests.helpers.processes import until

OF_A_DOCUMENT = [f"QUEUE_{name.upper()}" for name in TOLD]
PRINT = "sh -c 'env > \"$2\"' sh {input} {output}"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password in the environment; what a test narrows is wide again after it."""
    monkeypatch.setenv("SECRET", "geheim")
    monkeypatch.setenv("KEPT", "kept")
    monkeypatch.setattr(environment, "_names", None)


def variables(text: str) -> dict[str, str]:
    """As ``env`` prints them, without those that a shell, or Python in the C locale (PEP 538), makes for itself."""
    found = dict(line.partition("=")[::2] for line in text.splitlines())
    return {name: value for name, value in found.items() if name not in ("PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE")}


def test_everything_is_passed_until_a_list_says_less() -> None:
    assert (environment.passed(), environment.narrowed()) == (dict(os.environ), None)
    environment.narrow(["KEPT", "UNSET"])
    assert (environment.passed(), environment.narrowed()) == ({"KEPT": "kept"}, ("KEPT", "UNSET"))
    environment.narrow([])
    assert environment.passed() == {}


@pytest.mark.parametrize("narrow", [True, False])
def test_a_command_of_a_driver(tmp_path: Path, narrow: bool) -> None:
    if narrow:
        environment.narrow(["KEPT", "PATH"])
    (tmp_path / "in").touch()
    process(parse_work(PRINT), Process("doc", 1, str(tmp_path / "in"), str(tmp_path / "out")))
    found = variables((tmp_path / "out").read_text(encoding="utf-8"))
    assert found["KEPT"] == "kept"
    assert found.keys() == {"KEPT", "PATH", *OF_A_DOCUMENT} if narrow else found["SECRET"] == "geheim"


def test_a_command_of_a_driver_that_a_watchdog_started(tmp_path: Path) -> None:
    """Nor does the driver itself know more, but for where its modules are."""
    environment.narrow(["KEPT", "PATH"])
    for queue in ("start", "a"):
        (tmp_path / f"queue-{queue}").mkdir()
    for name in ("x.ready", names.DONE):
        (tmp_path / "queue-start" / name).touch()
    work = 'sh -c \'cat /proc/$PPID/environ > "$2.driver"; env > "$2"\' sh {input} {output}'
    stages = (Stage("a", 1, work),)
    processes = DriverProcesses(str(tmp_path), stages, Options(), Observation(str(tmp_path), stages))
    assert processes.spawn("a", "1") == []
    until(lambda: list(processes.ends()))
    found = variables((tmp_path / "queue-a" / "x.ready").read_text(encoding="utf-8"))
    assert found.keys() == {"KEPT", "PATH", *OF_A_DOCUMENT}
    (driver,) = (tmp_path / "queue-a").glob("*.driver")
    if told := driver.read_text(encoding="utf-8"):  # only Linux tells
        assert {line.partition("=")[0] for line in told.split("\0") if line} - {"LC_CTYPE"} == {
            "KEPT",
            "PATH",
            "PYTHONPATH",
        }


def test_a_body_of_a_conversation(tmp_path: Path) -> None:
    environment.narrow(["KEPT", "PATH"])
    ended: Queue[bool] = Queue()
    jobs = Jobs(lambda key, ok, result: ended.put(ok))
    try:
        script = tmp_path / "script"
        script.write_text("#!/bin/sh\nenv\n", encoding="utf-8")
        script.chmod(0o700)
        jobs.start(1, Body(str(script), "1", str(tmp_path), str(tmp_path), "job_1"))
        assert ended.get(timeout=60)
    finally:
        jobs.close()
    assert variables((tmp_path / "job_1.log").read_text(encoding="utf-8")).keys() == {"KEPT", "PATH"}
