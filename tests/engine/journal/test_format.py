"""What is recorded is read back, up to the last whole block, wherever the file is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalogue import CATALOGUE, SYSTEMS
from engine.core import Exit, Received, Started
from engine.journal.codec import Unreadable
from engine.journal.format import DIGEST, EVENT, EVERY, HEARD, LEFT, MAGIC, SEAT
from engine.journal.read import read
from engine.journal.write import Journal
from engine.protocols import diskqueue
from engine.protocols.diskqueue.operations import Done, Entry, Exists, List
from engine.protocols.diskqueue.options import Options
from engine.protocols.pingpong import SYSTEM
from tests.helpers.journals import WORKER, record


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
    monkeypatch.setattr("engine.journal.write.BLOCK", 1)  # a block a record
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
    monkeypatch.setattr("engine.journal.write.BLOCK", 1)
    path = tmp_path / "a.journal"
    record(path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    reading = read(path, SYSTEMS)
    assert "does not fit its checksum" in reading.cut
    assert len(reading.records) == 5


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
