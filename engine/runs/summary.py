"""A run record in words: the seed's table of results, then what else was measured."""

from __future__ import annotations

import math
from typing import cast

from engine.parts.plain import several
from engine.runs.charts import CELLS, STALLED, extent, rates, tall
from engine.runs.record import Books, Clock, Durations, Observer, RunRecord, duration

HEIGHT = 4  # lines of a histogram
FEW = 10  # latencies: of fewer than these no histogram is drawn
SHARES = (("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9), ("max", 100))


def summary(run: RunRecord) -> str:
    """The seed's table of results, then rate, latencies, ledger and verdict; a line each, newline at the end."""
    rows = [
        f"{'type':<10}{'# total':>12}{'# success':>12}",
        f"{run['kind']:<10}{run['sent']:>12,}{run['succeeded']:>12,}",
        "",
    ]
    if run["sent"] < run["requested"]:
        rows.append(f"stopped   {run['requested']:,} were asked for")
    rows.append(f"rate      {run['rate_per_s']:,.0f} /s, {run['elapsed_s']:.3f} s")
    if run["rate_missed"] is not None:
        asked, reached = run["rate_missed"]["asked"], run["rate_missed"]["reached"]
        less = (1 - reached / asked) * 100
        rows.append(f"missed    {asked:,.0f} /s were asked for: {reached:,.0f} /s sent, {less:.1f} % less")
    if len(run["timeline"]) > 1:
        rows += _seconds(run)
    if run["service_us"]["max"] > 0:
        rows += _latency("service", run["service_us"])
    if run["planned_us"] is not None:
        rows += _latency("planned", run["planned_us"])
    if run["warmup"]:
        rows.append(_counted(run["succeeded"], run["warmup"]))
    if run["legs_us"] is not None:
        legs = cast(dict[str, Durations], run["legs_us"])
        rows.append("legs p50  " + "  ".join(f"{name} {duration(of['p50'])}" for name, of in legs.items()))
    elif run["legs_missing"] is not None:
        rows.append(f"legs      left out: {run['legs_missing']}")
    if run["clock"] is not None:
        rows.append(f"clock     {_offset(run['clock'])}")
    if run["observer"] is not None:
        rows.append(f"observer  {_observed(run['observer'])}")
    if run["timeout_s"] is not None:
        rows.append(f"timeout   {run['timeout_s']:g} s for each task")
    if run["failed"]:
        rows.append("failed    " + ", ".join(f"{kind} {n:,}{_first(run, kind)}" for kind, n in run["failed"].items()))
    rows += [f"ledger    {_equation(run['ledger'])}", f"verdict   {run['verdict'].upper()}"]
    return "\n".join(rows) + "\n"


def _seconds(run: RunRecord) -> list[str]:
    drawn = rates(run["timeline"], run["elapsed_s"], CELLS)
    stalls = f"; {STALLED} nothing succeeded" if STALLED in drawn else ""
    return [f"          0 s {drawn} {run['elapsed_s']:.0f} s, successes over time{stalls}"]


def _latency(name: str, of: Durations) -> list[str]:
    """The percentiles, below them how many tasks took longer, below that the histogram."""
    total = sum(n for _, n in of["buckets"])
    cells = [f"{'p99.9' if key == 'p999' else key} {duration(cast(dict[str, float], of)[key])}" for key, _ in SHARES]
    rows = [f"{name:<10}{'  '.join(cells)}"]
    if total >= FEW:
        slower = [
            f"{total - math.ceil(total * share / 100):,}".ljust(len(cell))
            for (_, share), cell in zip(SHARES, cells, strict=True)
        ]
        ends = extent(of["buckets"]) or (0.0, 0.0)
        *above, last = tall(of["buckets"], ends, CELLS, HEIGHT)
        first = duration(ends[0])
        rows.append(f"slower    {'  '.join(slower)} of {several(total, 'task')}")
        rows += [f"          {'':{len(first)}} {drawn}".rstrip() for drawn in above]
        rows.append(f"          {first} {last} {duration(ends[1])}, tasks by time")
    return rows


def _counted(replies: int, warmup: int) -> str:
    """Of how many tasks the latencies tell."""
    first = f"{warmup:,} are" if warmup > 1 else "one is"
    rest = f"the first {first} warm-up and in no figure but max"
    return f"counted   {replies - warmup:,} of {several(replies, 'task')}; {rest}"


def _first(run: RunRecord, kind: str) -> str:
    """Which tasks of the run failed so, as far as they are noted."""
    noted = run["first_failed"].get(kind, ())
    if not noted:
        return ""
    more = ", …" if len(noted) < run["failed"][kind] else ""
    return f" (task {', '.join(str(task + 1) for task in noted)}{more})"


def _offset(of: Clock) -> str:
    """By how much the broker's clock is ahead of the client's; the error is rounded up, and covers the rounding."""
    if of["same"]:
        return "offset 0: client and broker read the same clock"
    offset, error = of["offset"], of["error"]
    ahead = f"{offset / 1e3:+,.1f} ms" if abs(offset) < 1e7 else f"{offset / 1e6:+,.4f} s"
    give = math.ceil(error / 100 + 0.5) / 10
    return f"offset {ahead} ± {give:,.1f} ms: the broker's less ours, in the legs client and return"


def _observed(of: Observer) -> str:
    lag = f"loops late by {duration(of['loop_lag_us'])} at most"
    return lag if of["refresh_hz"] is None else f"{lag}, screen drawn {of['refresh_hz']:.1f} times a second"


def _equation(of: Books) -> str:
    right = " + ".join(
        f"{of[key]:,} {words}"  # type: ignore[literal-required]
        for key, words in [
            ("succeeded", "succeeded"),
            ("failed", "failed"),
            ("in_flight", "in flight"),
            ("queued", "queued"),
            ("dropped", "dropped"),
        ]
    )
    return f"{of['sent']:,} sent {'=' if of['balanced'] else '≠'} {right}"
