from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Frames
from engine.parts.limits import MAX_FRAME, MAX_FRAMES, MAX_ID, MAX_SLOTS
from engine.protocols.roundrobin import messages as wire

V = b"LMQv100"
ID4, ID8 = b"\1\0\0\0", b"\5\0\0\0\0\0\0\0"
WORKER, CLIENT = b"tcp://127.0.0.1:6714:503206", b"tcp://127.0.0.1:6714:178484"

BUILT = [
    # fact sheet, message shape: what, frames, what it is to the broker, what it is to a peer
    (wire.link_ping(ID8), [b"", V, b"\1", ID8, b""], wire.LINK_PING, wire.LINK_PING),
    (wire.link_pong(ID8), [b"", V, b"\2", ID8, b""], wire.LINK_PONG, wire.LINK_PONG),
    (wire.register(ID4, 10), [b"", V, b"\4", ID4, b"\x08", b"10", b""], wire.JOIN, None),
    (wire.registered(ID4), [b"", V, b"\6", ID4, b""], None, wire.JOINED),
    (wire.deregister(), [b"", V, b"\3", b"WORKER", b"\x09", b""], wire.LEAVE, None),
    (wire.increment(ID4), [b"", V, b"\3", ID4, b"\x07", b""], wire.RETURN, None),
    (wire.ping(ID8, False), [b"", V, b"\3", ID8, b"\1", b""], wire.TASK, None),
    (wire.ping(ID8, True), [b"", V, b"\4", ID8, b"\1", b""], wire.TASK, None),
    (wire.stream(ID4, 1024), [b"", V, b"\4", ID4, b"\x0a", b"STREAM_ID", b"1024", b""], wire.TASK, None),
    (wire.reply(CLIENT, ID8), [CLIENT, b"", V, b"\6", ID8, b""], wire.REPLY, None),
    (wire.reply(CLIENT, ID4, b"2R"), [CLIENT, b"", V, b"\6", ID4, b"2R", b""], wire.REPLY, None),
]


@pytest.mark.parametrize(("built", "frames", "to_broker", "to_peer"), BUILT)
def test_every_message_is_built_as_the_fact_sheet_has_it_and_known_where_it_goes(
    built: Frames, frames: Frames, to_broker: wire.Is | None, to_peer: wire.Is | None
) -> None:
    assert built == frames
    at_broker, at_peer = wire.at_broker([WORKER, *built]), wire.at_peer(built)
    assert at_broker is to_broker if to_broker else isinstance(at_broker, str)
    assert at_peer is to_peer if to_peer else isinstance(at_peer, str)


def test_a_task_passed_on_has_its_client_at_the_end() -> None:
    for task in (wire.ping(ID8, True), wire.ping(ID8, False), wire.stream(ID4, 1024)):
        passed = wire.delivery(WORKER, CLIENT, task[2:-1])
        assert passed == [WORKER, *task, CLIENT] and wire.at_peer(passed[1:]) is wire.TASK


def test_a_reply_passed_on_has_its_worker_at_the_end() -> None:
    plain, loaded = wire.relayed(CLIENT, ID8, WORKER), wire.relayed(CLIENT, ID4, WORKER, b"2R")
    assert plain == [CLIENT, b"", V, b"\6", ID8, b"", WORKER] and wire.at_peer(plain[1:]) is wire.REPLY
    assert loaded == [CLIENT, b"", V, b"\6", ID4, b"2R", b"", WORKER] and wire.at_peer(loaded[1:]) is wire.REPLY


@pytest.mark.parametrize("size", [4, 6, 8, 16, MAX_ID])
def test_ids_are_opaque(size: int) -> None:
    assert wire.at_broker([CLIENT, *wire.ping(b"\x07" * size, True)]) is wire.TASK


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([], "wrong number of frames"),
        ([CLIENT], "wrong number of frames"),
        ([CLIENT, b"", V, b"\1", ID8], "wrong number of frames"),
        ([CLIENT, b"", V, b"\1", *[ID8] * MAX_FRAMES, b""], "wrong number of frames"),
        ([CLIENT, b"", V, b"\1", ID8, b"x"], "no empty frame at the end"),
        ([b"", *wire.ping(ID8, True)], "routing id of a wrong length"),
        ([CLIENT, b"", b"LMQv101", b"\1", ID8, b""], "wrong version"),
        ([CLIENT, b"", V, b"\1", b"", b""], "id of a wrong length"),
        ([CLIENT, *wire.ping(b"x" * 512, True)], "id of a wrong length"),
        ([CLIENT, b"", V, b"\1", ID8, b"\1", b""], "wrong number of frames"),
        ([CLIENT, b"", V, b"\5", ID8, b"\1", b""], "unknown command"),
        ([CLIENT, b"", V, b"\5", ID8, b""], "unknown command"),
        ([CLIENT, b"", V, b"", ID8, b""], "unknown command"),
        ([CLIENT, b"", V, b"\4", ID8, b""], "no application command"),
        ([CLIENT, b"", V, b"\4", ID8, b"", b""], "no application command"),
        ([CLIENT, b"", V, b"\4", ID8, b"\1\1", b""], "no application command"),
        ([WORKER, b"", V, b"\4", ID4, b"\x08", b""], "wrong number of frames"),
        ([WORKER, b"", V, b"\4", ID4, b"\x08", b"10", b"10", b""], "wrong number of frames"),
        ([WORKER, b"", V, b"\3", ID4, b"\x07", b"1", b""], "wrong number of frames"),
        ([WORKER, b"", V, b"\3", ID4, b"\x09", b"1", b""], "wrong number of frames"),
        ([CLIENT, b"", V, b"\4", ID4, b"\x0a", b"x" * (MAX_FRAME + 1), b""], "frame too long"),
        ([WORKER, CLIENT, b"", V, b"\6", b""], "wrong number of frames"),
        ([WORKER, CLIENT, b"", V, b"\6", ID8, b"", b"", b""], "wrong number of frames"),
        ([WORKER, CLIENT, b"x", V, b"\6", ID8, b""], "bad address in front"),
        ([WORKER, b"x" * 256, b"", V, b"\6", ID8, b""], "bad address in front"),
        ([WORKER, CLIENT, b"", b"LMQ", b"\6", ID8, b""], "wrong version"),
        ([WORKER, CLIENT, b"", V, b"\4", ID8, b""], "only a response may be relayed"),
        ([WORKER, CLIENT, b"", V, b"\6", b"", b""], "id of a wrong length"),
        ([WORKER, CLIENT, b"", V, b"\6", ID8, b"x" * (MAX_FRAME + 1), b""], "frame too long"),
    ],
)
def test_what_is_wrong_at_the_broker_is_said(frames: Frames, reason: str) -> None:
    assert wire.at_broker(frames) == reason


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([], "wrong number of frames"),
        ([b"", V, b"\1", ID8], "wrong number of frames"),
        ([b""] * (MAX_FRAMES + 1), "wrong number of frames"),
        ([b"x", V, b"\1", ID8, b""], "no empty frame in front"),
        ([b"", b"", b"\1", ID8, b""], "wrong version"),
        ([b"", V, b"\1", b"", b""], "id of a wrong length"),
        ([b"", V, b"\1", ID8, b"x"], "no empty frame at the end"),
        ([b"", V, b"\3", ID8, b""], "unknown command"),
        ([b"", V, b"\4", ID8, b"\1", b"", b""], "no address at the end"),
        ([b"", V, b"\4", ID8, b"\1", b"x", CLIENT], "no address at the end"),
        ([b"", V, b"\4", ID8, b"\1", b"", b"x" * 256], "no address at the end"),
        ([b"", V, b"\4", ID8, b"", b"", CLIENT], "no application command"),
        ([b"", V, b"\4", ID8, b"", CLIENT], "no application command"),
        ([b"", V, b"\2", ID8, b"\1", b"", CLIENT], "unknown command"),
        ([b"", V, b"\6", ID8, b"2R", b"2R", b"", WORKER], "wrong number of frames"),
        ([b"", V, b"\6", ID8, b"x" * (MAX_FRAME + 1), b"", WORKER], "frame too long"),
    ],
)
def test_what_is_wrong_at_a_peer_is_said(frames: Frames, reason: str) -> None:
    assert wire.at_peer(frames) == reason


def test_r4_a_claim_stands_in_the_last_byte_of_a_link_pings_id() -> None:
    ours = b"\5\0\0seed\0"
    assert wire.link_id(5) == ours and wire.link_id(5, claim=True) == b"\5\0\0seed\x80"
    assert wire.disowned(wire.link_id(5, claim=True)) == ours
    assert wire.link_id(2**24 + 5) == ours, "it wraps before it touches the word"
    assert wire.is_ours(ours) and wire.is_ours(wire.link_id(5, packs=True)) and not wire.is_ours(ID8)
    for none in (ID8, ID4, b"", b"\5\0\0\x80", wire.link_id(5, claim=True) + b"\x80"):
        assert wire.disowned(none) is None


def test_a_peer_of_ours_asks_for_the_packed_lane_with_a_word_in_that_id() -> None:
    ask, claim = wire.link_id(5, packs=True), wire.link_id(5, claim=True, packs=True)
    assert (ask, claim) == (b"\5\0\0pack\0", b"\5\0\0pack\x80") and wire.disowned(claim) == ask
    assert (wire.agreed(ask), wire.agreed(claim)) == (b"\5\0\0PACK\0", b"\5\0\0PACK\x80")
    assert wire.link_id(2**24 + 5, packs=True) == ask, "it wraps before it touches the word"
    for none in (ID8, ID4, b"", b"pack", wire.agreed(ask) or b"", ask + b"\0", wire.link_id(5, claim=True)):
        assert wire.agreed(none) is None
    assert wire.agreement(wire.agreed(ask) or b"") == (True, False) and wire.agreement(ask) == (False, False)


def test_a_worker_of_ours_asks_with_another_word_to_share_its_connection_too() -> None:
    ask, claim = wire.link_id(5, shares=True), wire.link_id(5, claim=True, shares=True)
    assert (ask, claim) == (b"\5\0\0seat\0", b"\5\0\0seat\x80") and wire.is_ours(ask) and wire.unclaimed(ask)
    assert wire.disowned(claim) == ask and not wire.unclaimed(claim)
    assert (wire.agreed(ask), wire.agreed(claim)) == (b"\5\0\0SEAT\0", b"\5\0\0SEAT\x80")
    assert wire.agreement(b"\5\0\0SEAT\0") == (True, True) and wire.agreement(b"\5\0\0SEAT") == (False, False)


@pytest.mark.parametrize("claim", [False, True])
def test_what_answers_a_ping(claim: bool) -> None:
    last = b"\x80" if claim else b"\0"
    words = {b"seed": {b"seed"}, b"pack": {b"pack", b"PACK"}, b"seat": {b"seat", b"PACK", b"SEAT"}}
    for asked, fitting in words.items():
        for word in (b"seed", b"pack", b"seat", b"PACK", b"SEAT", b"oops"):
            assert wire.answers(b"\5\0\0" + word + last, b"\5\0\0" + asked + last) == (word in fitting), (asked, word)
            assert not wire.answers(b"\6\0\0" + word + last, b"\5\0\0" + asked + last), "another number"
            assert not wire.answers(b"\5\0\0" + word + b"\1", b"\5\0\0" + asked + last), "another claim"
    assert not wire.answers(b"\5\0\0PACK", b"\5\0\0pack" + last) and not wire.answers(b"", b"\5\0\0pack" + last)


frame = st.one_of(
    st.sampled_from([b"", V, ID4, ID8, b"10", CLIENT, *(bytes([n]) for n in range(12))]), st.binary(max_size=80)
)


@given(st.lists(frame, max_size=12))
def test_every_list_of_frames_is_something(frames: Frames) -> None:
    before = list(frames)
    assert isinstance(wire.at_broker(frames), wire.Is | str)
    assert isinstance(wire.at_peer(frames), wire.Is | str)
    assert frames == before


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (b"10", 10),
        (b"10\0", 10),
        (b"1", 1),
        (b"%d" % MAX_SLOTS, MAX_SLOTS),
        (b"0", None),
        (b"", None),
        (b"\0", None),
        (b"10\0\0", None),
        (b"-5", None),
        (b"x", None),
        (b"1_0", None),
        (b" 10", None),
        (b"%d" % (MAX_SLOTS + 1), None),
        (b"%d" % 10**9, None),
        (b"%d" % 2**63, None),
        (b"9" * 5000, None),
    ],
)
def test_slots_are_plain_decimal_within_bounds(text: bytes, slots: int | None) -> None:
    assert wire.slots_of([WORKER, b"", V, b"\4", ID4, b"\x08", text, b""]) == slots


def test_stream_sizes_are_plain_decimal_within_bounds() -> None:
    task = wire.stream(ID4, 1024)[2:-1]
    assert wire.stream_size(task, 1024) == 1024 and wire.stream_size(task, 1023) is None
    assert wire.stream_size([*task[:4], b"1024\0"], 4096) == 1024
    assert wire.stream_size([*task[:4], b"0"], 4096) is None
    assert wire.stream_size(task[:4], 4096) is None, "no size at all"
    assert wire.stream_size([*task[:4], b"1", *task[4:]], 4096) is None, "two sizes"
