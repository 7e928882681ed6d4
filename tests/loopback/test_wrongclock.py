"""A wall clock that was wrong when broker and worker started and is corrected later, in processes of their own."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.processes import Processes, free_endpoint, until

SYSTEM = ("--system", "negotiated")


def test_a_clock_that_is_corrected_keeps_no_newcomer_out_and_the_blame_is_on_it(tmp_path: Path) -> None:
    wrong, endpoint = tmp_path / "wrong", free_endpoint()
    wrong.touch()
    quick = {"ROUNDHOUSE_NEGOTIATED_HEARTBEAT": "0.2"}
    with Processes(tmp_path, module="tests.loopback.wrongclock_program", WRONG_CLOCK=str(wrong), **quick) as processes:
        right = {"WRONG_CLOCK": str(tmp_path / "none")}
        join = ("worker", *SYSTEM, "--connect", endpoint, "--count", "1")
        broker = processes.start("broker", *SYSTEM, "--bind", endpoint).ready()
        processes.start(*join).ready()
        early = processes.start(*join, **right)  # of another machine, whose clock is right
        until(
            lambda: "your wall clock is 3600 s ahead of the broker's" in early.err,
            "the peer's clock is not the broker's",
        )
        assert not early.out
        wrong.unlink()  # the clock is corrected
        until(lambda: "the wall clock of the broker jumped +3600 s" in broker.err, "the broker names its own clock")
        blamed = broker.err.count("violation")
        processes.start(*join, **right).ready()
        ping = processes.start("pingt", *SYSTEM, "--connect", endpoint, **right)
        assert ping.ended() == 0, ping.err
        early.ready()
        assert broker.err.count("violation") == blamed, "nobody else is blamed afterwards"
