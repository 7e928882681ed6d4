"""What ``replay`` opens, what it refuses and how, and what it finds without a screen."""

from __future__ import annotations

import zlib
from argparse import Namespace
from pathlib import Path
from typing import Any

import msgpack
import pytest

from console.__main__ import main
from console.cli.arguments import read_arguments
from console.cli.replay import replay
from engine.catalogue import SYSTEMS
from engine.journal.format import MAGIC
from engine.labs.queuereplaylab import QueueReplayLab
from engine.labs.replaylab import ReplayLab
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.protocols.diskqueue.machine import Item, On
from engine.protocols.pingpong.messages import PONG
from tests.helpers.queue_recordings import write

Capture = pytest.CaptureFixture[str]


def recorded(path: Path, system: str = "roundrobin") -> Path:
    with Sandbox(SYSTEMS[system], workers=2, slots=2, journal=path) as sandbox:
        sandbox.advance(3.0)
        sandbox.run(BulkSpec("ping", 5, 0, 2))
        sandbox.advance(2.0)
    return path


def test_a_recording_of_disk_queues_is_compared_and_shown(
    home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(home / "a.journal")
    assert main(["replay", "--check", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["as recorded"]
    shown: list[str] = []

    class Screen:
        signal_received = summary = None

        def __init__(self, labs: None, first: Any, settings: Any) -> None:
            assert isinstance(first.lab, QueueReplayLab)
            shown.append(first.name)

        def run(self) -> None:
            shown.append("run")

    monkeypatch.setattr("console.cli.screen.on_terminal", lambda: True)
    monkeypatch.setattr("console.app.Console", Screen)
    assert replay(Namespace(file=path, check=False), []) == 0
    assert shown == ["diskqueue", "run"]
    monkeypatch.setattr("engine.protocols.diskqueue.driver.move.publish", publish_nothing)
    assert main(["replay", "--check", str(path)]) == 1
    assert "ends at record" in capsys.readouterr().out


def publish_nothing(held: Any, walk: Any) -> Any:
    """As a driver of other rules would."""
    yield from ()
    walk.step(Item.WORKING, On.PROCESSED)
    return ""


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_recording_is_compared_without_a_screen(home: Path, system: str, capsys: Capture) -> None:
    path = recorded(home / "a.journal", system)
    assert main(["replay", "--check", str(path)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"{system}: ") and told.out.endswith("as recorded\n") and told.err == ""


def test_other_rules_than_the_recorded_ones_are_told(home: Path, capsys: Capture, monkeypatch: Any) -> None:
    path = recorded(home / "a.journal", "pingpong")
    monkeypatch.setattr("engine.protocols.pingpong.broker.messages.PONG", b"PANG")
    monkeypatch.setattr("engine.protocols.pingpong.table.PONG", b"PANG", raising=False)
    monkeypatch.setattr("engine.protocols.pingpong.broker.PONG", b"PANG", raising=False)
    assert PONG == b"PONG"
    assert main(["replay", "--check", str(path)]) == 1
    assert "differs at" in capsys.readouterr().out


def block(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return len(packed).to_bytes(4, "little") + zlib.crc32(packed).to_bytes(4, "little") + packed


def head(**options: Any) -> bytes:
    packed: bytes = msgpack.packb([0, ["roundrobin", options, 0.0, 0.0, "0"]])
    return packed


def test_a_record_that_no_core_can_take_ends_the_replay(home: Path, capsys: Capture) -> None:
    path = home / "a.journal"
    path.write_bytes(MAGIC + block(head() + msgpack.packb([1, 0.0, 1, "broker", "broker", "nobody", [], {}])))
    assert main(["replay", "--check", str(path)]) == 1
    assert "ends at record 0: no core has the role 'nobody'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a journal of this version"),
        (b"no journal at all", "not a journal of this version"),
        (MAGIC, "cut before its first whole block"),
        (MAGIC + block(msgpack.packb([0, ["nosuch", {}, 0.0, 0.0, "0"]])), "a system 'nosuch'"),
        (MAGIC + block(msgpack.packb([0, 5])), ""),
        (MAGIC + block(msgpack.packb(5)), ""),
        (MAGIC + block(b"\xc1"), ""),
        (MAGIC + block(head(nosuch=1)), "nosuch"),
        (MAGIC + block(head() + msgpack.packb([3, 0.0, 1, ["\x00", "Nosuch", 1]])), "no class 'Nosuch'"),
        (MAGIC + block(head() + msgpack.packb([1, "never", 1])), "record 0 is none"),
    ],
)
def test_what_is_no_journal_is_refused_with_a_reason(home: Path, content: bytes, reason: str, capsys: Capture) -> None:
    path = home / "a.journal"
    path.write_bytes(content)
    assert main(["replay", str(path)]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f"roundhouse: {path}: ") and reason in told.err and told.out == ""
    assert len(told.err) > len(f"roundhouse: {path}: \n")


def test_a_cut_journal_opens_as_far_as_it_stands(home: Path, capsys: Capture) -> None:
    path = recorded(home / "a.journal")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[len(MAGIC) : -3])  # its blocks once more, the last one cut
    assert main(["replay", "--check", str(path)]) in (0, 1)
    assert "is cut; it opens as far as its last whole block" in capsys.readouterr().err


def test_without_a_terminal_the_other_way_is_named(home: Path, capsys: Capture) -> None:
    assert main(["replay", str(recorded(home / "a.journal"))]) == 2
    assert "replay --check" in capsys.readouterr().err


def test_the_screen_is_given_the_recording(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen:
        made: Any = None
        signal_received: int | None = 15
        summary: str | None = None

        def __init__(self, labs: None, first: Any, settings: Any) -> None:
            assert isinstance(first.lab, ReplayLab)
            type(self).made = (first.name, first.lab.position, settings.theme)

        def run(self) -> None:
            assert self.made is not None

    monkeypatch.setattr("console.cli.screen.on_terminal", lambda: True)
    monkeypatch.setattr("console.app.Console", Screen)
    assert replay(Namespace(file=recorded(home / "a.journal"), check=False), []) == 128 + 15
    assert Screen.made == ("roundrobin", 0, "midnight")


def test_its_arguments(capsys: Capture) -> None:
    options = read_arguments(["replay", __file__, "--check"]).options
    assert (options.file, options.check) == (Path(__file__), True)
    for line in (["replay"], ["replay", "x"], ["--journal", "y", "replay", __file__]):
        with pytest.raises(SystemExit, match="2"):
            read_arguments(line)
    capsys.readouterr()
