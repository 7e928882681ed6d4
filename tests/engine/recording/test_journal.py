"""What is recorded stands up to the last whole block, wherever the file is cut."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import msgpack
import pytest

from engine.catalogue import CATALOGUE, SYSTEMS
from engine.core import Exit, Note, Received, Send, Started
from engine.protocols import diskqueue
from engine.protocols.diskqueue.operations import Done, Entry, Exists, List
from engine.protocols.diskqueue.options import Options
from engine.protocols.pingpong import SYSTEM
from engine.recording import journal as module
from engine.recording.journal import DIGEST, EVENT, EVERY, HEAD, HEARD, LEFT, MAGIC, SEAT, Journal, read
from engine.recording.tape import Unreadable

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
    about, records, cut = read(path, SYSTEMS)
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
    monkeypatch.setattr("engine.recording.journal.BLOCK", 1)  # a block a record
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
    monkeypatch.setattr("engine.recording.journal.BLOCK", 1)
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
    assert [note.text for note in said] == ["the journal ends here: it is as large as it may be, 100 bytes"]
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
