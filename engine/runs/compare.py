"""Compares two kept runs: what changed, and how much of it is within the noise between repeats.

The rules of this file:

- Runs are repeats of one another where the same was asked for (kind, system, transport, tasks, window, rate, payload)
  of as many workers with as many slots.
- Where A and B were asked the same, a repeat belongs to whichever of the two it is nearer to in time.
- Noise is how far apart the repeats of one side lie, in percent of their median, on the noisier side.
- A change within the noise is none, as long as the noise is small (``CALM``). Where runs differ by more than that, or
  were not repeated, nobody can tell a change from noise: it is ``unknown``.
- A change for the worse beyond the noise is a regression if it is beyond the bound as well.
- A change is judged as it is shown, to a tenth of a percent: what reads 0.0 % is none.
- A run that failed after one that passed is a regression whatever its figures are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple

from engine.runs.charts import CELLS, extent, histogram
from engine.runs.record import RunRecord, duration, run_id
from engine.schema import Range

NEAREST = 10  # repeats of a run that are looked at, its own included
CALM = 10.0  # percent of noise up to which a change within it is none
BOUND = Annotated[float, Range(0, 10_000, "percent")]
LATENCIES = ("p50", "p95", "p99", "p999")

Spec = tuple[Any, ...]


Judgement = Literal["better", "same", "worse", "regression", "unknown"]


class Delta(NamedTuple):
    """One figure of both runs: ``rate`` in tasks a second, the others in µs."""

    figure: str  # rate, service p50 … planned p999
    a: float
    b: float
    change: float | None  # percent of A; None where A has none
    noise: float | None  # percent; None without repeats
    verdict: Judgement


class Comparison(NamedTuple):
    """A line a figure, and what else there is to say."""

    names: tuple[str, str]  # of A and B: the ids under which they are kept
    rows: tuple[Delta, ...]
    repeats: tuple[int, int]  # of A and of B, themselves included
    remarks: tuple[str, ...]
    regression: bool
    shapes: tuple[str, ...] = ()  # both histograms of service time on one axis


def compare(a: RunRecord, b: RunRecord, kept: Iterable[RunRecord], bound: float | None = None) -> Comparison:
    """B against A. ``kept``: where repeats are looked for. ``bound``: percent; None: nothing is a regression."""
    ours, theirs = repeats(a, b, kept)
    rows = tuple(_delta(name, path, (a, b), (ours, theirs), bound) for name, path in _figures(a, b))
    remarks = [f"not the same run: {what} {_known(x)} and {_known(y)}" for what, x, y in _differences(a, b)]
    broken = a["verdict"] == "pass" and b["verdict"] == "fail"
    if broken:
        remarks.append("the second run failed, the first had passed")
    regression = bound is not None and (broken or any(row.verdict == "regression" for row in rows))
    return Comparison((run_id(a), run_id(b)), rows, (len(ours), len(theirs)), tuple(remarks), regression, _shapes(a, b))


def spec_of(run: RunRecord) -> Spec:
    """What a run was asked for; runs with equal values are repeats."""
    return tuple(value for _, value in _asked(run))


def newest_like(run: RunRecord, kept: Sequence[RunRecord]) -> RunRecord | None:
    """The newest of the kept runs that is a repeat of this one and older, None where there is none."""
    older = [k for k in kept if spec_of(k) == spec_of(run) and _began(k) < _began(run)]
    return max(older, key=_began, default=None)


def repeats(a: RunRecord, b: RunRecord, kept: Iterable[RunRecord]) -> tuple[list[RunRecord], list[RunRecord]]:
    """The repeats of either run that passed, itself first, then the nearest in time."""
    sides: tuple[list[RunRecord], list[RunRecord]] = ([], [])
    for run in kept:
        away = [abs(_began(run) - _began(of)) for of in (a, b)]
        like = [spec_of(run) == spec_of(of) for of in (a, b)]
        if 0.0 in away or run["verdict"] != "pass" or not any(like):
            continue
        sides[like[1] and (not like[0] or away[1] < away[0])].append(run)
    for side, of in zip(sides, (a, b), strict=True):
        at = _began(of)
        side[:] = [of, *sorted(side, key=lambda run, at=at: abs(_began(run) - at))][:NEAREST]  # type: ignore[misc]
    return sides


def lines(found: Comparison, bound: float | None = None) -> list[str]:
    """In plain text: which runs they are, a line that is blank, the table with its head, then the remarks."""
    cells = [("", "A", "B", "change", "noise", "")]
    cells += [
        (d.figure, _shown(d, d.a), _shown(d, d.b), _percent(d.change), _noise(d.noise), d.verdict) for d in found.rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    text = [
        "  ".join(
            [figure.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:-1], strict=True)), verdict]
        ).rstrip()
        for figure, *rest, verdict in cells
    ]
    a, b = found.repeats
    known = (
        f"noise from {a} {'run' if a == 1 else 'runs'} like A and {b} like B"
        if max(a, b) > 1
        else "noise unknown: neither run was repeated, so no change is judged"
    )
    text.append(
        known if bound is None else f"{known}; a regression is more than {bound:g} % worse and more than the noise"
    )
    return [*(f"{side}  {name}" for side, name in zip("AB", found.names, strict=True)), "", *text, *found.remarks]


def _shapes(a: RunRecord, b: RunRecord) -> tuple[str, ...]:
    sides = [run["service_us"]["buckets"] for run in (a, b)]
    ends = extent(*sides)
    if ends is None or not all(sides):
        return ()
    rows = [f"{side}  {histogram(buckets, ends, CELLS)}".rstrip() for side, buckets in zip("AB", sides, strict=True)]
    axis = f"   {duration(ends[0])}{duration(ends[1]).rjust(CELLS - len(duration(ends[0])))}"
    return ("service time, each on its own scale", *rows, axis)


def _figures(a: RunRecord, b: RunRecord) -> list[tuple[str, tuple[str, ...]]]:
    """Names and places of the figures that at least one of the runs has."""
    found: list[tuple[str, tuple[str, ...]]] = [("rate", ("rate_per_s",))]
    for word, key in (("service", "service_us"), ("planned", "planned_us")):
        places = [(f"{word} {name}", (key, name)) for name in LATENCIES]
        found += [(name, path) for name, path in places if _figure(a, path) or _figure(b, path)]
    return found


def _delta(
    name: str,
    path: tuple[str, ...],
    runs: tuple[RunRecord, RunRecord],
    sides: tuple[list[RunRecord], list[RunRecord]],
    bound: float | None,
) -> Delta:
    a, b = (_figure(run, path) for run in runs)
    spreads = [_spread([_figure(run, path) for run in side]) for side in sides if len(side) > 1]
    noise = max(spreads, default=None)
    change = round((b - a) / a * 100, 1) + 0.0 if a else None  # -0.0 + 0.0 is 0.0
    if change is None and b:
        return Delta(name, a, b, None, noise, "unknown")
    return Delta(name, a, b, change, noise, _judged(name, change, noise, bound))


def _judged(name: str, change: float | None, noise: float | None, bound: float | None) -> Judgement:
    if not change:
        return "same"
    if noise is None:
        return "unknown"
    if abs(change) <= noise:
        return "same" if noise <= CALM else "unknown"
    worse = -change if name == "rate" else change
    if worse < 0:
        return "better"
    return "regression" if bound is not None and worse > bound else "worse"


def _figure(run: RunRecord, path: tuple[str, ...]) -> float:
    """A figure; 0 where the run has none."""
    value: Any = run
    for key in path:
        value = value[key] if value is not None else None
    return float(value or 0.0)


def _spread(values: list[float]) -> float:
    middle = median(values)
    return (max(values) - min(values)) / middle * 100 if middle else 0.0


def _asked(run: RunRecord) -> list[tuple[str, Any]]:
    """What was asked for and of how many, with a word for each."""
    payload = run["bytes"] // max(1, run["succeeded"])
    return [
        ("kind", run["kind"]),
        ("system", run["system"]),
        ("transport", run["transport"]),
        ("tasks", run["requested"]),
        ("window", run["in_flight"]),
        ("rate", run["rate_asked"]),
        ("payload", payload),
        ("workers", run["workers"]),
        ("slots", run["slots"]),
    ]


def _differences(a: RunRecord, b: RunRecord) -> list[tuple[str, Any, Any]]:
    pairs = zip(_asked(a), _asked(b), strict=True)
    return [(what, x, y) for (what, x), (_, y) in pairs if x != y]


def _began(run: RunRecord) -> float:
    return datetime.fromisoformat(run["started_at"]).timestamp()


def _shown(delta: Delta, value: float) -> str:
    if not value:
        return "–"
    return f"{value:,.0f} /s" if delta.figure == "rate" else duration(value)


def _known(value: object) -> str:
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f} %"


def _noise(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f} %"
