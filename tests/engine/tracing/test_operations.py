"""Operations of disk queues as messages: matched, filtered, followed, drawn between queues and drivers."""

from __future__ import annotations

from engine.core import Cancel, Exit, Note, Ordered, Start, Started
from engine.parts.orders import Leave
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.driver import Command, Driver, Event
from engine.protocols.diskqueue.operations import Append, Done, Entry, List, Process, Processed, Remove, Rename, Take
from engine.protocols.diskqueue.watchdog import Ended, Kill, Look, Recovered, Spawn
from engine.sim.disk import SimDisk
from engine.sim.driver import Fate, SimDriver, config
from engine.tracing.filter import parse
from engine.tracing.ladder import ladder, text
from engine.tracing.operations import Operations, document

QUEUES = ("start", "parse", "out")
TAKE = Take("/q/queue-start", "a.ready", "a.1.working")


class Told:
    """Two stages with a driver each, on one disk, everything in a trace."""

    def __init__(self, *documents: str, fates: dict[str, list[Fate]] | None = None) -> None:
        self.trace = Operations(QUEUES)
        self.disk = SimDisk(*(f"/q/queue-{queue}" for queue in QUEUES))
        for id in documents:
            self.disk.put("/q/queue-start", names.ready(id), id)
        self.disk.put("/q/queue-start", "done")
        self.fates = fates or {}
        self.drivers = [self.driver(place, str(place + 1)) for place in (0, 1)]

    def driver(self, place: int, number: str) -> SimDriver:
        src, dst = QUEUES[place : place + 2]

        def fate(id: str, attempt: int) -> Fate:
            return self.fates.get(id, ["done", "done"])[attempt - 1] if place == 0 else "done"

        driver = SimDriver(self.disk, config(f"/q/queue-{src}", f"/q/queue-{dst}", number), fate)
        name = f"{dst}.{number}"
        core, tell = driver.core, self.trace.tap

        class Tapped(Driver):
            def handle(self, event: Event, now: float) -> list[Command]:
                commands = core.handle(event, now)
                tell(name, name, now, event, commands)
                return commands

            def wake_at(self) -> float:
                return core.wake_at()

        driver.core = Tapped(driver.config)
        return driver

    def run(self) -> None:
        now = 0.0
        while any(driver.alive for driver in self.drivers):
            now += 0.25
            for driver in self.drivers:
                driver.step(now)


def test_an_operation_and_its_answer_are_one_arrow() -> None:
    trace = Operations(QUEUES)
    trace.tap("parse.1", "parse.1", 1.0, Started(), [TAKE])
    (arrow,) = trace.arrows()
    assert (arrow.state, arrow.source, arrow.target) == ("under way", "start", "parse.1")
    trace.tap("parse.1", "parse.1", 1.5, Done(TAKE), [])
    (arrow,) = trace.arrows()
    assert (arrow.state, arrow.transit, arrow.task) == ("arrived", 0.5, document("a"))
    assert [(entry.direction, entry.command) for entry in trace.entries()] == [("out", "TAKE"), ("in", "TAKE")]
    assert arrow.entry.frames == [b"Take", b"/q/queue-start", b"a.ready", b"a.1.working"]
    assert arrow.entry.node == "parse.1" and arrow.entry.rule == "003 row 1: <id>.ready becomes <id>.<N>.working"


def test_what_is_refused_what_is_lost_and_what_was_never_asked() -> None:
    trace = Operations(QUEUES)
    trace.tap("parse.1", "parse.1", 1.0, Started(), [TAKE])
    trace.tap("parse.2", "parse.2", 1.0, Started(), [TAKE._replace(new="a.2.working")])
    trace.tap("parse.2", "parse.2", 1.1, Done(TAKE._replace(new="a.2.working")), [])
    trace.tap("parse.1", "parse.1", 1.2, Done(TAKE, "gone"), [List("/q/queue-start")])
    trace.tap("parse.1", "parse.1", 1.3, Started(), [TAKE])  # died in between: nobody answers a dead driver
    trace.tap("stranger", "stranger", 1.4, Done(Rename("/q/queue-start", "b.ready", "b.mine")), [])
    shown = [(arrow.ends[0].seat, arrow.entry.command, arrow.state) for arrow in trace.arrows()]
    assert shown == [
        ("parse.1", "TAKE", "refused"),
        ("parse.2", "TAKE", "arrived"),
        ("parse.1", "LIST", "lost"),
        ("parse.1", "TAKE", "under way"),
        ("stranger", "RENAME", "heard"),
    ]
    assert trace.arrows()[0].entry.rule == "003 row 6: the loser goes on to the next"


def test_a_document_is_followed_through_all_queues() -> None:
    told = Told("a", "b", fates={"b": ["failed", "failed"]})
    told.run()
    life = told.trace.follow(document("a"))
    for seat in ("parse.1", "out.2"):  # the second takes it before the first has let go of its input
        assert [leg.what for leg in life.legs if leg.where == seat] == ["take", "write", "publish", "delete"]
    assert len(life.legs) == 8 and life.ended and life.deliveries == 2
    life = told.trace.follow(document("b"))
    twice = ["take", "write refused", "fail", "take again", "write refused", "give up", "keep"]
    assert [leg.what for leg in life.legs] == twice and life.ended and life.deliveries == 2
    told = Told("a")
    for _ in range(12):
        told.drivers[0].step(0.0)
    assert not told.trace.follow(document("a")).ended


def test_filters() -> None:
    told = Told("a", "b.x")
    told.run()
    trace = told.trace
    assert [arrow.source for arrow in trace.arrows(parse("cmd=TAKE driver=1"))] == ["start", "start"]
    assert {arrow.entry.seat for arrow in trace.arrows(parse("document=b.x cmd=PUBLISH"))} == {"parse.1", "out.2"}
    assert len(trace.entries(parse("task=b.x to=out rule=row*2 cmd=WRITE"))) == 2
    assert trace.arrows(parse("violation")) == [] and trace.arrows(parse('"a.2.writing.xml" from=out.2'))


def test_lanes_follow_the_pipeline() -> None:
    told = Told("a")
    told.run()
    told.trace.tap("feeder", "feeder", 0.0, Done(Rename("/q/queue-start", "c.tmp", "c.ready")), [])
    assert told.trace.lanes == ("feeder", "start", "parse.1", "parse", "out.2", "out", "recovery", "watchdog")
    diagram = ladder(told.trace.arrows(), order=told.trace.lanes)
    assert diagram.lanes == told.trace.lanes[:-2]  # nobody has heard of a watchdog
    lines = text(diagram, 100)
    assert any("─ TAKE a ─" in line for line in lines) and any("─ DELETE a ─" in line for line in lines)


def test_listings_are_counted_and_not_kept() -> None:
    trace = Operations(QUEUES)
    entries = tuple(Entry(f"{n}.ready", n, 1) for n in range(1000))
    trace.tap("parse.1", "parse.1", 1.0, Done(List("/q/queue-start"), entries=entries, still=True), [])
    trace.tap("parse.1", "parse.1", 1.0, Done(List("/q/queue-parse")), [])
    assert [(e.command, dict(e.fields)["says"]) for e in trace.entries()] == [
        ("LIST", "1000 names"),
        ("THROTTLE", "0 names"),
    ]
    trace.tap("parse.1", "parse.1", 2.0, Done(Take("/q/queue-start", "x.ready", "x.1.working"), "denied", "no"), [])
    assert trace.entries()[-1].direction == "refused"


def test_documents_in_work_notes_and_the_end() -> None:
    trace = Operations(QUEUES)
    work = Process("a", 1, "/q/queue-start/a.1.working", "/q/queue-parse/a.1.writing.xml")
    trace.tap("parse.1", "parse.1", 1.0, Processed("done"), [])  # of what nobody saw begin
    trace.tap("parse.1", "parse.1", 1.0, Done(TAKE), [Start("a", work)])
    trace.tap("parse.1", "parse.1", 2.0, Ordered(Leave()), [Cancel("a")])
    trace.tap("parse.1", "parse.1", 3.0, Processed("cancelled"), [Note("info", "given back", b"a"), Exit("told", True)])
    shown = [(e.direction, e.command, e.source, e.target) for e in trace.entries()]
    assert shown == [
        ("in", "TAKE", "start", "parse.1"),
        ("out", "WRITE", "parse.1", "parse"),
        ("in", "LEAVE", "watchdog", "parse.1"),
        ("note", "info", "parse.1", "parse.1"),
        ("refused", "WRITE", "parse.1", "parse"),
        ("note", "info", "parse.1", "parse.1"),
        ("note", "bad", "parse.1", "parse.1"),
    ]


def test_a_watchdog_is_told_too() -> None:
    trace = Operations(QUEUES)
    trace.tap("watchdog", "watchdog", 1.0, Started(), [Look(), Spawn("parse", "1"), Kill("1")])
    trace.tap("watchdog", "watchdog", 2.0, Ended("1", -9, True, 1, ""), [])
    trace.tap("watchdog", "watchdog", 3.0, Done(Rename("/q/queue-start", "a.1.working", "a.failed")), [])
    trace.tap("watchdog", "watchdog", 3.0, Done(Remove("/q/queue-parse", "a.1.writing.xml")), [])
    trace.tap("watchdog", "watchdog", 3.5, Recovered("parse", "1", 1), [])
    assert [(e.command, e.source, e.target) for e in trace.entries()] == [
        ("SPAWN", "watchdog", "parse.1"),
        ("KILL", "watchdog", "parse.1"),
        ("ENDED", "parse.1", "watchdog"),
        ("RECOVER", "watchdog", "start"),
        ("DROP", "watchdog", "parse"),
        ("SETTLED", "watchdog", "parse.1"),
    ]
    assert trace.follow(document("a")).legs[0].what == "recover"


def test_what_is_given_back_on_its_second_attempt_has_not_failed() -> None:
    trace = Operations(QUEUES)
    names_ = ("/q/queue-start", "a.1.working", "a.failed")
    for word in ("back", "fail"):
        record = Append("/q/queue-start", ".a.attempts", f"{word}\t2\t1\t5.0\t")
        trace.tap("parse.1", "parse.1", 1.0, Done(record), [Rename(*names_)])
        trace.tap("parse.1", "parse.1", 2.0, Done(Rename(*names_)), [])
    moves = [entry.command for entry in trace.entries() if entry.command != "RECORD"]
    assert moves == ["GIVE BACK", "GIVE BACK", "FAIL", "FAIL"]
    assert trace.entries()[1].rule == "ruling 7: nothing was wrong with it"
