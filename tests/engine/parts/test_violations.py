from __future__ import annotations

from engine.core import Note
from engine.parts.view import Incident
from engine.parts.violations import NOTES, REASONS_PER_PEER, WINDOW, Violations


def test_the_first_of_its_kind_is_noted_and_all_are_counted() -> None:
    wrongs = Violations()
    assert wrongs.add(b"p", "bad", 1.0) == [Note("bad", "violation: bad", b"p")]
    assert wrongs.add(b"p", "bad", 2.0) == []
    assert wrongs.add(b"p", "worse", 3.0) == [Note("bad", "violation: worse", b"p")]
    assert wrongs.add(b"q", "bad", 4.0) == [Note("bad", "violation: bad", b"q")]
    assert (wrongs.total, wrongs.count(b"p"), wrongs.count(b"q"), wrongs.count(b"r")) == (4, 3, 1, 0)
    assert wrongs.of(b"p") == (Incident(2.0, b"p", "bad", 2), Incident(3.0, b"p", "worse", 1))
    assert wrongs.of(b"r") == ()


def test_the_newest_come_last_and_are_bounded() -> None:
    wrongs = Violations()
    for at, peer in enumerate((b"a", b"b", b"c", b"a")):
        wrongs.add(peer, "bad", float(at))
    assert [(one.peer, one.at, one.times) for one in wrongs.newest()] == [
        (b"b", 1.0, 1),
        (b"c", 2.0, 1),
        (b"a", 3.0, 2),
    ]
    assert [one.peer for one in wrongs.newest(2)] == [b"c", b"a"]


def test_a_hostile_peer_fills_nothing() -> None:
    wrongs = Violations(peers=3)
    for number in range(REASONS_PER_PEER + 5):
        wrongs.add(b"p", f"reason {number}", 1.0)
    assert len(wrongs.of(b"p")) == REASONS_PER_PEER and wrongs.of(b"p")[0].reason == "reason 5"
    for number in range(10):
        wrongs.add(b"%d" % number, "bad", 2.0)
    assert [one.peer for one in wrongs.newest()] == [b"7", b"8", b"9"]
    assert wrongs.total == REASONS_PER_PEER + 15


def test_peers_that_change_their_names_fill_no_log() -> None:
    wrongs = Violations()
    noted = [note for peer in range(1000) for note in wrongs.add(b"%d" % peer, "bad", 5.0)]
    assert noted[:NOTES] == [Note("bad", "violation: bad", b"%d" % peer) for peer in range(NOTES)]
    assert noted[NOTES:] == [
        Note("bad", "violations by many peers: for 10 s they are counted, not told", b"%d" % NOTES)
    ]
    assert wrongs.total == 1000
    assert wrongs.add(b"later", "bad", 5.0 + WINDOW) == [Note("bad", "violation: bad", b"later")]
