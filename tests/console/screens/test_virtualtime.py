"""Lines about a step, about promises, and the question before a fault."""

from __future__ import annotations

from console.screens.virtualtime import fault_question, promise_lines, step_lines
from console.widgets.ink import Parts
from engine.faults.watch import Plan, Watch
from engine.labs.queuesandbox import QueueSandbox
from engine.parts.explain import Decoded, Direction
from engine.parts.promise import Promise
from engine.tracing.links import Entry


def words(lines: list[Parts]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def entry(direction: Direction, command: str, rule: str = "", violation: str = "", text: str = "") -> Entry:
    fields = (("text", text),) if text else ()
    return Entry(
        1, 0, 1.0, "n", "w1", "worker", direction, "broker", "broker", command, fields, 0, rule, violation, None,
        Decoded(command), [], "", b"", None,
    )  # fmt: skip


def test_a_step_is_told_with_its_rules_and_what_broke_them() -> None:
    entries = [
        entry("in", "READY", "002 READY"),
        entry("out", "job", violation="too long"),
        entry("refused", "job"),
        entry("note", "info", text="joined"),
    ]
    assert words(step_lines(entries, 60)) == [
        "▶ w1 takes READY from broker",
        "    rule 002 READY",
        "◀ w1 sends job to broker",
        "    × too long",
        "◀ w1 can not send job to broker",
        "· w1: joined",
    ]
    assert step_lines([], 60) == []


def test_promises_before_and_after() -> None:
    with QueueSandbox() as sandbox:
        kept = Promise("it is so", 1.0, lambda before, now: True)
        lost = Promise("it is not so", 0.1, lambda before, now: False)
        later = Promise("it will be", 9.0, lambda before, now: now.at > 5.0)
        plan = Plan("nap 3", "somebody naps", (kept, lost, later), lambda: None)
        question = fault_question(plan)
        assert question.question == "somebody naps."
        assert question._lines == [
            "The protocol promises:", "○ it is so", "○ it is not so", "○ it will be",
        ]  # fmt: skip
        watch = Watch(sandbox, plan)
        watch.begin()
        sandbox.advance(1.0)
        assert words(promise_lines(watch, 60)) == [
            "nap 3  1.000 s ago",
            " ✓  0.05s it is so",
            " ×  0.10s it is not so",
            " ○       it will be · until 9 s",
        ]
