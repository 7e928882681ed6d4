"""The conversation in words: every builder, pieces of the stream cut anywhere, any frames, and the maps walked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    Connected,
    Core,
    Disconnected,
    Event,
    Finished,
    Frames,
    Leave,
    Ordered,
    Received,
    Send,
    Started,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.explain import Decoded, Direction, Edge, Role, StateMap
from engine.protocols.conversation import explain as module
from engine.protocols.conversation import frontend, header, messages
from engine.protocols.conversation.client import Client
from engine.protocols.conversation.desk import FRONTEND
from engine.protocols.conversation.explain import EXPLAIN, PART, decode, state_maps
from engine.protocols.conversation.frontend import (
    Accepted,
    CancelJob,
    Hold,
    JobEnded,
    JobRow,
    JobsListed,
    ListJobs,
    Refused,
    Release,
    StopWorkers,
    Submit,
    TaskEnded,
)
from engine.protocols.conversation.links import STREAM, Sv
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.worker import Cl, Worker
from tests.helpers.conversation import Bench, array, message
from tests.helpers.explain import Table, counts, stands

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
    Refused(7, "full"),
    TaskEnded(7, 3, 1, True, "done", b"xy"),
    JobEnded(7, 3, messages.FINISHED, 2, 0),
    JobsListed(7, (JobRow(JOB, 1, 0, 0, 2, 0),), 0),
]
LEGS = {Submit: "request", TaskEnded: "reply", Refused: "denial"}


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


def edges(at: int, event: str) -> list[Edge]:
    return [edge for edge in state_maps()[at].edges if edge.event == event]


class Walker(Worker):
    def __init__(self) -> None:
        super().__init__(Options(), 2)
        self.path = [Cl.INIT0]

    def _enter(self, state: int) -> None:
        super()._enter(state)
        self.path.append(state)


GREETED = ("OK(0)", "OK(2)")
BUSY = (*GREETED, "JOB 1/1 #1 echo")
UPDATING = (*BUSY, "done")
BEFORE = {Cl.INIT0: (), Cl.INIT1: GREETED[:1], Cl.LOOP0: BUSY, Cl.UPDATE1: UPDATING}
HAPPENS = {
    "OK(0)": "OK(0)",
    "OK(nproc)": "OK(2)",
    "ERROR(broken)": "ERROR(3)",
    "JOB that fits": "JOB 1/2 #4 echo",
    "JOB too large": "JOB 1/3 #5 echo 3",
    "STOP(n)": "STOP(1)",
    "STOP(immed)": "STOP(now)",
    "job done": "done",
    "told to leave": "leave",
}


def hear(worker: Walker, text: str) -> None:
    others: dict[str, Event] = {"done": Finished(1, True, b"done"), "leave": Ordered(Leave())}
    worker.handle(others.get(text) or Received([[message(text)]]), 10.0)
    worker.check()


def test_the_worker_walks_every_edge_of_its_map() -> None:
    states = state_maps()[0]
    assert states.states == Cl.NAMES
    walked = set()
    for edge in states.edges:
        if not edge.event:
            continue  # passed through, below
        worker = Walker()
        worker.handle(Started(), 10.0)
        at = Cl.NAMES.index(edge.state)
        happens = HAPPENS.get(edge.event)
        for text in GREETED if happens is None else BEFORE[at]:
            hear(worker, text)
        assert worker.state == at
        worker.path[:] = [at]
        before = edges_walked(states, worker, 10.0)
        if happens is None:
            assert edge.event == "nothing left to stop"
            hear(worker, "STOP(all)")
            before["CL_LOOP0", "STOP(n)"] += 1
            worker.path.remove(at)  # STOP(n) itself
        else:
            hear(worker, happens)
        pairs = [(Cl.NAMES[one], Cl.NAMES[two]) for one, two in pairwise(worker.path)]
        assert pairs[0] == (edge.state, edge.next), edge
        walked |= set(pairs)
        counted = edges_walked(states, worker, 10.0) - before
        assert counted[edge.state, edge.event] == 1 and counted.total() == len(pairs), edge
        assert states.current(worker.snapshot(10.0)) == {Cl.NAMES[worker.state]: 1}
        assert states.visits(worker.snapshot(10.0))[edge.next] >= 1
    assert walked == {(edge.state, edge.next) for edge in states.edges}


def edges_walked(states: StateMap, core: Core, now: float) -> Counter[tuple[str, str]]:
    assert states.walked is not None
    found = states.walked(core.snapshot(now))
    return Counter({(edge.state, edge.event): found.get((edge.state, edge.event), 0) for edge in states.edges})


SV_HAPPENS = {
    "OK(n)": "say t1 OK(2)",
    "DISCONNECT": "close t1",
    "JOB_QUEUED": "ask c1 1 submit echo",
    "UPDATE(n)": "say t1 UPDATE 9/9 done free 2",
    "STOP_REQ(n)": "ask c1 1 stop 1",
    "STOP_IMMED": "ask c1 1 stop now",
}


def test_a_link_walks_every_edge_of_its_map() -> None:
    states = state_maps()[1]
    assert states.states == Sv.NAMES
    walked = set()
    for edge in states.edges:
        if not edge.event:
            continue
        bench = Bench()
        bench.do("open t1")
        walked |= set(pairwise(bench.broker.path))
        if edge.state == "SV_LOOP2":
            bench.do("say t1 OK(2)")
        else:
            assert states.current(bench.broker.snapshot(bench.now)) == {"SV_INIT1": 1}
        before = edges_walked(states, bench.broker, bench.now)
        assert before["SV_INIT0", ""] == 1
        bench.broker.path[:] = [Sv.NAMES.index(edge.state)]
        bench.do(SV_HAPPENS[edge.event])
        pairs = list(pairwise(bench.broker.path))
        assert (Sv.NAMES[pairs[0][0]], Sv.NAMES[pairs[0][1]]) == (edge.state, edge.next), edge
        counted = edges_walked(states, bench.broker, bench.now) - before
        assert counted[edge.state, edge.event] == 1 and counted.total() == len(pairs), edge
        walked |= set(pairs)
    assert {(Sv.NAMES[one], Sv.NAMES[two]) for one, two in walked} == {(edge.state, edge.next) for edge in states.edges}


def test_links_are_counted_by_state() -> None:
    bench = joined()
    bench.do("open t1")
    states, picture = state_maps()[1], bench.broker.snapshot(bench.now)
    assert states.current(picture) == {"SV_LOOP2": 1, "SV_INIT1": 1}
    assert states.visits(picture)["SV_INIT0"] == 2


def test_the_clients_link() -> None:
    states = state_maps()[2]
    table = Table(Client(Options()), EXPLAIN, "client").start().order(BulkSpec("ping", 1))
    done = TaskEnded(1, 1, 1, True, "done", messages.answer(":ping") or None)
    happens: dict[tuple[str, str], Callable[[], object]] = {
        ("silent", "anything"): lambda: table.hear([b""]),
        ("linked", "TaskEnded"): lambda: table.hear([frontend.pack_answer(done)]),
        ("linked", "no answer for expiry"): lambda: table.wait(Options().expiry),
        ("silent", "no answer for expiry"): lambda: table.wait(Options().expiry),
        ("silent", "connected anew"): lambda: table.do(Disconnected()).do(Connected()),
        ("linked", "connected anew"): lambda: table.do(Disconnected()).do(Connected()),
    }
    edges = {(edge.state, edge.event): edge for edge in states.edges}
    assert edges.keys() == happens.keys() and len(edges) == len(states.edges)
    for edge in (edges[place] for place in happens if place != ("linked", "connected anew")):
        assert stands(table, states) == edge.state
        before = counts(table, states)
        happens[(edge.state, edge.event)]()
        assert counts(table, states) - before == {(edge.state, edge.event): 1}
        assert stands(table, states) == edge.next
    table.hear([b""])
    before = counts(table, states)
    happens["linked", "connected anew"]()
    assert counts(table, states) - before == {("linked", "connected anew"): 1} and stands(table, states) == "linked"


def test_every_violation_of_the_two_tables_has_its_rule() -> None:
    assert module.RULES["JOB in CL_INIT1"] == "001 CL_INIT1: no such row"
    table = Table(Worker(Options(), 2), EXPLAIN, "worker").start()
    for text in ("OK(0)", "JOB 1/1 #1 echo"):
        table.hear([message(text)])
    (incident,) = table.core.violations.newest()
    assert incident.reason in module.RULES
    table.order(Leave())
    table.do(Woken())
