"""The broker core: the seed's server table walked, and what its dialogues do not show."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import MAIN, Finished, Note, Ordered, Paused, Received, Send, Started, Unsent, Woken
from engine.parts.orders import Inspect
from engine.parts.violations import NOTES
from engine.protocols.conversation import broker as module
from engine.protocols.conversation import header, messages
from engine.protocols.conversation.beats import Sent
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.jobfrontend import FRONTEND
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.machine import SEEN, Sv
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import Bench, message
from tests.helpers.examples import examples
from tests.helpers.machines import Way

SEED = """
SV_INIT0	-		send OK(0)				SV_INIT1
SV_INIT1	on OK(n)	record nproc=n				SV_INIT2
SV_INIT2	-		send OK(nproc)				SV_LOOP0

SV_LOOP0	-		request npending<=nproc pending tasks	SV_LOOP1
SV_LOOP1	-		if npending > 0, send JOB(npending)	SV_LOOP2
				else					SV_LOOP2

SV_LOOP2	on JOB_QUEUED	-					SV_LOOP0
		on UPDATE(n)	record task status, set nproc=n		SV_LOOP3
		on STOP_REQ(n)	send STOP(n)				SV_LOOP0
		on STOP_IMMED	send STOP(immed)			SV_LOOP0
		on DISCONNECT	-					SV_EXIT

SV_LOOP3	-		send OK(nproc)				SV_LOOP0
"""

# Every state in which a link waits, with every event: what is sent, through which states it passes, and, in brackets,
# the violation. The seed's table knows no other rows than those without brackets; rulings 8 and 10 gave the two ends.
WALK = """
-        connect     OK(0)               SV_INIT0 SV_INIT1
SV_INIT1 OK(n)       OK(2)               SV_INIT2 SV_LOOP0 SV_LOOP1 SV_LOOP2
SV_INIT1 UPDATE(n)   -                   - [UPDATE in SV_INIT1]
SV_INIT1 JOB         -                   - [JOB in SV_INIT1]
SV_INIT1 STOP        -                   - [STOP in SV_INIT1]
SV_INIT1 ERROR       -                   - [ERROR in SV_INIT1]
SV_INIT1 unreadable  closed              SV_EXIT [unknown message type]
SV_INIT1 JOB_QUEUED  -                   -
SV_INIT1 STOP_REQ(n) -                   -
SV_INIT1 STOP_IMMED  -                   -
SV_INIT1 DISCONNECT  -                   SV_EXIT
SV_LOOP2 OK(n)       -                   - [OK in SV_LOOP2]
SV_LOOP2 UPDATE(n)   OK(2)               SV_LOOP3 SV_LOOP0 SV_LOOP1 SV_LOOP2
SV_LOOP2 JOB         -                   - [JOB in SV_LOOP2]
SV_LOOP2 STOP        -                   - [STOP in SV_LOOP2]
SV_LOOP2 ERROR       -                   - [error about no job]
SV_LOOP2 unreadable  closed              SV_EXIT [unknown message type]
SV_LOOP2 JOB_QUEUED  JOB 1/1 #1          SV_LOOP0 SV_LOOP1 SV_LOOP2
SV_LOOP2 STOP_REQ(n) STOP(1)             SV_LOOP0 SV_LOOP1 SV_LOOP2
SV_LOOP2 STOP_IMMED  STOP(now)           SV_LOOP0 SV_LOOP1 SV_LOOP2
SV_LOOP2 DISCONNECT  -                   SV_EXIT
"""

EVENTS = {
    "OK(n)": "say t1 OK(2)",
    "UPDATE(n)": "say t1 UPDATE 9/9 done free 2",
    "JOB": "say t1 JOB 1/1 #1 echo",
    "STOP": "say t1 STOP(1)",
    "ERROR": "say t1 ERROR 1 #7",
    "unreadable": "say t1 47c0090000000000ffffff00",
    "JOB_QUEUED": "ask c1 1 submit echo",
    "STOP_REQ(n)": "ask c1 1 stop 1",
    "STOP_IMMED": "ask c1 1 stop now",
    "DISCONNECT": "close t1",
}


def step(bench: Bench, state: str, event: str, line: str) -> str:
    way = Way(SEEN, bench.broker)
    said = bench.do(line)
    sent = [text.removeprefix("t1 < ") for text in said if text.startswith("t1 < ")]
    path = " ".join([Sv.INIT0, *way.passed(Sv.INIT0)] if state == "-" else way.passed(state))
    wrong = "".join(f" [{incident.reason}]" for incident in bench.broker.violations.newest())
    return f"{state:8} {event:11} {' '.join(sent) or '-':19} {path or '-'}{wrong}"


def test_the_walk() -> None:
    rows = [step(Bench(), "-", "connect", "open t1")]
    for state in ("SV_INIT1", "SV_LOOP2"):
        for event, line in EVENTS.items():
            bench = Bench()
            bench.do("open t1")
            if state == "SV_LOOP2":
                bench.do("say t1 OK(2)")
            rows.append(step(bench, state, event, line))
    assert rows == WALK.strip().splitlines()


def test_the_walk_passes_every_row_of_the_seeds_table_and_no_other() -> None:
    rows, state = set(), ""
    for line in filter(None, SEED.splitlines()):
        cells = [cell for cell in line.split("\t") if cell]
        state = cells[0] if cells[0].startswith("SV_") else state
        rows.add((state, cells[-1]))
    walked = set()
    for line in WALK.strip().splitlines():
        start, path = line[:8].strip(), line[41:].partition("[")[0].split()
        states = [start, *path] if start != "-" else path
        walked |= {pair for pair in pairwise(states) if pair[1].startswith("SV_")}
    walked.discard(("SV_INIT1", "SV_EXIT"))  # ours: a link may end while it greets
    assert walked == rows


def test_a_beaten_worker_is_given_nothing_more_of_a_cancelled_array_and_the_books_balance() -> None:
    bench = Bench()
    for line in ("open t1", "say t1 OK(2)", "ask c1 1 submit echo 10", "ask c1 2 cancel 1", "close t1"):
        bench.do(line)
    view = bench.broker.snapshot(bench.now)
    assert view.ledger.balanced and dict(view.ledger.failed) == {"cancelled": 10} and view.backlog == 0


def test_split_and_joined_as_the_transport_likes() -> None:
    bench = Bench()
    bench.do("open t1")
    bench.do("ask c1 1 submit echo 4")
    talk = b"".join(map(message, ("OK(2)", "UPDATE 1/1 done free 1", "UPDATE 1/2 done free 2")))
    for i in range(len(talk)):
        bench.send("t1", [talk[i : i + 1]])
    expected = ["OK(2)", "JOB 1/1 #1", "JOB 1/2 #2", "OK(1)", "JOB 1/3 #3", "OK(1)", "JOB 1/4 #4"]
    assert [line[5:] for line in bench.take() if line.startswith("t1")] == expected


def test_a_worker_can_leave_no_more_than_an_updates_longest_body_half_sent() -> None:
    """Whatever JOBs may carry: each of thousands of connections can have the broker keep what it has not completed."""
    bench = Bench()
    assert bench.do("open t1") == ["t1 < OK(0)"]
    bench.do("say t1 OK(1)")
    length = (messages.MAX_UPDATE + 1).to_bytes(4, "little")
    bench.send("t1", [header.pack(header.UPDATE, 0)[:8] + length])
    assert bench.take()[-1] == "t1 < closed" and not bench.broker.links


def test_ends_of_many_strangers_are_told_no_oftener_than_what_they_did() -> None:
    """Each that joins and is cut off gave a line of its own, as long as an attack lasted."""
    bench = Bench()
    said: list[str] = []
    for peer in range(3 * NOTES):
        for line in (f"open t{peer}", f"say t{peer} OK(1)", f"say t{peer} 47c003000000000001000000c1"):
            said += bench.do(line)
    assert sum("is cut off" in line for line in said) <= NOTES + 1
    assert bench.broker.violations.total == 3 * NOTES and not bench.broker.links


def test_one_room_less_than_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WORKERS", 1)
    bench = Bench()
    assert bench.do("open p1") == ["p1 < OK(0)"]
    assert bench.do("open p2") == ["broker: violation: no room for another worker", "p2 < ERROR(3)"]
    assert bench.do("open t1")[-1] == "t1 < closed"
    assert len(bench.broker.links) == 1


def test_a_zeromq_peer_can_not_take_the_name_of_a_plain_one() -> None:
    broker = Broker(Options())
    broker.handle(Received([[b"1", b""]], STREAM), 0.0)
    out = broker.handle(Received([[b"\0stream-1", b"x"], [b"\0stream-2", b""]]), 0.0)
    assert Send([b"\0stream-2", header.OVER]) in out
    assert list(broker.links) == [b"\0stream-1"]
    broker.check()


def test_a_keep_alive_is_answered_as_it_came() -> None:
    """Without its CRC it comes from an earlier version."""
    bench = Bench()
    for line in ("open p1", "say p1 OK(2)"):
        bench.do(line)
    out = bench.broker.handle(Received([[b"p1", b"", b"\1\0\0\0"]]), bench.now)
    assert out == [Send([b"p1", b"", b"\2\0\0\0"])]
    sent, said = Sent(), Sent()
    said.add(message("OK(2)"))
    for text in ("OK(0)", "OK(2)"):
        sent.add(message(text))
    assert bench.broker.handle(Received([[b"p1", b"", said.beat()]]), bench.now) == [Send([b"p1", b"", sent.beat()])]


def test_a_stop_that_was_lost_with_its_conversation_is_said_again() -> None:
    bench = Bench()
    bench.do("start w1 4")
    bench.do("cut w1")
    assert bench.do("ask c1 1 stop 3") == ["w1 < STOP(3)", "c1 < [1] 3 processors stop, of 1 worker; 1 is left"]
    bench.do("mend w1")
    said = bench.do("wait 3")
    assert [line for line in said if "STOP" in line or "OK(" in line][-4:] == [
        "w1 < OK(0)",
        "w1 > OK(4)",
        "w1 < OK(4)",
        "w1 < STOP(3)",
    ]
    assert bench.cores["w1"].max_nproc == 1
    bench.do("cut w1")
    bench.do("wait 4")
    bench.do("mend w1")
    said = bench.do("wait 3")
    assert "w1 > OK(1)" in said and not [line for line in said if "STOP" in line]


def test_a_worker_that_is_started_anew_under_its_id_is_not_stopped_for_one_that_was() -> None:
    """The STOP had arrived: the worker went on with keep-alives that came after it."""
    bench = Bench()
    for line in ("open p1", "say p1 OK(4)", "ask c1 1 stop 3", "alive p1 1", "alive p1 1", "alive p1 1"):
        bench.do(line)
    assert bench.do("open p1")[-1] == "p1 < OK(0)"
    assert bench.do("say p1 OK(4)") == ["p1 < OK(4)"]


def test_events_that_concern_no_broker_and_orders_that_it_does_not_take() -> None:
    broker = Broker(Options())
    assert broker.handle(Started(), 0.0) == broker.handle(Woken(), 0.0) == broker.handle(Finished(1, True, b""), 0.0)
    assert broker.handle(Ordered(42), 0.0) == [Note("warn", "the broker takes no such order: int", declines=True)]
    assert len(broker.handle(Paused(3.0), 0.0)) == 1


def test_a_job_that_never_left_was_not_tried() -> None:
    """Workers of one process that is killed are found out one by one: that uses up nobody's tries (F2)."""
    bench = Bench(Options(tries=1))
    bench.do("ask c1 1 submit echo 2")
    for line in ("open p1", "say p1 OK(2)"):
        bench.do(line)
    job = header.pack_body(header.JOB, b"", 2)
    bench.event("broker", Unsent([b"p1", job], "unreachable", MAIN))
    said = [line for line in bench.take() if line.startswith("c1")]
    assert said == ["c1 < [1] task 1/1 error encountered: lost"], "the other one waits"
    assert bench.broker.snapshot(bench.now).backlog == 1
    bench.broker.check()


def test_inspect() -> None:
    bench = Bench()
    for line in ("open t1", "say t1 OK(2)", "ask c1 1 submit echo 3", "say t1 STOP(1)"):
        bench.do(line)
    assert bench.broker.snapshot(bench.now).detail is None
    bench.event("broker", Ordered(Inspect(b"\0stream-t1")))
    detail = bench.broker.snapshot(bench.now).detail
    assert detail is not None and [task.attempt for task in detail.tasks] == [1, 1]
    assert [incident.reason for incident in detail.incidents] == ["STOP in SV_LOOP2"]
    bench.event("broker", Ordered(Inspect(b"nobody")))
    assert bench.broker.snapshot(bench.now).detail is None


def test_an_answer_that_can_not_be_sent_is_counted() -> None:
    bench = Bench()
    bench.event("broker", Unsent([b"c1", b"x"], "unreachable", FRONTEND))
    assert dict(bench.broker.snapshot(bench.now).counters)["unsent answers"] == 1
    assert bench.take() == []


def test_the_operators_own_requests_are_answered_by_notes() -> None:
    bench = Bench()
    assert bench.do("order broker hold 3") == ["broker: refused: no such job"]
    for line in ("submit echo 2", "jobs", "hold 1", "release 1", "cancel 1", "stop all"):
        assert bench.do(f"order broker {line}") == []
    assert bench.broker.snapshot(bench.now).backlog == 0


routing_ids = st.sampled_from([b"", b"a", b"b", b"\0stream-a", b"\0\0\0\0\1"])
chunks = st.one_of(
    st.just(b""),
    st.binary(max_size=40),
    st.builds(header.pack, st.sampled_from(list(header.NAMES)), st.integers(0, 2**32 - 1), st.integers(0, 3)),
    st.builds(header.pack_body, st.sampled_from([header.JOB, header.UPDATE]), st.binary(max_size=30)),
    st.sampled_from([message("OK(2)"), message("UPDATE 1/1 done free 1"), message("ERROR(2)"), b"\1\0\0\0"]),
)


@examples(150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([MAIN, MAIN, STREAM, FRONTEND]),
            routing_ids,
            st.lists(chunks, max_size=3),
            st.floats(0.0, 2.0),
        ),
        max_size=60,
    )
)
def test_random_messages_hurt_nobody_else(storm: list[tuple[str, bytes, list[bytes], float]]) -> None:
    """No exception, the invariants hold, and a worker that behaves keeps its conversation."""
    bench = Bench(Options(expiry=1e6))
    for line in ("open p1", "say p1 OK(2)", "ask c1 1 submit echo 50"):
        bench.do(line)
    for socket, peer, frames, later in storm:
        if socket == STREAM:
            frames = frames[:1] or [b""]  # the socket itself frames these
        bench.now += later
        bench.broker.handle(Received([[peer, *frames]], socket), bench.now)
        bench.broker.check()
    before = bench.broker.violations.total
    bench.broker.handle(Received([[]]), bench.now)
    assert bench.broker.violations.total == before + 1
    link = bench.broker.links[b"p1"]
    assert link.state == Sv.LOOP2 and link.used == 2 and bench.broker.violations.count(b"p1") == 0


def test_a_worker_whose_routing_id_no_socket_can_have_is_refused_at_the_first_message() -> None:
    bench = Bench()
    for frames in ([b"x" * 256, b""], [b"x" * 256, header.pack(header.OK, 1)], [b"x" * 256, b"", bytes(4)]):
        out = bench.broker.handle(Received([frames], "main"), bench.now)
        assert all(isinstance(command, Note) for command in out)
    (incident,) = bench.broker.violations.newest()
    assert (incident.reason, incident.times, bench.broker.links) == ("routing id too long", 3, {})
