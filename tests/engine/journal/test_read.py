"""A file that is no journal, or claims to hold too much, is refused or cut; what was read before stands."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import msgpack
import pytest

from engine.catalogue import SYSTEMS
from engine.journal import read as module
from engine.journal.codec import Unreadable
from engine.journal.format import DIGEST, EVENT, HEAD, LEFT, MAGIC, SEAT
from engine.journal.read import read


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
