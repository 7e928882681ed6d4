"""State maps with the present state lit, and who broke which rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.pictures.bridge import Picture
from console.pictures.eventlog import Gap
from console.screens.machines import conformance_lines, map_lines
from console.sessions.sandbox import SandboxSession
from console.widgets.events import event_line
from engine.catalogue import SYSTEMS
from engine.parts.bulk import BulkSpec
from tests.helpers.protocols import User, on, running_sandbox, sandbox_session

EDGE = re.compile(r"(?=.{5} \S) *(·|[0-9.]+[kM]?|) ")  # how often it was walked, in five cells; then its event


def words(lines: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def sandbox_of(system: str, seconds: float) -> tuple[SandboxSession, Picture]:
    sandbox = sandbox_session(system)
    sandbox.lab.advance(seconds)
    return sandbox, sandbox.look(0.0)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("width", [76, 116])
def test_every_edge_of_every_map_is_shown_with_its_rule(tmp_path: Path, system: str, width: int) -> None:
    explain = SYSTEMS[system].explain
    _, picture = sandbox_of(system, 4.0)
    lines = words(map_lines(explain, picture, width))
    text = "\n".join(lines)
    for states in explain.state_maps():
        assert any(line == states.title or line.startswith(f"{states.title}  · ") for line in lines)
        for edge in states.edges:
            assert edge.rule in text, edge
        jobs = states.title == "A job at the broker"  # there is none
        assert jobs or any(f"▐ {state} " in text for state in states.states), "somebody stands somewhere"
    boxes = [line for line in lines if "│ " in line or "▐ " in line]
    assert boxes and all(len(line) <= width for line in boxes)
    edges = sum(len(states.edges) for states in explain.state_maps())
    assert sum(EDGE.match(line) is not None for line in lines) == edges


def test_the_present_state_is_lit_with_how_many_stand_in_it(tmp_path: Path) -> None:
    explain = SYSTEMS["pingpong"].explain
    sandbox, picture = sandbox_of("pingpong", 0.0)
    assert "▐ joining 3 ▌" in "\n".join(words(map_lines(explain, picture, 116)))
    sandbox.lab.advance(3.0)
    lines = map_lines(explain, sandbox.look(1.0), 116)
    assert "▐ ready 3 ▌" in "\n".join(words(lines)) and "  ● ready  3 here" in words(lines)
    assert "  ○ joining" in words(lines)


@pytest.mark.parametrize("width", [76, 116])
def test_how_often_each_edge_was_walked_stands_before_it(tmp_path: Path, width: int) -> None:
    explain = SYSTEMS["pingpong"].explain
    sandbox, _ = sandbox_of("pingpong", 0.0)
    sandbox.lab.advance(0.5)
    lines = words(map_lines(explain, sandbox.look(1.0), width))
    assert any(re.match(r" {4}3 PONG +▶ ready ", line) for line in lines)  # of three workers together
    assert any(re.match(r" {4}3 READY +▶ idle ", line) for line in lines)
    assert any(re.match(r" {4}· silence +▶ lost ", line) for line in lines)
    assert sum(line.endswith("  · on the left: how often each was walked") for line in lines) == 3
    sandbox.lab.run(BulkSpec("ping", 1200, 0, 100))
    sandbox.lab.advance(60.0)
    lines = words(map_lines(explain, sandbox.look(2.0), width))
    assert any(re.match(r"1\.20k result +▶ idle ", line) for line in lines)


def test_who_is_elsewhere_is_said_to_be(tmp_path: Path) -> None:
    _, picture = sandbox_of("pingpong", 3.0)
    nobody = picture._replace(pool=dict, client=None, brokers={})
    lines = words(map_lines(SYSTEMS["pingpong"].explain, nobody, 116))
    assert sum("none of them is in this process" in line for line in lines) == 3
    assert "▐" not in "\n".join(lines)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("width", [76, 116])
def test_a_stranger_that_says_nonsense_is_listed_with_the_rule(tmp_path: Path, system: str, width: int) -> None:
    explain = SYSTEMS[system].explain
    sandbox, picture = sandbox_of(system, 4.0)
    assert words(conformance_lines(explain, picture, width)) == ["✓ everybody has kept to the protocol"]
    sandbox.inject(sandbox.plan("garbage"))
    sandbox.lab.advance(3.0)
    picture = sandbox.look(1.0)
    text = "\n".join(words(conformance_lines(explain, picture, width)))
    assert picture.broker is not None
    for incident in picture.broker.incidents:
        assert f"{incident.times:>8}" in text
    assert "rogue-1" in text and "times, " in text
    assert all(ink in ("label", "text") for line in conformance_lines(explain, picture, width)[2:3] for _, ink in line)


@pytest.mark.parametrize(
    ("system", "fault", "peer"), [("roundrobin", "overcredit", "rogue-1"), ("negotiated", "wall w1", "w1")]
)
def test_whoever_is_blamed_has_the_name_that_table_promises_and_facts_use(
    tmp_path: Path, system: str, fault: str, peer: str
) -> None:
    """A broker may call it something else, and know nothing of it any more."""
    sandbox, _ = sandbox_of(system, 4.0)
    plan = sandbox.plan(fault)
    assert peer in plan.does
    sandbox.inject(plan)
    sandbox.lab.advance(1.5)
    picture = sandbox.look(1.0)
    blamed = words(conformance_lines(SYSTEMS[system].explain, picture, 116))[3:]
    assert [line for line in blamed if " all peers " not in line and peer not in line and line[16:17] != " "] == []
    assert any(line[17:].startswith(f"{peer} ") for line in blamed)
    joined = [event_line(line, picture.name) for line in picture.events if not isinstance(line, Gap)]
    assert any(f" {peer} joined" in line for line in words(joined))


def test_without_a_broker_there_are_no_books(tmp_path: Path) -> None:
    _, picture = sandbox_of("pingpong", 1.0)
    lines = conformance_lines(SYSTEMS["pingpong"].explain, picture._replace(brokers={}), 116)
    assert words(lines) == ["no broker in this process: its counts are elsewhere"]


def test_both_are_two_keys_away_and_live(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("M")
        assert user.shows("state maps · pingpong") and user.shows("▐ ready 2 ▌")
        user.lab.kill("worker-1")
        user.lab.advance(0.1)
        await user.pass_time(0.25)
        assert user.shows("▐ ready 1 ▌")
        await user.press("C")
        assert user.shows("conformance · pingpong") and user.shows("everybody has kept to the protocol")
        await user.press("escape")
        assert user.at_main

    on(running_sandbox("pingpong"), scenario, tmp_path)
