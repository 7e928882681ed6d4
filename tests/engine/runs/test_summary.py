"""A run record in words."""

from __future__ import annotations

from engine.runs.summary import summary
from tests.helpers.runs import a_run


def test_the_summary_of_a_good_run() -> None:
    assert summary(a_run(4)) == (
        "type           # total   # success\n"
        "ping                 4           4\n"
        "\n"
        "rate      1,000 /s, 0.004 s\n"
        "service   p50 1.00 ms  p90 1.00 ms  p99 1.00 ms  p99.9 1.00 ms  max 1.00 ms\n"
        "timeout   5 s for each task\n"
        "ledger    4 sent = 4 succeeded + 0 failed + 0 in flight + 0 queued + 0 dropped\n"
        "verdict   PASS\n"
    )


def test_the_summary_of_everything_else() -> None:
    run = a_run(1)
    of = run["service_us"]
    run["planned_us"] = {**of, "p50": 12.3, "p90": 12_345.0, "p99": 1_234_567.0}
    run["legs_us"] = {"client": of, "backlog": of, "worker": of, "return": of}
    run["rate_missed"] = {"asked": 20_000.0, "reached": 9000.0}
    run["succeeded"], run["warmup"] = 10_000, 1_000
    run["observer"] = {"loop_lag_us": 1500.0, "refresh_hz": 3.96}
    run["failed"] = {"timeout": 2, "wrong data": 1}
    run["first_failed"] = {"timeout": (0, 7), "wrong data": ()}
    run["ledger"]["balanced"] = False
    run["verdict"] = "fail"
    assert summary(run).splitlines()[4:] == [
        "missed    20,000 /s were asked for: 9,000 /s sent, 55.0 % less",
        "service   p50 1.00 ms  p90 1.00 ms  p99 1.00 ms  p99.9 1.00 ms  max 1.00 ms",
        "planned   p50 12 µs  p90 12.35 ms  p99 1.23 s  p99.9 1.00 ms  max 1.00 ms",
        "counted   9,000 of 10,000 tasks; the first 1,000 are warm-up and in no figure but max",
        "legs p50  client 1.00 ms  backlog 1.00 ms  worker 1.00 ms  return 1.00 ms",
        "observer  loops late by 1.50 ms at most, screen drawn 4.0 times a second",
        "timeout   5 s for each task",
        "failed    timeout 2 (task 1, 8), wrong data 1",
        "ledger    1 sent ≠ 1 succeeded + 0 failed + 0 in flight + 0 queued + 0 dropped",
        "verdict   FAIL",
    ]


def test_numbers_are_written_with_separators_and_one_is_not_several() -> None:
    run = a_run(10_000)
    run["warmup"], run["failed"], run["requested"] = 1, {"timeout": 1200}, 20_000
    run["first_failed"] = {"timeout": (3,)}
    assert summary(run).splitlines()[1:4] == [
        "ping            10,000      10,000",
        "",
        "stopped   20,000 were asked for",
    ]
    assert "counted   9,999 of 10,000 tasks; the first one is warm-up and in no figure but max" in summary(run)
    assert "failed    timeout 1,200 (task 4, …)\n" in summary(run)
    assert "ledger    10,000 sent = 10,000 succeeded + 0 failed" in summary(run)


def test_the_tail_is_told_with_its_counts_and_drawn() -> None:
    run = a_run(1)
    run["service_us"]["buckets"] = ((100.0, 980), (1_000.0, 15), (10_000.0, 5))
    rows = summary(run).splitlines()[4:10]
    assert rows[1].split() == ["slower", "500", "100", "10", "1", "0", "of", "1,000", "tasks"]
    assert [row.strip() for row in rows[2:5]] == ["█"] * 3 and len({row.index("█") for row in rows[2:6]}) == 1
    assert rows[5].split()[:2] == ["100", "µs"] and rows[5].endswith("10.00 ms, tasks by time")
    assert [cell for cell in rows[5] if cell in "▁█"] == ["█", "▁", "▁"]


def test_the_rate_is_drawn_with_its_stall() -> None:
    run = a_run(1)
    run["elapsed_s"] = 3.0
    run["timeline"] = (
        {"second": 0.0, "succeeded": 10, "failed": 0, "p99": 5.0},
        {"second": 1.0, "succeeded": 0, "failed": 2, "p99": None},
        {"second": 2.0, "succeeded": 5, "failed": 0, "p99": 5.0},
    )
    assert "          0 s █×▄ 3 s, successes over time; × nothing succeeded\n" in summary(run)


def test_the_offset_of_a_clock_elsewhere_is_told_with_its_error_or_why_there_are_no_legs() -> None:
    run = a_run(1)
    run["clock"] = {"same": False, "offset": 12_300.0, "error": 340.0}
    assert "clock     offset +12.3 ms ± 0.4 ms: " in summary(run)
    run["clock"] = {"same": False, "offset": -5_000_000_000.0, "error": 1.0}
    assert "clock     offset -5,000.0000 s ± 0.1 ms: " in summary(run)
    run["clock"] = {"same": True, "offset": 0.0, "error": 0.0}
    assert "clock     offset 0: client and broker read the same clock\n" in summary(run)
    run["clock"], run["legs_missing"] = None, "why"
    assert "legs      left out: why\n" in summary(run)
