"""Runs compared: changes, noise from repeats, regressions beyond a bound."""

from __future__ import annotations

import pytest

from engine.runs.charts import CELLS
from engine.runs.compare import CALM, NEAREST, compare, lines, newest_like, repeats
from engine.runs.export import FIGURES
from engine.runs.record import RunRecord, run_id
from tests.helpers.runs import a_run


def run(seconds: float, rate: float = 1000.0, latency: float = 100.0, n: int = 5) -> RunRecord:
    """A run of which the rate and every percentile is given."""
    made = a_run(n, seconds=seconds)
    made["rate_per_s"] = rate
    for key in FIGURES:
        made["service_us"][key] = latency  # type: ignore[literal-required]
    return made


def verdicts(a: RunRecord, b: RunRecord, kept: list[RunRecord], bound: float | None = None) -> dict[str, str]:
    return {row.figure: row.verdict for row in compare(a, b, kept, bound).rows}


def test_a_run_and_itself() -> None:
    found = compare(run(0), run(0), [run(0)], 0.0)
    assert [row.figure for row in found.rows] == ["rate", *(f"service p{p}" for p in (50, 95, 99, 999))]
    assert {(row.change, row.noise, row.verdict) for row in found.rows} == {(0.0, None, "same")}
    assert (found.repeats, found.remarks, found.regression) == ((1, 1), (), False)


def test_without_repeats_no_change_is_judged_and_none_fails_the_bound() -> None:
    a, b = run(0), run(1, rate=205.0, latency=101.0)
    assert set(verdicts(a, b, [a, b], 5.0).values()) == {"unknown"}
    assert not compare(a, b, [a, b], 5.0).regression
    rate, *latencies = compare(a, b, [a, b]).rows
    assert rate.change == -79.5 and rate.noise is None
    assert [row.change for row in latencies] == [1.0] * 4


def test_where_the_noise_is_great_a_change_within_it_is_unknown() -> None:
    a, b = run(0), run(100, rate=205.0)
    kept = [a, run(1, rate=1.0 + CALM * 200), run(2), b]
    rate = compare(a, b, kept, 5.0).rows[0]
    assert (rate.change, rate.verdict) == (-79.5, "unknown") and rate.noise == pytest.approx(100.1)


def test_what_reads_zero_is_no_change() -> None:
    a, b = run(0), run(100, rate=999.6)
    rate = compare(a, b, [a, run(1), b], 0.0).rows[0]
    assert (rate.change, str(rate.change), rate.noise, rate.verdict) == (0.0, "0.0", 0.0, "same")


def test_a_regression_is_worse_than_the_bound() -> None:
    a, b = run(0), run(100, rate=900.0, latency=109.0)
    kept = [run(1), run(99, rate=900.0, latency=109.0)]
    found = compare(a, b, kept, 9.5)
    assert [row.verdict for row in found.rows] == ["regression", "worse", "worse", "worse", "worse"]
    assert found.regression
    assert not compare(a, b, kept, 10.0).regression  # exactly the bound is not beyond it
    assert not compare(b, a, kept, 0.0).regression  # and faster never is


def test_a_change_within_the_noise_is_none() -> None:
    a = run(0)
    b = run(100, rate=900.0)
    kept = [a, run(1, rate=1040.0), run(2, rate=950.0), b]
    rate = compare(a, run(100, rate=930.0), kept, 5.0).rows[0]
    assert rate.noise == pytest.approx(9.0)  # 950 .. 1040 around 1000
    assert rate.verdict == "same" and not compare(a, run(100, rate=930.0), kept, 5.0).regression
    assert compare(a, run(100, rate=840.0), kept, 5.0).regression


def test_the_noisier_side_counts() -> None:
    a, b = run(0), run(100)
    kept = [run(1, rate=1010.0), run(99, rate=1200.0), run(101, rate=800.0)]
    found = compare(a, b, kept)
    assert found.repeats == (2, 3) and found.rows[0].noise == pytest.approx(40.0)


def test_a_repeat_is_the_same_run_that_passed_nearest_in_time() -> None:
    a, b = run(0), run(100)
    failed, other = run(2), run(3, n=6)
    failed["verdict"] = "fail"
    ours, theirs = repeats(a, b, [run(60), run(40), failed, other, a, b, run(-5)])
    assert ours == [a, run(-5), run(40)] and theirs == [b, run(60)]
    many = repeats(a, b, [run(-i) for i in range(1, 30)])[0]
    assert len(many) == NEAREST and many[-1] == run(1 - NEAREST)


def test_runs_of_two_kinds_have_repeats_of_their_own_and_a_remark() -> None:
    a, b = run(0), run(1, n=6)
    found = compare(a, b, [run(2), run(0.5, n=6), run(-1)])
    assert found.repeats == (3, 2)
    assert found.remarks == ("not the same run: tasks 5 and 6",)


def test_runs_with_another_crew_are_no_repeats() -> None:
    a, b, fewer, wider = (run(second) for second in range(4))
    for made, workers, slots in ((a, 10, 100), (b, 10, 100), (fewer, 2, 100), (wider, 10, 20)):
        made["workers"], made["slots"] = workers, slots
    found = compare(a, b, [a, b, fewer, wider, run(4)])  # of the last one nothing is known
    assert (found.repeats, found.remarks) == ((1, 1), ())
    assert compare(a, fewer, []).remarks == ("not the same run: workers 10 and 2",)
    assert compare(run(4), b, []).remarks == (
        "not the same run: workers unknown and 10",
        "not the same run: slots unknown and 100",
    )
    assert newest_like(run(9), [a, run(4)]) == run(4)


def test_a_latency_is_written_as_in_the_summary_of_its_run() -> None:
    line = lines(compare(run(0, latency=2785.0), run(1, latency=1_200_000.0), []))[5]
    assert line.split()[:6] == ["service", "p50", "2.79", "ms", "1.20", "s"]


def test_a_run_that_fails_after_one_that_passed() -> None:
    a, b = run(0), run(1)
    b["verdict"] = "fail"
    assert compare(a, b, [], 50.0).regression and not compare(a, b, []).regression
    assert compare(a, b, []).remarks == ("the second run failed, the first had passed",)
    assert not compare(b, a, [], 50.0).regression


def test_planned_latency_beside_service_time_and_figures_that_one_run_lacks() -> None:
    a, b = run(0), run(1)
    b["planned_us"], b["rate_asked"] = b["service_us"], 10.0
    found = compare(a, b, [], 1.0)
    assert [row.figure for row in found.rows][5:] == [f"planned p{p}" for p in (50, 95, 99, 999)]
    assert {(row.a, row.change, row.verdict) for row in found.rows[5:]} == {(0.0, None, "unknown")}
    untracked = run(2, latency=0.0)
    assert [row.figure for row in compare(untracked, untracked, []).rows] == ["rate"]


def test_the_newest_older_repeat() -> None:
    kept = [run(0), run(5), run(7, n=6), run(20)]
    assert newest_like(run(10), kept) == run(5)
    assert newest_like(run(0), kept) is None


def test_in_words() -> None:
    a, b = run(0), run(100, rate=1500.0, latency=130.0)
    assert lines(compare(a, b, [run(1, rate=1010.0)], 20.0), 20.0) == [
        f"A  {run_id(a)}",
        f"B  {run_id(b)}",
        "",
        "                     A         B   change  noise",
        "rate          1,000 /s  1,500 /s  +50.0 %  1.0 %  better",
        "service p50     100 µs    130 µs  +30.0 %  0.0 %  regression",
        "service p95     100 µs    130 µs  +30.0 %  0.0 %  regression",
        "service p99     100 µs    130 µs  +30.0 %  0.0 %  regression",
        "service p999    100 µs    130 µs  +30.0 %  0.0 %  regression",
        "noise from 2 runs like A and 1 like B; a regression is more than 20 % worse and more than the noise",
    ]
    b["planned_us"] = None
    assert lines(compare(a, b, [run(99)]))[-1] == "noise from 1 run like A and 2 like B"
    assert lines(compare(a, b, []))[-1] == "noise unknown: neither run was repeated, so no change is judged"


def test_both_histograms_stand_on_one_axis() -> None:
    a, b = run(0), run(1)
    a["service_us"]["buckets"], b["service_us"]["buckets"] = ((100.0, 5),), ((100.0, 1), (10_000.0, 2))
    title, one, two, axis = compare(a, b, []).shapes
    assert (title, one) == ("service time, each on its own scale", "A  █")
    assert two == "B  ▄".ljust(CELLS + 2) + "█"
    assert axis.split() == ["100", "µs", "10.00", "ms"] and len(axis) == len(two)
    b["service_us"]["buckets"] = ()
    assert compare(a, b, []).shapes == ()
