"""Child processes of a benchmark, their endpoints and their folder; all of it is gone at the end, whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.bench.figures import Run
from tests.bench.peers import Foul

ROOT = Path(__file__).parents[2]
PYTHON = sys.executable
PEERS = (PYTHON, "-m", "tests.bench.peers")
CONSOLE = (PYTHON, "-m", "console")
PATIENCE = 60.0  # seconds that a child may take to end

Child = subprocess.Popen[str]

Settings = Mapping[str, str]
"""Of ``roundhouse``, as its environment variables are named: ``{"pool_workers": "10"}``."""

NONE: Settings = {}


class Stage:
    """Use it as a context manager. ``root``: of the checkout whose program and Python peers are started."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.folder = Path(tempfile.mkdtemp(prefix="roundhouse-bench-"))
        self._children: list[Child] = []
        self._sockets = 0
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("ROUNDHOUSE_")}
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            self.environ[name] = str(self.folder)
        self.environ["PYTHONPATH"] = str(root)
        self.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is not compiled at each start

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for child in self._children:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def endpoint(self, transport: str) -> str:
        """An address that nobody uses."""
        if transport == "ipc":
            self._sockets += 1
            return f"ipc://{self.folder}/{self._sockets}"
        return f"tcp://127.0.0.1:{free_port()}"

    def start(self, *command: str, settings: Settings = NONE) -> Child:
        """Start a child and wait until it says ``ready``."""
        child = self.launch(*command, settings=settings)
        if not said(child).startswith("ready"):
            raise Foul(f"{' '.join(command)} did not start")
        return child

    def launch(self, *command: str, settings: Settings = NONE, stderr: int | None = None) -> Child:
        """Start a child and wait for nothing."""
        environ = self.environ | {f"ROUNDHOUSE_{name.upper()}": value for name, value in settings.items()}
        child = subprocess.Popen(
            command, cwd=self.root, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
        self._children.append(child)
        return child

    def end(self, child: Child) -> str:
        """End a child by SIGTERM; what it had still to say."""
        child.send_signal(signal.SIGTERM)
        self._children.remove(child)
        return child.communicate(timeout=PATIENCE)[0].strip()

    def ask(self, *command: str, settings: Settings = NONE) -> dict[str, Any]:
        """Carry out a command that prints JSON. Raises ``Foul`` where its status is not 0."""
        child = self.launch(*command, settings=settings, stderr=subprocess.PIPE)
        out, err = child.communicate(timeout=PATIENCE)
        self._children.remove(child)
        if child.returncode:
            raise Foul(f"{' '.join(command)} ended with status {child.returncode}: {out[-500:]}{err[-500:]}")
        answer: dict[str, Any] = json.loads(out)
        return answer

    def bulkping(self, n: int, window: int, *more: str, settings: Settings = NONE) -> Run:
        """A run of ours as a user gives it, with everything in one process where ``--connect`` names no broker."""
        command = (*CONSOLE, "bulkping", str(n), "--in-flight", str(window), "--json", "-", *more)
        return run_of(self.ask(*command, settings=settings))

    def c_peers(self, name: str = "zdrive") -> tuple[str, ...] | None:
        """Load peers in C, built here and linked to the libzmq of pyzmq; None where that can not be."""
        compiler, library = shutil.which("cc") or shutil.which("gcc"), libzmq()
        if compiler is None or library is None:
            return None
        program = str(self.folder / name)
        source = str(Path(__file__).with_name(f"{name}.c"))
        link = [str(library), f"-Wl,-rpath,{library.parent}"]
        built = subprocess.run(
            [compiler, "-O2", "-o", program, source, *link], capture_output=True, text=True, check=False
        )
        return (program,) if built.returncode == 0 else None


def libzmq() -> Path | None:
    """The file of the libzmq that pyzmq has loaded; None where the system does not tell."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text(encoding="utf-8").splitlines() if maps.exists() else []
    found = {Path(line.split(maxsplit=5)[-1]) for line in lines if "/libzmq" in line}
    return min(found, default=None)


def run_of(record: dict[str, Any]) -> Run:
    """The figures of a run of ours. Raises ``Foul`` where one task of it failed, was lost or came twice."""
    if record["verdict"] != "pass" or not record["ledger"]["balanced"]:
        raise Foul(f"the run failed: {record['failed']}, {record['ledger']}")
    return Run(record["rate_per_s"], record["service_us"]["p50"], record["service_us"]["p99"])


def said(child: Child) -> str:
    """The next line that a child prints."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def tell(child: Child, line: str) -> None:
    """Hand a line to a child."""
    assert child.stdin is not None
    child.stdin.write(line + "\n")
    child.stdin.flush()


def free_port() -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def script(name: str) -> str | None:
    """A program that a package of this environment brought along."""
    here = Path(sysconfig.get_path("scripts"), name)
    return str(here) if here.is_file() else shutil.which(name)
