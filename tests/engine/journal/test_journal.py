"""What is recorded stands up to the last whole block, wherever the file is cut."""

from __future__ import annotations

import errno
import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.catalogue import CATALOGUE, SYSTEMS
from engine.core import Exit, Note, Received, Send, Started
from engine.journal import journal as module
from engine.journal.codec import Unreadable
from engine.journal.journal import DIGEST, EVENT, EVERY, HEAD, HEARD, LEFT, MAGIC, SEAT, Journal, read
from engine.protocols import diskqueue
from engine.protocols.diskqueue.operations import Done, Entry, Exists, List
from engine.protocols.diskqueue.options import Options
from engine.protocols.pingpong import SYSTEM

WORKER = ["tcp://127.0.0.1:6715", 7, 1]


def record(path: Path, events: int = 3) -> list[Note]:
    said: list[Note] = []
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.tap("pool", "worker-1", 1.0, Started(), [Send([b"", b"READY"])])
    for i in range(events):
        journal.tap("pool", "worker-1", 2.0 + i, Received([[b"", b"PONG"]]), [])
    journal.close()
    return said


def test_everything_comes_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    assert record(path) == []
    about, records, cut, _ = read(path, SYSTEMS)
    assert (about.system, about.options["n_timeouts"], cut) == ("pingpong", 3, "")
    kinds = [entry[0] for entry in records]
    assert kinds == [SEAT, EVENT, EVENT, EVENT, EVENT, DIGEST]
    assert records[0][3:] == ["pool", "worker-1", "worker", WORKER, {}]
    assert [entry[3] for entry in records[1:5]] == [Started(), *[Received([[b"", b"PONG"]])] * 3]
    assert [entry[1] for entry in records[1:5]] == [1.0, 2.0, 3.0, 4.0]


def test_a_digest_stands_for_so_many_events(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    record(path, events=2 * EVERY)
    kinds = [entry[0] for entry in read(path, SYSTEMS).records]
    assert (kinds.count(EVENT), kinds.count(DIGEST)) == (2 * EVERY + 1, 3)


def test_a_core_that_exits_has_left(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = Journal(path, SYSTEM, SYSTEM.options(), lambda note: None)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.tap("pool", "worker-1", 1.0, Started(), [Exit("done")])
    journal.tap("pool", "worker-1", 2.0, Started(), [])
    journal.close()
    assert [entry[0] for entry in read(path, SYSTEMS).records] == [SEAT, EVENT, DIGEST, LEFT]


def test_cut_at_any_byte_it_opens_up_to_its_last_whole_block_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.journal.journal.BLOCK", 1)  # a block a record
    path, short = tmp_path / "a.journal", tmp_path / "short.journal"
    record(path)
    whole = path.read_bytes()
    records = read(path, SYSTEMS).records
    seen = set[int]()
    for length in range(len(MAGIC), len(whole) + 1):
        short.write_bytes(whole[:length])
        if length < sorted(_ends(whole))[1]:
            with pytest.raises(Unreadable, match="cut before its first whole block"):
                read(short, SYSTEMS)
            continue
        reading = read(short, SYSTEMS)
        assert reading.records == records[: len(reading.records)]
        assert bool(reading.cut) == (length not in _ends(whole))
        seen.add(len(reading.records))
    assert seen == set(range(len(records) + 1))


def test_a_flipped_bit_ends_it_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.journal.journal.BLOCK", 1)
    path = tmp_path / "a.journal"
    record(path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    reading = read(path, SYSTEMS)
    assert "does not fit its checksum" in reading.cut
    assert len(reading.records) == 5


@pytest.mark.parametrize("content", [b"", b"roundhouse.journal/9\n", b"\x00" * 100])
def test_what_is_no_journal_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.journal"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=r"a\.journal: not a journal"):
        read(path, SYSTEMS)


HEADING = [HEAD, ["pingpong", {}, 1.0, 1.0, "1"]]


def block(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return struct.pack("<II", len(packed), zlib.crc32(packed)) + packed


def journal(path: Path, *contents: bytes) -> Path:
    path.write_bytes(MAGIC + b"".join(map(block, contents)))
    return path


@pytest.mark.parametrize(
    "record",
    [
        5,
        [],
        [[]],
        ["x"],
        [9, 1.0, 1],
        [EVENT],
        [EVENT, "now", 1, None],
        [LEFT, 1.0, None],
        [DIGEST, 1.0, 1, "x"],
        [SEAT, 1.0, 1, "pool", "w", "worker", {}, []],
        {"a": 1},
    ],
)
def test_what_is_no_record_is_refused(record: object, tmp_path: Path) -> None:
    good = msgpack.packb(HEADING) + msgpack.packb([LEFT, 1.0, 1])
    path = journal(tmp_path / "a.journal", good + msgpack.packb(record) + msgpack.packb([LEFT, 2.0, 1]))
    with pytest.raises(Unreadable, match=r"a\.journal: record 1 is none"):
        read(path, SYSTEMS)
    with pytest.raises(Unreadable, match="cut before its first whole block"):
        read(journal(path, msgpack.packb(record)), SYSTEMS)


@pytest.mark.parametrize("about", [[], 5, [["pingpong"], {}, 1.0, 1.0, "1"], ["pingpong", {}, "x", 1.0, "1"]])
def test_a_head_of_another_shape_is_refused(about: object, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"a\.journal"):
        read(journal(tmp_path / "a.journal", msgpack.packb([HEAD, about])), SYSTEMS)


@pytest.mark.parametrize(
    ("bomb", "why"),
    [
        (b"\x90" * 100_000, "block 2: too many arrays and maps"),
        (b"\x91" * 100_000, "block 2: "),
        (b"\xdd\xff\xff\xff\xff", "block 2: "),
        (b"\xc1", "block 2: "),
        (bytes(200_000), "block 2 is larger than what is read"),
    ],
)
def test_bombs_end_it_there(bomb: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BLOCK", 150_000)
    reading = read(journal(tmp_path / "a.journal", msgpack.packb(HEADING), bomb), SYSTEMS)
    assert reading.records == [] and reading.cut.startswith(why)


def test_no_more_is_read_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = msgpack.packb([LEFT, 1.0, 1])
    path = journal(tmp_path / "a.journal", msgpack.packb(HEADING), left * 10, left * 10)
    monkeypatch.setattr(module, "MAX_READ", 15 * len(left) + len(msgpack.packb(HEADING)))
    reading = read(path, SYSTEMS)
    assert len(reading.records) == 10 and reading.cut == "block 3 is larger than what is read"
    monkeypatch.setattr(module, "LIMIT", 20)
    with pytest.raises(Unreadable, match="larger than 20 bytes"):
        read(path, SYSTEMS)


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(b"\xc0" * 2000, id="many values beside each other"),
        pytest.param(b"\xdc\x07\xd0" + b"\xd0\x80" * 2000, id="one array"),
        pytest.param((b"\xdc\x00\x64" + b"\xa1\xff" * 100) * 20, id="texts that take far more room than bytes"),
        pytest.param((b"\x93\x01\x02" + b"\xdc\x00\x64" + b"\x01" * 100) * 20, id="arrays in arrays"),
        pytest.param(b"\xdd\x00\x0f\x42\x40" * 100, id="arrays that say they are long"),
        pytest.param(b"\xde\x40\x00" + b"\xa1a\x01" * 0x4000, id="one map"),
        pytest.param(b"\xc7\x10\x05" + bytes(16), id="a type of its own"),
        pytest.param(b"\xd6\xff\x00\x00\x00\x00", id="a time stamp"),
    ],
)
def test_65_kb_can_not_make_gigabytes(bomb: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are bounded, whatever they are and however they are nested; what was read before them stands."""
    monkeypatch.setattr(module, "VALUES", 1000)
    monkeypatch.setattr(module, "BYTE_HOLDS", 0)
    left = msgpack.packb([LEFT, 1.0, 1])
    reading = read(journal(tmp_path / "a.journal", msgpack.packb(HEADING) + left, bomb), SYSTEMS)
    assert reading.records == [[LEFT, 1.0, 1]] and reading.cut.startswith("block 2: ")


def test_the_bound_is_of_all_blocks_together_and_grows_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = msgpack.packb([LEFT, 1.0, 1])
    path = journal(tmp_path / "a.journal", msgpack.packb(HEADING), *[left * 10] * 10)
    monkeypatch.setattr(module, "VALUES", 200)
    monkeypatch.setattr(module, "BYTE_HOLDS", 0)
    reading = read(path, SYSTEMS)
    assert len(reading.records) == 30 and reading.cut == "block 5: it holds more values than are read of such a file"
    monkeypatch.setattr(module, "BYTE_HOLDS", 8)
    assert len(read(path, SYSTEMS).records) == 100
    monkeypatch.setattr(module, "MAX_VALUES", 200)
    assert len(read(path, SYSTEMS).records) == 30


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e300, 2**63, True])
def test_a_time_that_is_none_is_refused(at: float, tmp_path: Path) -> None:
    path = journal(tmp_path / "a.journal", msgpack.packb(HEADING) + msgpack.packb([LEFT, at, 1]))
    with pytest.raises(Unreadable, match="record 0 is none"):
        read(path, SYSTEMS)
    for times in ([at, 1.0], [1.0, at], [-1.0, 1.0]):
        with pytest.raises(Unreadable, match=r"a\.journal: it begins at no time of day"):
            read(journal(path, msgpack.packb([HEAD, ["pingpong", {}, *times, "1"]])), SYSTEMS)


def test_an_event_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    event: list[object] = ["\0", "[]"]
    for _ in range(500):
        event = ["\0", "[]", event]
    path = journal(tmp_path / "a.journal", msgpack.packb(HEADING) + msgpack.packb([EVENT, 1.0, 1, event]))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        with pytest.raises(Unreadable, match="nested too deeply"):
            read(path, SYSTEMS)
    finally:
        sys.setrecursionlimit(limit)


def test_a_full_journal_says_so_and_stands(tmp_path: Path) -> None:
    path, said = tmp_path / "a.journal", list[Note]()
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append, limit=400)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.close()
    journal = Journal(tmp_path / "b.journal", SYSTEM, SYSTEM.options(), said.append, limit=100)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal._writer.join(0.0)
    journal._blocks()
    journal.close()
    assert [note.text for note in said] == [
        f"the journal {journal.path} ends here: it is as large as it may be, 100 bytes"
    ]
    assert journal.lost.endswith("it is as large as it may be, 100 bytes; 0 records stand in it")
    assert [entry[0] for entry in read(path, SYSTEMS).records] == [SEAT, DIGEST]


def test_a_clock_of_the_cores_own_is_the_journals(tmp_path: Path) -> None:
    clock = iter([5.0, 6.0, 7.0, 7.0])
    path = tmp_path / "a.journal"
    journal = Journal(path, SYSTEM, SYSTEM.options(), lambda note: None, clock=lambda: next(clock))
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.left("pool", "worker-1")
    journal.close()
    reading = read(path, SYSTEMS)
    assert reading.about.monotonic == 5.0
    assert [record[1] for record in reading.records] == [6.0, 7.0, 7.0]


def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        record(tmp_path / "a.journal")
    finally:
        os.umask(before)
    assert (tmp_path / "a.journal").stat().st_mode & 0o777 == 0o600


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.journal").symlink_to(tmp_path / "mine")
    with pytest.raises(FileExistsError):
        record(tmp_path / "a.journal")
    assert not (tmp_path / "mine").exists()


def disk(monkeypatch: pytest.MonkeyPatch, takes: int) -> None:
    """A disk that takes so many bytes more, and then is full."""
    real = os.write
    left = [takes]

    def write(into: int, content: Any) -> int:
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        content = bytes(content)[: left[0]]
        left[0] -= len(content)
        return real(into, content)

    monkeypatch.setattr("engine.journal.journal.os.write", write)


def test_a_last_block_that_can_not_be_written_is_told_with_what_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 1)  # a block a record
    path = tmp_path / "a.journal"
    whole = tmp_path / "whole.journal"
    record(whole)
    disk(monkeypatch, whole.stat().st_size - 3)
    said: list[Note] = []
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.tap("pool", "worker-1", 1.0, Started(), [Send([b"", b"READY"])])
    for i in range(3):
        journal.tap("pool", "worker-1", 2.0 + i, Received([[b"", b"PONG"]]), [])
    journal.close()
    assert journal.lost == f"{path} is not whole: No space left on device; 5 records stand in it"
    assert [note.text for note in said] == [f"the journal {path} ends here: No space left on device"]
    reading = read(path, SYSTEMS)
    assert (len(reading.records), reading.cut) == (5, ""), "half a block is taken away again"


def test_a_journal_that_can_not_begin_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk(monkeypatch, 5)
    with pytest.raises(OSError, match="No space left"):
        record(tmp_path / "a.journal")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["fsync", "close"])
def test_an_end_that_can_not_be_flushed_is_told(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems say only then that there was no room: NFS, quotas."""
    path = tmp_path / "a.journal"
    said: list[Note] = []
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append)

    def fails(_: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(f"engine.journal.journal.os.{what}", fails)
    journal.close()
    monkeypatch.undo()
    assert "can not be flushed to the disk: Disk quota exceeded" in journal.lost and len(said) == 1


def test_whoever_is_left_behind_keeps_what_waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEHIND", 3)
    monkeypatch.setattr(module, "FLUSH", 60.0)
    path = tmp_path / "a.journal"
    said = record(path, events=10)
    assert [note.text for note in said] == [f"the journal {path} ends here: the engine is faster than the journal"]
    assert read(path, SYSTEMS).records[0][0] == SEAT


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        Journal(path, SYSTEM, SYSTEM.options(), lambda note: None)
    assert path.read_text() == "mine"


def _ends(whole: bytes) -> set[int]:
    ends, at = {len(MAGIC)}, len(MAGIC)
    while at < len(whole):
        at += 8 + int.from_bytes(whole[at : at + 4], "little")
        ends.add(at)
    return ends


def test_whose_core_nobody_can_run_is_recorded_with_its_answers(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = Journal(path, diskqueue.SYSTEM, Options(), lambda note: None, clock=lambda: 9.0)
    journal.seated("parse.1", "parse.1", "", [], {}, at=1.0)
    odd = Done(List("/q"), entries=(Entry("\udcff.ready", 1, 2),))
    journal.tap("parse.1", "parse.1", 2.0, odd, [Exists("/q", "\udcff")])  # type: ignore[arg-type, list-item]
    journal.left("parse.1", "parse.1")
    journal.close()
    assert read(path, CATALOGUE).records == [
        [SEAT, 1.0, 1, "parse.1", "parse.1", "", [], {}],
        [HEARD, 2.0, 1, odd, [Exists("/q", "\udcff")]],
        [LEFT, 9.0, 1],
    ]
