from __future__ import annotations

import pytest

from engine.parts.inflight import Task
from engine.parts.ready import Ready
from engine.parts.suspects import Suspects


def suspect(number: int) -> Task:
    task = Task((b"c", b"%d" % number), "ping", [], 0.0)
    task.attempt = 1
    return task


def of(waiting: int, *workers: str) -> tuple[Suspects[str], Ready[str], list[Task]]:
    """Those in capitals hold something."""
    suspects, ready, tasks = Suspects[str](), Ready[str](), [suspect(number) for number in range(waiting)]
    suspects.waiting.extend(tasks)
    for worker in workers:
        ready.put(worker)
    return suspects, ready, tasks


def give(suspects: Suspects[str], ready: Ready[str]) -> list[tuple[Task, str]]:
    found = suspects.match(ready, str.islower)
    for _, worker in found:
        ready.drop(worker)
    suspects.keep(ready)
    for worker in suspects.spare():
        ready.put(worker)
    suspects.check(ready, str.islower)
    return found


def test_suspects_go_in_order_to_whoever_is_empty_least_recently_used_first() -> None:
    suspects, ready, tasks = of(2, "A", "b", "C", "d", "e")
    assert give(suspects, ready) == [(tasks[0], "b"), (tasks[1], "d")]
    assert list(ready) == ["A", "C", "e"] and not suspects.waiting and not suspects.kept


def test_the_least_recently_used_are_kept_for_the_rest() -> None:
    suspects, ready, tasks = of(3, "A", "b", "C", "D")
    assert give(suspects, ready) == [(tasks[0], "b")]
    assert list(suspects.kept) == ["A", "C"] and list(ready) == ["D"] and list(suspects.waiting) == tasks[1:]


def test_whoever_becomes_empty_later_takes_one_and_the_newest_that_was_kept_is_spared() -> None:
    suspects, ready, tasks = of(2, "A", "B", "C")
    assert give(suspects, ready) == [] and list(ready) == ["C"]
    ready.put("d")
    assert give(suspects, ready) == [(tasks[0], "d")]
    assert list(suspects.kept) == ["A"] and list(ready) == ["C", "B"]


def test_where_nobody_is_ready_nobody_is_kept() -> None:
    suspects, ready, _ = of(1)
    assert give(suspects, ready) == [] and not suspects.kept


@pytest.mark.parametrize(
    ("waiting", "kept", "ready", "wrong"),
    [
        (0, ["A"], [], "kept for nobody"),
        (1, ["a"], [], "an empty worker that is kept"),
        (2, ["A"], ["B"], "no worker kept"),
        (1, ["A"], ["A"], "kept is ready"),
        (1, ["A"], ["b"], "beside an empty worker"),
    ],
)
def test_what_is_wrong_is_seen(waiting: int, kept: list[str], ready: list[str], wrong: str) -> None:
    suspects, order, _ = of(waiting, *ready)
    suspects.kept |= dict.fromkeys(kept)
    with pytest.raises(AssertionError, match=wrong):
        suspects.check(order, str.islower)


def test_what_was_never_tried_is_no_suspect() -> None:
    suspects, ready, (task,) = of(1)
    task.attempt = 0
    with pytest.raises(AssertionError, match="never tried"):
        suspects.check(ready, str.islower)
