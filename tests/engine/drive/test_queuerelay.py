"""Documents go from one queue to another exactly once, wherever sender or receiver dies; no name is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.drive import queuerelay
from engine.drive.queuerelay import Relay
from engine.drive.stores.natslink import Link
from engine.drive.stores.natsstreams import Streams, place_of
from engine.files import safely
from engine.protocols.diskqueue import names
from tests.helpers.processes import until

BIG = bytes(range(256)) * 5000  # more than one message


class Killed(Exception):
    """Whoever worked is gone, in front of this step."""


class Steps:
    """What changes something, counted; the ``due``-th of them kills."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.due = self.taken = 0
        plain: tuple[tuple[Any, str], ...] = ((Relay, "_rename"), (os, "unlink"), (Path, "unlink"), (safely, "create"))
        for owner, name in plain:
            patch.setattr(owner, name, self._plain(getattr(owner, name)))
        classes: tuple[tuple[type[Any], str], ...] = ((Relay, "_write"), (Relay, "_acknowledge"), (Streams, "api"))
        for owner, name in classes:
            patch.setattr(owner, name, self._awaited(getattr(owner, name)))

    def _count(self) -> None:
        self.taken += 1
        if self.taken == self.due:
            raise Killed

    def _plain(self, does: Any) -> Any:
        def step(*args: Any, **more: Any) -> Any:
            self._count()
            return does(*args, **more)

        return step

    def _awaited(self, does: Any) -> Any:
        async def step(*args: Any, **more: Any) -> Any:
            self._count()
            return await does(*args, **more)

        return step


@contextmanager
def relayed(url: str, folder: Path) -> Iterator[Relay]:
    place = place_of(url)
    link = Link(place.servers, "test")
    link.start()
    try:
        until(lambda: link.connected, "the connection")
        yield Relay(link, place, folder)
    finally:
        link.close()


def taken(folder: Path) -> list[tuple[str, bytes]]:
    """What was published by now, and is worked off at once."""
    found = []
    for path in sorted(folder.glob("*.ready")):
        found.append((path.name, path.read_bytes()))
        path.rename(path.with_suffix(".gone"))
        path.with_suffix(".gone").unlink()
    return found


@pytest.fixture
def queues(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return tmp_path / "a", tmp_path / "b"


def test_documents_and_the_end_go_on_as_they_are(backlog: str, queues: tuple[Path, Path]) -> None:
    source, target = queues
    for name, content in (("big", BIG), ("empty", b""), ("name.with \udcff", b"x")):
        (source / names.ready(name)).write_bytes(content)
    (source / names.ready("big")).chmod(0o640)
    (source / "strange").write_bytes(b"stays")
    with relayed(backlog, source) as sends, relayed(backlog, target) as receives:
        assert not sends.end() and receives.receive() is None
        with sends.sending(), relayed(backlog, source) as second:
            with pytest.raises(BlockingIOError), second.sending():
                raise AssertionError
            assert sends.send() == ["big", "empty", "name.with \udcff"] and sends.send() == [] and not sends.end()
            (source / names.DONE).touch()
            assert sends.end()
        assert [receives.receive() for _ in range(4)] == ["big", "empty", "name.with \udcff", ""]
        assert (target / names.ready("big")).stat().st_mode & 0o777 == 0o640
        assert dict(taken(target)) == {"big.ready": BIG, "empty.ready": b"", "name.with \udcff.ready": b"x"}
        assert sorted(os.listdir(source)) == ["done", "strange"] and sorted(os.listdir(target)) == [".relay", "done"]


def test_a_document_whose_name_is_in_use_waits_and_another_folder_does_not_get_it(
    backlog: str, queues: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queuerelay, "LEASE", 0.5)
    monkeypatch.setattr(queuerelay, "AWAY", b'-NAK {"delay": 100000000}')
    source, target = queues
    (source / names.ready("x")).write_bytes(b"new")
    (target / names.ready("x")).write_bytes(b"old")
    (tmp_path / "c").mkdir()
    with relayed(backlog, source) as sends, relayed(backlog, target) as receives, relayed(backlog, tmp_path / "c") as c:
        assert sends.send() == ["x"]
        with pytest.raises(FileExistsError):
            receives.receive()
        until(lambda: not c.receive() and (tmp_path / "c" / ".relay").exists(), "that it was delivered there")
        assert (target / names.ready("x")).read_bytes() == b"old" and list((tmp_path / "c").glob("*.ready")) == []
        (target / names.ready("x")).unlink()
        until(lambda: receives.receive() == "x", "its turn")
        assert taken(target) == [("x.ready", b"new")]


def test_whoever_dies_in_front_of_any_step_each_document_is_published_once(
    backlog: str, queues: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One document after the other; of the n-th the n-th step is not taken, and sender and receiver begin anew."""
    monkeypatch.setattr(queuerelay, "LEASE", 0.05)
    monkeypatch.setattr(queuerelay, "WAIT", b'{"batch":1,"expires":50000000}')
    source, target = queues
    place = place_of(backlog)
    steps = Steps(monkeypatch)
    with relayed(backlog, source) as first:
        link = first.link

        def passed(due: int, came: list[tuple[str, bytes]]) -> bool:
            """Go on until nothing is left; whether somebody died."""
            died = False
            sends, receives = Relay(link, place, source), Relay(link, place, target)
            steps.due, steps.taken = due, 0

            def rests() -> bool:
                nonlocal died, sends, receives
                try:
                    sends.send()
                except Killed:
                    died, sends = True, Relay(link, place, source)
                try:
                    receives.receive()
                except Killed:
                    died, receives = True, Relay(link, place, target)
                due, steps.due = steps.due, 0
                came.extend(taken(target))
                steps.due = due
                return bool(came) and os.listdir(source) == [] and {*os.listdir(target)} <= {".relay"}

            until(rests, "the document")
            return died

        due, died = 0, True
        while died:
            due += 1
            content = b"%d" % due if due % 4 else BIG
            (source / names.ready("x")).write_bytes(content)
            came: list[tuple[str, bytes]] = []
            died = passed(due, came)
            assert came == [("x.ready", content)], f"step {due}"
        assert due > 20
