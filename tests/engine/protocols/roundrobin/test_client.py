from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    Connected,
    Disconnected,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Started,
    Unsent,
)
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.orders import Leave, Pack, StopRun
from engine.protocols.roundrobin import data, packed
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.client import Client
from engine.protocols.roundrobin.options import Options
from tests.helpers.roundrobin import PACE, Desk, ident

V = wire.VERSION


def ident4(number: int) -> bytes:
    return number.to_bytes(4, "little")


def pong(number: int = 1) -> Frames:
    return wire.link_pong(wire.link_id(number))


def reply(number: int) -> Frames:
    return [b"", V, wire.RESPONSE, ident(number), b"", b"w"]


def streamed(number: int, packet: bytes) -> Frames:
    return [b"", V, wire.RESPONSE, ident4(number), packet, b"", b"w"]


class Runs(Desk):
    """A client on the desk."""

    def __init__(self, client: Client) -> None:
        self.client = client
        super().__init__(client)

    @property
    def run(self) -> BulkView:
        run: BulkView | None = self.client.snapshot(self.now).run
        assert run is not None
        return run

    def begin(self, kind: Any, n: int, **more: Any) -> list[Frames]:
        return self.ordered(BulkSpec(kind, n, **more))


class Packing(Runs):
    """One that asked for the packed lane; ``agreed``: a broker of ours answers, else the original's echo."""

    def __init__(self, agreed: bool = True) -> None:
        super().__init__(Client(Options(packed=True, **PACE)))
        asked = wire.link_id(1, packs=True)
        assert self.do(Started()) == [wire.link_ping(asked)]
        assert self.told(wire.link_pong((wire.agreed(asked) or b"") if agreed else asked)) == []
        assert dict(self.client.snapshot(100.0).terms)["lane"] == ("packed" if agreed else "seed")


class Front(Runs):
    """A client on the desk, on the seed's lane, its link up unless told otherwise."""

    def __init__(self, linked: bool = True) -> None:
        super().__init__(Client(Options(**PACE)))
        assert self.do(Started()) == [wire.link_ping(wire.link_id(1))]
        if linked:
            assert self.told(pong()) == []


def test_pingt_one_message_and_its_round_trip() -> None:
    front = Front()
    assert front.begin("ping", 1) == [[b"", V, wire.TRACKEXEC, ident(0), wire.APP_PING, b""]]
    front.now = 100.5
    assert front.told(reply(0)) == [] and front.run.passed and front.run.service.max == 0.5e6


def test_ping_wants_no_reply() -> None:
    front = Front()
    assert front.begin("ping", 1, tracked=False) == [[b"", V, wire.EXEC, ident(0), wire.APP_PING, b""]]
    assert front.run.passed


def test_data_asks_for_1024_bytes_and_checks_them() -> None:
    front = Front()
    assert front.begin("data", 1) == [wire.stream(ident4(0), 1024)]
    assert front.told(streamed(0, data.make(1024, 1, data.Dice(1)))) == []
    assert front.run.passed and front.run.bytes == 1024


def test_data_of_another_size_and_untracked() -> None:
    front = Front()
    assert front.begin("data", 1, size=5000) == [wire.stream(ident4(0), 5000)]
    assert front.told(streamed(0, data.make(5000, 1, data.Dice(1)))) == [] and front.run.bytes == 5000
    assert front.begin("data", 1, tracked=False) == [wire.stream(ident4(1), 1024, False)] and front.run.passed


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        (streamed(0, data.make(1023, 1, data.Dice(1))), "wrong sum"),
        (streamed(0, data.abort(1)), "stream not finished"),
        (streamed(0, b""), "not a raw stream packet"),
        ([b"", V, wire.RESPONSE, ident4(0), b"", b"w"], "no data"),
    ],
)
def test_wrong_data_fails_and_is_told_of_its_worker(frames: Frames, reason: str) -> None:
    front = Front()
    front.begin("data", 1)
    assert front.told(frames) == [] and front.run.ledger.failed == (("wrong data", 1),) and not front.run.passed
    assert [(one.peer, one.reason) for one in front.client.violations.newest()] == [(b"w", reason)]


def test_data_in_answer_to_a_ping_is_wrong_data() -> None:
    front = Front()
    front.begin("ping", 1)
    front.told([b"", V, wire.RESPONSE, ident(0), b"2R", b"", b"w"])
    assert front.run.ledger.failed == (("wrong data", 1),)


def test_a_reply_makes_room_for_the_next() -> None:
    front = Front()
    assert [frames[3] for frames in front.begin("ping", 5, in_flight=2)] == [ident(0), ident(1)]
    assert [frames[3] for frames in front.told(reply(1), reply(0))] == [ident(2), ident(3)]
    assert front.told(reply(1)) == [] and front.client.runs.late == 1, "answered twice"
    assert [frames[3] for frames in front.told(reply(2), reply(3))] == [ident(4)]
    assert front.told(reply(4)) == [] and front.run.passed and front.client.runs.late == 1


def test_a_paced_run_sends_when_it_is_due() -> None:
    front = Front()
    assert len(front.begin("ping", 3, rate=2.0)) == 1
    assert front.core.wake_at() == 100.5 and front.at(100.4) == []
    assert [frames[3] for frames in front.at(101.0)] == [ident(1), ident(2)]


def test_what_is_not_answered_times_out_and_is_late_afterwards() -> None:
    front = Front()
    front.begin("ping", 1, timeout=1.0)
    assert front.core.wake_at() == 101.0 and front.at(101.0) == []
    assert front.run.state == "ended" and front.run.ledger.failed == (("timeout", 1),)
    assert front.told(reply(0)) == [] and front.client.snapshot(front.now).late == 1


def test_ids_go_on_so_a_reply_to_an_earlier_run_is_late() -> None:
    front = Front()
    front.begin("ping", 2, timeout=1.0)
    front.at(101.0)
    assert [frames[3] for frames in front.begin("ping", 1)] == [ident(2)]
    assert front.told(reply(0), reply(1)) == [] and front.client.runs.late == 2 and front.run.sent == 1
    assert front.told(reply(2)) == [] and front.run.passed


@pytest.mark.parametrize("number", [1, 10**15])
def test_ids_of_nobody_are_late(number: int) -> None:
    front = Front()
    assert front.told(reply(number)) == [] and front.client.runs.late == 1, "no run at all"
    front.begin("ping", 1)
    assert front.told(reply(number), streamed(0, b"")) == [] and front.client.runs.late == 3
    assert front.run.ledger.in_flight == 1


def test_one_run_at_a_time() -> None:
    front = Front()
    front.begin("ping", 1)
    assert front.begin("ping", 1) == [] and front.notes == [Note("warn", "a run is going on: stop it first")]
    front.told(reply(0))
    assert len(front.begin("ping", 1)) == 1


def test_a_stopped_run_sends_nothing_more_and_takes_what_comes() -> None:
    front = Front()
    assert front.ordered(StopRun()) == []
    front.begin("ping", 5, in_flight=2)
    assert front.ordered(StopRun()) == [] and front.run.state == "stopping"
    assert front.told(reply(0), reply(1)) == [] and (front.run.state, front.run.stopped) == ("ended", True)


def test_a_run_waits_for_the_link() -> None:
    front = Front(linked=False)
    assert front.begin("ping", 1) == [] and not front.client.snapshot(front.now).linked
    assert [frames[3] for frames in front.told(pong())] == [ident(0)] and front.client.snapshot(front.now).linked


def test_heartbeats_and_a_new_link_when_pongs_stop() -> None:
    front = Front()
    assert front.at(102.0) == [wire.link_ping(wire.link_id(2))]
    assert front.told(pong(2)) == []
    assert front.told(wire.link_ping(b"x")) == [wire.link_pong(b"x")]
    assert front.at(108.0) == [wire.link_ping(wire.link_id(3))] and front.others == [Reopen()]
    assert front.begin("ping", 1) == [], "not before the PONG"
    assert [frames[3] for frames in front.told(pong(3))] == [ident(0)]


def test_what_can_not_be_sent_has_failed() -> None:
    front = Front()
    (ping,) = front.begin("ping", 1)
    assert front.do(Unsent(ping, "full")) == [] and front.run.ledger.failed == (("unsent", 1),)
    (stream,) = front.begin("data", 1)
    front.do(Unsent(stream, "full"))
    assert front.run.ledger.failed == (("unsent", 1),)
    assert front.do(Unsent(wire.link_ping(wire.link_id(0)), "full")) == [] and front.client.runs.unsent == 3


def test_sampled_tasks_leave_their_times() -> None:
    front = Front()
    front.begin("ping", 17, in_flight=17)
    front.now = 101.0
    front.told(*(reply(number) for number in range(17)))
    assert front.client.snapshot(front.now).legs == ((ident(0), 100.0, 101.0), (ident(16), 100.0, 101.0))


def test_what_is_no_clients_business_is_counted() -> None:
    front = Front()
    assert front.told([b"", V, wire.TRACKEXEC, ident(1), b"\1", b"", b"c"], wire.registered(ident4(1)), [b"x"]) == []
    assert [one.reason for one in front.client.violations.newest()] == [
        "a client got a reply to REGISTER",
        "a client got a task",
        "wrong number of frames",
    ]


def test_a_pause_changes_nothing() -> None:
    front = Front()
    assert front.do(Paused(60.0)) == [] and front.others == []


def test_an_event_that_is_our_own_mistake_raises() -> None:
    for event in (Finished("key", True, b""), Ordered(Leave())):
        with pytest.raises(TypeError, match="takes no"):
            Front().do(event)


frame = st.one_of(
    st.sampled_from([b"", V, ident(0), ident4(0), b"w", *(bytes([n]) for n in range(12))]), st.binary(max_size=9)
)


@given(st.lists(st.lists(frame, max_size=8), min_size=1, max_size=5), st.sampled_from(["ping", "data"]))
def test_any_frames_are_taken(messages: list[Frames], kind: str) -> None:
    front = Front()
    front.begin(kind, 3)
    front.do(Received(messages))
    assert front.run.ledger.balanced


# ---- the packed lane -------------------------------------------------------------------------------------------------


def asked_for(*numbers: int, command: bytes = wire.TRACKEXEC) -> Frames:
    return [packed.tasks([[command, ident(number), wire.APP_PING] for number in numbers])]


def results(*numbers: int) -> Frames:
    values: list[bytes | None] = []
    for number in numbers:
        values += (ident(number), b"w", None)
    return [packed.results(values)]


def test_what_is_due_goes_together_and_its_answers_may_come_so() -> None:
    front = Packing()
    assert front.begin("ping", 5, in_flight=3) == [asked_for(0, 1, 2)]
    assert front.told(results(0, 2)) == [asked_for(3, 4)]
    assert front.told(reply(1), results(3, 4)) == [] and front.run.passed, "whichever lane they come over"
    assert front.told(results(4)) == [] and front.client.runs.late == 1 and front.client.violations.total == 0


def test_an_original_broker_echoes_and_gets_the_seeds_messages() -> None:
    front = Packing(agreed=False)
    assert front.begin("ping", 2) == [wire.ping(ident(0), True), wire.ping(ident(1), True)]
    assert front.told(results(0), reply(1)) == [] and front.run.passed


def test_a_batch_of_tasks_is_bounded() -> None:
    front = Packing()
    n = packed.BATCH
    assert front.begin("ping", n + 1, in_flight=n + 1) == [asked_for(*range(n)), asked_for(n)]
    assert front.begin("ping", 1, tracked=False) == [], "one run at a time"


def test_untracked_tasks_and_streams_are_packed_too() -> None:
    front = Packing()
    assert front.begin("ping", 2, tracked=False) == [asked_for(0, 1, command=wire.EXEC)] and front.run.passed
    asked = [packed.tasks([wire.stream(ident4(2), 1024)[2:-1], wire.stream(ident4(3), 1024)[2:-1]])]
    assert front.begin("data", 2) == [asked]
    good, bad = data.make(1024, 1, data.Dice(1)), data.make(1023, 1, data.Dice(1))
    assert front.told([packed.results([ident4(2), b"w", good, ident4(3), b"w", bad])]) == []
    assert front.run.bytes == 1024 and front.run.ledger.failed == (("wrong data", 1),)
    assert [(one.peer, one.reason) for one in front.client.violations.newest()] == [(b"w", "wrong sum")]


def test_a_batch_that_can_not_be_sent_has_failed() -> None:
    front = Packing()
    (batch,) = front.begin("ping", 3)
    assert front.do(Unsent(batch, "full")) == []
    assert front.run.ledger.failed == (("unsent", 3),) and front.run.state == "ended" and front.client.runs.unsent == 1


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (packed.RESULTS + b"\xc1", "unreadable packed frame"),
        (packed.results([b"1", b"", None]), "bad address"),
        (packed.answers([b"c", b"1", True]), "wrong number of frames"),
    ],
)
def test_a_bad_packed_frame_is_counted(frame: bytes, reason: str) -> None:
    front = Packing()
    assert front.told([frame]) == []
    assert [one.reason for one in front.client.violations.newest()] == [reason]


def test_what_is_out_when_the_connection_ends_is_asked_for_again_and_answered_once() -> None:
    runs = Runs(Client(Options(**PACE)))
    runs.do(Started())
    runs.told(pong(1))
    assert runs.begin("ping", 3, in_flight=3) == [wire.ping(ident(n), True) for n in range(3)]
    runs.told(reply(0))
    assert runs.do(Disconnected()) == [wire.link_ping(wire.link_id(2))] and runs.do(Connected()) == []
    assert runs.notes == [Note("warn", "the connection to the broker ended: linking anew")]
    assert runs.told(pong(2)) == [wire.ping(ident(n), True) for n in (1, 2)]
    runs.told(reply(1), reply(2), reply(1))
    assert runs.run.passed and runs.client.runs.late == 1
    assert dict(runs.client.snapshot(runs.now).terms)["asked again"] == "2"


def test_over_the_packed_lane_it_asks_again_in_one_frame() -> None:
    packing = Packing()
    packing.begin("ping", 2, in_flight=2)
    asked = wire.link_id(2, packs=True)
    assert packing.do(Disconnected()) == [wire.link_ping(asked)]
    again = packing.told(wire.link_pong(wire.agreed(asked) or b""))
    assert again == [[packed.tasks([wire.ping(ident(n), True)[2:-1] for n in range(2)])]]


def test_told_to_pack_it_asks_at_once_and_the_pong_decides() -> None:
    front = Front()
    asked = wire.link_id(2, packs=True)
    assert front.ordered(Pack(True)) == [wire.link_ping(asked)]
    assert front.begin("ping", 1) == [wire.ping(ident(0), True)], "not before it is agreed"
    assert front.told(reply(0), wire.link_pong(wire.agreed(asked) or b"")) == []
    assert front.begin("ping", 2) == [[packed.tasks([wire.ping(ident(n), True)[2:-1] for n in (1, 2)])]]
