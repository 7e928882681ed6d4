from __future__ import annotations

from pathlib import Path

from console.pictures.eventlog import Gap, Line
from console.pictures.rows import short_name
from console.text import label
from console.widgets.events import Names, event_line, event_lines, routine
from engine.core import Level, Note
from engine.feed import Fact
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


def fact(number: int, text: str, level: Level = "info", subject: bytes = b"") -> Fact:
    return Fact(number, 1_750_000_000.0, "broker", level, text, subject)


def name(key: bytes) -> str:
    return key.decode()


def text(parts: list[tuple[str, str]]) -> str:
    return "".join(part for part, _ in parts)[9:]


def test_glyphs_tell_the_level() -> None:
    assert [text(event_line(fact(1, "x", level), name)) for level in ("good", "info", "warn", "bad")] == [
        "+ x", "· x", "! x", "× x",
    ]  # fmt: skip


def test_the_peer_is_named_once() -> None:
    assert (
        text(event_line(fact(1, "violation: bad version", "bad", b"tern"), name)) == "× violation: bad version · tern"
    )
    assert text(event_line(fact(1, "worker tern left", "info", b"tern"), name)) == "· worker tern left"


def test_a_peer_is_called_as_everywhere_whatever_a_fact_begins_with() -> None:
    assert text(event_line(fact(1, "worker-10 left: stopped", "info", b"w3"), name)) == "· w3 left: stopped"
    assert text(event_line(fact(1, "w26 lost (silent), 2 tasks", "bad", b"w3"), name)) == "× w3 lost (silent), 2 tasks"
    assert text(event_line(fact(1, "worker-10 left", "info"), name)) == "· worker-10 left"
    assert text(event_line(fact(1, "joined beside w9 there", "info", b"w3"), name)) == "· joined beside w9 there · w3"


def test_equal_ones_after_one_another_are_one_line() -> None:
    lines: list[Line] = [fact(1, "a"), fact(2, "a"), Gap(3), fact(6, "a"), fact(7, "b"), fact(8, "b", subject=b"x")]
    assert [text(parts) for parts in event_lines(lines, name)] == [
        "· a × 2",
        "… 3 events missed",
        "· a",
        "· b",
        "· b · x",
    ]


def test_the_zone_is_in_the_title_and_hostile_words_do_nothing(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.shows("events · ")
        driver.lab.fact("\x1b]0;owned\x07 [/red][@click=app.quit]", "bad", b"\xff\x1b")
        await driver.tick()
        assert driver.shows("·]0;owned· [/red][@click=app.quit] · ff1b")

    drive(scenario, tmp_path)


def test_a_peer_gets_its_name_when_its_picture_comes(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.fact("worker-7 joined with 3 processors", "good", b"\x00w")
        await driver.tick()
        assert driver.shows("0077 joined with 3 processors")
        driver.lab.workers.append(driver.lab.workers[0]._replace(key=b"\x00w", name="tcp1"))
        await driver.tick()
        assert driver.shows("tcp1 joined with 3 processors") and not driver.shows("0077")

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False))


def test_the_newest_one_where_there_is_no_room_for_all(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for _ in range(3):
            driver.lab.fact("the newest")
        await driver.tick()
        assert "· the newest × 3" in driver.screen()[-3]

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False), size=(80, 24))


def test_what_is_alike_within_a_second_is_one_line_with_the_range_of_names() -> None:
    lines: list[Line] = [said(n, f"w{n} joined", b"w%d" % n, "broker", n / 2000) for n in range(1, 1001)]
    assert [text(parts) for parts in event_lines(lines, name)] == ["+ w1…w1000 joined × 1,000"]
    apart: list[Line] = [said(1, "w1 joined", b"w1", "broker"), said(2, "w2 joined", b"w2", "broker", 1.0)]
    assert len(event_lines(apart, name)) == 2, "a second has passed"
    mixed: list[Line] = [*lines[:2], fact(3, "w1 left", subject=b"w1"), *lines[2:4], Gap(7), lines[4]]
    assert [text(parts) for parts in event_lines(mixed, name)] == [
        "+ w1…w4 joined × 4",
        "· w1 left",
        "… 7 events missed",
        "+ w5 joined",
    ]


def test_a_name_that_was_told_stays() -> None:
    known = {b"\x01": "w3"}
    names = Names(lambda key: known.get(key) or short_name(label(key)))
    assert names(b"\x01") == "w3"
    known.clear()
    assert names(b"\x01") == "w3"
    assert names(b"\x02") == "02"
    known[b"\x02"] = "w4"
    assert names(b"\x02") == "w4"


def said(number: int, text: str, subject: bytes, source: str = "pool", at: float = 0.0) -> Fact:
    return Fact(number, 1_750_000_000.0 + at, source, "good", text, subject)


def test_what_our_workers_say_of_their_routine_is_quiet_and_one_line() -> None:
    lines: list[Line] = [
        said(1, "w1 joined", b"w1", "broker"),
        said(2, "registered", b"w1"),
        said(3, "w2 joined", b"w2", "broker"),
        said(4, "registered", b"w2", at=1.0),
        said(5, "registered", b"w3", at=9.0),
    ]
    assert [text(parts) for parts in event_lines(lines, name)] == [
        "+ w1…w2 joined × 2",
        "· registered × 2",
        "· registered · w3",
    ]
    assert not routine(lines[0]) and routine(lines[1])
    assert not routine(said(1, "x", b"")._replace(level="bad")) and not routine(Gap(1))


def test_the_newest_fact_on_one_line_is_not_the_routine(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.fact("it matters", "warn")
        driver.lab.feed.fact(Note("good", "registered", b"x"), "pool", 1_750_000_000.0)
        await driver.tick()
        assert "! it matters" in driver.screen()[-3]

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False), size=(80, 24))
