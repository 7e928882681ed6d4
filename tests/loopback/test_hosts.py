"""Two hosts: network namespaces with a cable between them. Skipped, visibly, where nobody may make such."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.drive.security import keys
from tests.helpers.processes import ROOT, WAIT, own_environment, until

FARM, HUB = "10.213.7.1", "10.213.7.2"
AT = f"tcp://{HUB}:6714"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    """The names of two namespaces: of the workers, and of the broker."""
    names = f"rh-farm-{os.getpid()}", f"rh-hub-{os.getpid()}"
    ends = f"rhf{os.getpid()}", f"rhh{os.getpid()}"
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("there are no network namespaces here")
    with ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "del", name)
            ip("link", "add", ends[0], "netns", names[0], "type", "veth", "peer", "name", ends[1], "netns", names[1])
            for name, end, address in zip(names, ends, (FARM, HUB), strict=True):
                ip("-n", name, "address", "add", f"{address}/30", "dev", end)
                ip("-n", name, "link", "set", end, "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces can not be made here: {error.stderr.decode().strip()}")
        yield names


def test_a_broker_is_reached_from_another_host_with_a_key_and_not_without(
    hosts: tuple[str, str], tmp_path: Path
) -> None:
    environ = own_environment(tmp_path, PYTHONPATH=str(ROOT))
    folder = tmp_path / "config" / "roundhouse" / "keys"
    for name, role in {"depot": "broker", "w1": "worker", "c1": "client"}.items():
        keys.authorize(folder, keys.make(folder, name, role)._replace(secret=""))
    shown = ("--connect", AT, "--server-key", "depot")
    with ExitStack() as stack:

        def start(host: str, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
            log = tmp_path / words[0]
            out = stack.enter_context(log.open("wb"))
            command = ["ip", "netns", "exec", host, sys.executable, "-m", "console", *words]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environ)
            stack.callback(process.wait, WAIT)
            stack.callback(process.kill)
            return process, log

        def ready(host: str, *words: str) -> None:
            process, log = start(host, *words)
            until(lambda: "ready" in log.read_text() or process.poll() is not None)
            assert "ready" in log.read_text(), log.read_text()

        farm, hub = hosts
        ready(hub, "broker", "--bind", AT, "--curve", "depot")
        ready(farm, "worker", *shown, "--curve", "w1")
        process, log = start(farm, "pingt", *shown, "--curve", "c1")
        assert process.wait(WAIT) == 0, log.read_text()
        process, log = start(farm, "ping", "--connect", AT, "--timeout", "1")
        assert process.wait(WAIT) == 1 and "asks for keys" in log.read_text()
