"""The conversation in words: every builder, pieces of the stream cut anywhere, any frames, and the maps walked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    Connected,
    Disconnected,
    Event,
    Finished,
    Frames,
    Ordered,
    Received,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.explain import Decoded, Direction, Edge, Role
from engine.parts.orders import Leave
from engine.protocols.conversation import explain as module
from engine.protocols.conversation import frontend, header, messages
from engine.protocols.conversation.client import Client
from engine.protocols.conversation.explain import EXPLAIN, PART, decode, state_maps
from engine.protocols.conversation.frontend import (
    Accepted,
    CancelJob,
    Hold,
    JobEnded,
    JobRow,
    JobsListed,
    ListJobs,
    Refusal,
    Release,
    StopWorkers,
    Submit,
    TaskEnded,
)
from engine.protocols.conversation.jobfrontend import FRONTEND
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.machine import JOB as JOB_MACHINE
from engine.protocols.conversation.machine import SEEN, WORKER, Cl, Does, Link, On, Sv
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.worker import Worker
from tests.helpers.conversation import Bench, array, message
from tests.helpers.explain import Table, counts, stands
from tests.helpers.machines import Way

W, C = b"w", b"c"
REF = (7).to_bytes(8, "little")
JOB = array("echo", 2)

WORDS: list[tuple[Role, str, list[tuple[str, str]]]] = [
    ("worker", "OK(4)", [("nproc", "4")]),
    ("broker", "OK(0)", [("nproc", "0")]),
    ("broker", "JOB 1/2 #3 echo", [("task", "1.2"), ("JOB", "#3"), ("command", "echo"), ("nproc", "1")]),
    ("worker", "UPDATE 1/2 done free 4", [("task", "1.2"), ("success", "yes"), ("status", "done"), ("NumProc", "4")]),
    ("broker", "STOP(3)", [("nproc", "3")]),
    ("broker", "STOP(now)", [("nproc", "immed")]),
    ("broker", "STOP(all)", [("nproc", "all")]),
    ("worker", "ERROR 1 #5", [("code", "cannot_run_job"), ("JOB", "#5")]),
    ("worker", "ERROR(2)", [("code", "leaving")]),
    ("broker", "ERROR(3)", [("code", "broken")]),
]


@pytest.mark.parametrize(("role", "text", "fields"), WORDS)
def test_every_message_is_explained_at_both_ends(role: Role, text: str, fields: list[tuple[str, str]]) -> None:
    chunk = message(text)
    here, there = ([W, chunk], [chunk]) if role == "broker" else ([chunk], [W, chunk])
    (found,) = decode(role, "out", here, "main")
    (heard,) = decode("worker" if role == "broker" else "broker", "in", there, "main")
    assert found.command == heard.command == text.partition(" ")[0].partition("(")[0]
    assert list(found.fields) == list(heard.fields) == fields
    assert found.rule and heard.rule and not found.violation


ASKED = [Submit(JOB, 1, True), ListJobs(), Hold(3), Release(3), CancelJob(3), StopWorkers(2)]
ANSWERED = [
    Accepted(7, 3),
    Refusal(7, "full"),
    TaskEnded(7, 3, 1, True, "done", b"xy"),
    JobEnded(7, 3, messages.FINISHED, 2, 0),
    JobsListed(7, (JobRow(JOB, 1, 0, 0, 2, 0),), 0),
]
LEGS = {Submit: "request", TaskEnded: "reply", Refusal: "denial"}


@pytest.mark.parametrize("request_", ASKED)
def test_requests(request_: frontend.Request) -> None:
    body = frontend.pack_request(7, request_)
    (found,) = decode("client", "out", [body], "main")
    (heard,) = decode("broker", "in", [C, body], FRONTEND)
    assert found.command == type(request_).__name__ and dict(found.fields)["task"] == "7"
    assert found == heard._replace(peer=None, client=b"") and heard.client == C
    assert (found.task, found.leg) == (REF, LEGS.get(type(request_), ""))


@pytest.mark.parametrize("answer", ANSWERED)
def test_answers(answer: frontend.Answer) -> None:
    body = frontend.pack_answer(answer)
    (found,) = decode("broker", "out", [C, body], FRONTEND)
    (heard,) = decode("client", "in", [body], "main")
    assert found.command == type(answer).__name__
    assert heard == found._replace(peer=None, client=b"")
    assert (found.task, found.client, found.leg) == (REF, C, LEGS.get(type(answer), ""))


def test_what_is_no_part_of_the_stream() -> None:
    said = [
        ("worker", "out", [b""], "main"),
        ("broker", "in", [W, b"", b"\5\0\0\0"], "main"),
        ("broker", "in", [W, b""], STREAM),
        ("client", "out", [b""], "main"),
        ("broker", "out", [C, b""], FRONTEND),
    ]
    found = [decode(role, way, frames, socket)[0] for role, way, frames, socket in said]  # type: ignore[arg-type]
    assert [one.command for one in found] == ["opening", "keep-alive", "connection", "keep-alive", "keep-alive"]


@given(st.lists(st.sampled_from([text for role, text, _ in WORDS if role == "broker"]), min_size=1), st.data())
def test_a_piece_that_ends_anywhere_says_the_whole_messages_and_the_part(texts: list[str], data: st.DataObject) -> None:
    whole = b"".join(map(message, texts))
    cut = data.draw(st.integers(1, len(whole)))
    found = decode("worker", "in", [whole[:cut]], "main")
    ends = [len(b"".join(map(message, texts[: n + 1]))) for n in range(len(texts))]
    names = [text.partition(" ")[0].partition("(")[0] for text, end in zip(texts, ends, strict=True) if end <= cut]
    assert [one.command for one in found] == names + ([] if cut in ends else [PART])


def test_a_piece_from_inside_a_message_is_a_part_over_tcp_and_no_message_over_zeromq() -> None:
    tail = message("UPDATE 1/2 done")[5:]
    assert decode("broker", "in", [W, tail], STREAM)[0].command == PART
    assert decode("broker", "in", [W, tail], "main")[0].violation == "wrong magic"


@given(
    st.sampled_from(("broker", "worker", "client")),
    st.sampled_from(("in", "out", "refused")),
    st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from([b"", W, header.pack(header.OK, 3), header.pack_body(header.JOB, b"\x80")]),
        ),
        max_size=4,
    ),
    st.sampled_from(("main", STREAM, FRONTEND)),
)
def test_any_frames_are_explained(role: Role, direction: Direction, frames: Frames, socket: str) -> None:
    found = decode(role, direction, list(frames), socket)
    assert found and all(one.command for one in found)


def joined() -> Bench:
    bench = Bench()
    bench.do("start w1 2")
    return bench


def test_the_broker_knows_whose_task_a_job_carries() -> None:
    bench = joined()
    seen: list[Any] = []
    handle = bench.broker.handle

    def spying(event: Any, now: float) -> Any:
        commands = handle(event, now)
        sends = [one for one in commands if isinstance(one, Send)]
        assert EXPLAIN.whose is not None
        seen.extend(EXPLAIN.whose(bench.broker, send) for send in sends)
        return commands

    bench.broker.handle = spying  # type: ignore[method-assign]
    bench.do("ask c1 7 submit echo 2")
    assert seen == [None, (b"c1", REF), (b"c1", REF)]  # accepted, and two JOBs
    link = next(iter(bench.broker.links.values()))
    job = Send([link.key, bytes(2) + header.JOB.to_bytes(2, "little") + next(iter(link.out)).to_bytes(4, "little")])
    next(iter(link.out.values())).job.client = b"\0open-c1"
    assert EXPLAIN.whose is not None
    assert EXPLAIN.whose(bench.broker, job) == (b"c1", REF)  # by its routing id, also where anybody may ask


def test_standings_have_who_was_used_last_at_the_end() -> None:
    bench = joined()
    bench.do("start w2 3")
    bench.do("ask c1 7 submit echo 1")
    found = EXPLAIN.candidates(bench.broker, Decoded("JOB"))
    assert [(one.name, one.free, one.slots) for one in found.order] == [("w2", 3, 3), ("w1", 1, 2)]


# ---- state maps --------------------------------------------------------------------------------------------------


GREETED = ("OK(0)", "OK(2)")
BUSY = (*GREETED, "JOB 1/1 #1 echo")
UPDATING = (*BUSY, "done")
BEFORE: dict[str, tuple[str, ...]] = {Cl.INIT0: (), Cl.INIT1: GREETED[:1], Cl.LOOP0: BUSY, Cl.UPDATE1: UPDATING}
OWING = (*BUSY, "JOB 1/2 #2 echo", "done", "done 2")
HAPPENS = {
    On.GREETED: "OK(0)",
    On.OK: "OK(2)",
    On.OVER: "ERROR(3)",
    "JOB that fits": "JOB 1/2 #4 echo",
    "JOB too large": "JOB 1/3 #5 echo 3",
    On.STOP: "STOP(1)",
    On.STOP_NOW: "STOP(now)",
    On.DONE: "done",
    On.LEAVE: "leave",
    On.BEAT: "wait 1",
    On.SILENCE: "wait 3",
    On.WRONG: "ff",
    On.UNSENT: "unsent",
}


def hear(worker: Worker, text: str, now: float = 10.0) -> None:
    match text.split():
        case ["done", *key]:
            event: Event = Finished(int(key[0]) if key else min(worker.running, default=0), True, b"done")
        case ["leave"]:
            event = Ordered(Leave())
        case ["wait", seconds]:
            now, event = now + float(seconds), Woken()
        case ["unsent"]:
            event = Unsent([b"x"], "full")
        case _:
            event = Received([[message(text)]])
    worker.handle(event, now)
    worker.check()


def scene(edge: Edge) -> tuple[tuple[str, ...], str]:
    """What a worker hears until it stands where an edge begins, and what happens then."""
    match edge.state, edge.event:
        case Cl.LOOP0, On.OWED:
            return OWING, "OK(2)"
        case Cl.LOOP0, On.IDLE:
            return GREETED, "STOP(all)"
        case (Cl.INIT0 | Cl.INIT1) as at, On.IDLE:
            return BEFORE[at], "leave"
        case Cl.UPDATE0, On.PASS:
            return BUSY, "done"
        case Cl.UPDATE1, On.DONE:
            return (*BUSY, "JOB 1/2 #2 echo", "done"), "done 2"
        case at, event:
            return BEFORE[at], HAPPENS[event]


def test_the_worker_walks_every_edge_of_its_map() -> None:
    states = state_maps()[0]
    for edge in states.edges:
        worker = Worker(Options(), 2)
        worker.handle(Started(), 10.0)
        before, happens = scene(edge)
        for text in before:
            hear(worker, text)
        way, counted = Way(WORKER, worker), Way(WORKER, worker)
        stood = worker.state
        hear(worker, happens)
        path = way.passed(stood)
        assert counted.rows()[edge.state, edge.event] == 1 and edge.next in path, (edge, path)
        assert path[-1] == worker.state, (edge, path)
        assert states.current(worker.snapshot(10.0)) == {worker.state: 1}
        assert states.visits(worker.snapshot(10.0))[worker.state] >= 1


def link_scene(edge: Edge) -> tuple[list[str], str]:
    """What is done until a link stands where an edge begins, and what happens then."""
    greeted = ["open p1"] if edge.state == Sv.INIT1 else ["open p1", "say p1 OK(2)"]
    counted = int(edge.state == Sv.LOOP2)
    match edge.state, edge.event:
        case Sv.INIT0, _:
            return [], "open p1"
        case ((Sv.INIT2 | Sv.LOOP0 | Sv.LOOP1), _):
            return ["open p1"], "say p1 OK(2)"
        case Sv.LOOP3, _:
            return greeted, "say p1 UPDATE 9/9 done free 2"
        case _, On.REFUSED:
            return [*greeted, "ask c1 1 submit echo"], "say p1 ERROR 1 #1"
    happens = {
        On.OK_N: "say p1 OK(2)",
        On.ALIVE: f"alive p1 {counted}",
        On.DISCONNECT: "say p1 ERROR(2)",
        On.OPENING: "open p1",
        On.SILENCE: "wait 3",
        On.EXPIRED: "expire p1",
        On.WRONG: "say p1 ff",
        On.UNSENT: "gone p1",
        On.JOB_QUEUED: "ask c1 1 submit echo",
        On.UPDATE: "say p1 UPDATE 9/9 done free 2",
        On.STOP_REQ: "ask c1 1 stop 1",
        On.STOP_IMMED: "ask c1 1 stop now",
    }
    return greeted, happens[edge.event]


def test_a_link_walks_every_edge_of_its_map() -> None:
    states = state_maps()[1]
    for edge in states.edges:
        bench = Bench()
        before, happens = link_scene(edge)
        for line in before:
            bench.do(line)
        way = Way(SEEN, bench.broker)
        bench.do(happens)
        rows = way.rows()
        assert rows[edge.state, edge.event] == 1, (edge, rows)
        expected = {Sv.LOOP2: 1} if edge.next in (Sv.LOOP0, Sv.LOOP1, Sv.LOOP2, Sv.LOOP3) else {edge.next: 1}
        if edge.next == Sv.INIT2:
            expected = {Sv.LOOP2: 1}
        if edge.next == Sv.EXIT:
            expected = {Sv.INIT1: 1} if edge.event == On.OPENING else {}
        assert +Counter(states.current(bench.broker.snapshot(bench.now))) == expected, edge


def job_scene(edge: Edge) -> tuple[list[str], str]:
    """What is done until job 1 stands where an edge begins, and what happens then."""
    asked, worker, two = "ask c1 1 submit echo", ["open p1", "say p1 OK(2)"], ["open p1", "say p1 OK(1)"]
    end, back = "say p1 UPDATE 1/1 done free 1", "say p1 ERROR 1 #1"
    hold, release, cancel = "ask c1 2 hold 1", "ask c1 2 release 1", "ask c1 2 cancel 1"
    begun = {Does.NEW: [], Does.WAITING: [asked], Does.RUNNING: [*two, f"{asked} 3"]}
    begun[Does.HELD] = [*begun[Does.RUNNING], hold]
    begun[Does.CANCELLED] = [*begun[Does.RUNNING], cancel]
    match edge.state, edge.event:
        case Does.NEW, _:
            return [], asked
        case Does.WAITING, On.GIVEN:
            return [*worker[:1], asked], worker[1]
        case Does.HELD, On.RELEASE:
            return [asked, hold], release
        case Does.RUNNING, On.GIVEN:
            return begun[Does.RUNNING], end
        case Does.RUNNING, "a task ends as the last":
            return [*two, asked], end
        case Does.HELD, "a task ends as the last":
            return [*two, asked, hold], end
    happens = {
        On.HOLD: hold,
        On.CANCEL: cancel,
        On.BACK: back,
        On.ENDED: end,
        "release of one that has begun": release,
    }
    return begun[edge.state], happens[edge.event]


def test_a_job_walks_every_edge_of_its_map() -> None:
    states = state_maps()[2]
    for edge in states.edges:
        bench = Bench()
        before, happens = job_scene(edge)
        for line in before:
            bench.do(line)
        way = Way(JOB_MACHINE, bench.broker)
        bench.do(happens)
        rows = way.rows()
        assert rows[edge.state, edge.event] == 1, (edge, rows)
        assert rows.total() == 1 or edge.event in (On.ENDED, On.BACK, On.GIVEN), (edge, rows)
        ended = edge.next in (Does.CANCELLED, Does.FINISHED)
        standing = {} if ended else {edge.next: 1}
        assert +Counter(states.current(bench.broker.snapshot(bench.now))) == standing, edge


def test_links_are_counted_by_state() -> None:
    bench = joined()
    bench.do("open t1")
    states, picture = state_maps()[1], bench.broker.snapshot(bench.now)
    assert states.current(picture) == {"SV_LOOP2": 1, "SV_INIT1": 1}
    assert states.visits(picture)["SV_INIT0"] == 2


def test_the_clients_link() -> None:
    states = state_maps()[3]
    table = Table(Client(Options()), EXPLAIN, "client").start().order(BulkSpec("ping", 1))
    done = TaskEnded(1, 1, 1, True, "done", messages.answer(":ping") or None)
    happens: dict[tuple[str, str], Callable[[], object]] = {
        (Link.SILENT, On.BEAT): lambda: table.wait(Options().heartbeat),
        (Link.SILENT, On.CONNECTED): lambda: table.do(Disconnected()).do(Connected()),
        (Link.SILENT, On.HEARD): lambda: table.hear([b""]),
        (Link.LINKED, On.HEARD): lambda: table.hear([b""]),
        (Link.LINKED, On.ANSWERED): lambda: table.hear([frontend.pack_answer(done)]),
        (Link.LINKED, On.BEAT): lambda: table.wait(Options().heartbeat),
        (Link.LINKED, On.CONNECTED): lambda: table.do(Disconnected()).do(Connected()),
        (Link.LINKED, On.NO_ANSWER): lambda: table.wait(Options().expiry),
        (Link.SILENT, On.NO_ANSWER): lambda: table.wait(Options().expiry),
    }
    also = {(Link.LINKED, On.ANSWERED): {(Link.LINKED, On.HEARD)}}
    edges = {(edge.state, edge.event): edge for edge in states.edges}
    assert edges.keys() == happens.keys() and len(edges) == len(states.edges)
    for place in happens:
        assert stands(table, states) == place[0]
        before = counts(table, states)
        happens[place]()
        walked = counts(table, states) - before
        assert walked == dict.fromkeys({place, *also.get(place, ())}, 1), (place, walked)
        assert stands(table, states) == edges[place].next


def test_every_violation_of_the_two_tables_has_its_rule() -> None:
    assert module.RULES["JOB in CL_INIT1"] == "001 CL_INIT1: no such row"
    table = Table(Worker(Options(), 2), EXPLAIN, "worker").start()
    for text in ("OK(0)", "JOB 1/1 #1 echo"):
        table.hear([message(text)])
    (incident,) = table.core.violations.newest()
    assert incident.reason in module.RULES
    table.order(Leave())
    table.do(Woken())
