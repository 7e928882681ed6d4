"""The arguments of jobs."""

from __future__ import annotations

from pathlib import Path

from console.cli.arguments import Asked, read_arguments
from console.cli.streams import STDOUT


def asked(line: str) -> Asked:
    return read_arguments(line.split())


def test_jobs() -> None:
    job = asked("submit --connect tcp://h:1 --name n --tasks 5 --dir d --logs l --processors 2 --wait -- x --wait -- 3")
    options = job.options
    assert (job.command, job.flags) == ("submit", [])
    assert (options.connect, options.name, options.tasks, options.processors) == ("tcp://h:1", "n", 5, 2)
    assert (options.dir, options.logs, options.wait, options.file) == ("d", "l", True, None)
    assert options.words == ["x", "--wait", "--", "3"]
    assert (asked(f"submit {__file__}").options.file, asked(f"submit {__file__}").options.words) == (Path(__file__), [])
    assert asked("jobs --connect tcp://h:1").options.order is None
    assert asked("jobs --json -").options.json == asked("jobs show 7 --failed --json").options.json == STDOUT
    shown = asked("jobs show 7 --failed --json -").options
    assert (shown.order, shown.id, shown.failed, shown.json) == ("show", 7, True, STDOUT)
    for order in ("hold", "release", "cancel"):
        options = asked(f"jobs {order} 7 --connect tcp://h:1").options
        assert (options.order, options.id, options.connect) == (order, 7, "tcp://h:1")
    assert [asked("stop 3").options.n, asked("stop --all").options.all, asked("stop --now").options.now] == [3, 1, 1]
