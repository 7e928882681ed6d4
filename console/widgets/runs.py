"""The current or last bulk run, above the kept ones."""

from __future__ import annotations

import math
from itertools import islice

from textual.strip import Strip

from console import units
from console.pictures.bridge import Picture, Run
from console.pictures.rows import failed_of, failures, figure
from console.text import clean, fit
from console.widgets.ink import LEFT_EIGHTHS, Panel, Parts, cut, first_that_fits, spread, values
from engine.parts.bulk import BulkView

BADGES = {
    "pass": (" PASS ", "good bold reverse"),
    "fail": (" FAIL ", "bad bold reverse"),
    "stopped": (" STOPPED ", "warn bold reverse"),
}
MARKS = {"pass": ("✓ ", "good bold"), "fail": ("× ", "bad bold"), "stopped": ("■ ", "warn bold")}


def bar(done: float, failed: float, width: int, ink: str) -> Parts:
    """A solid bar on a thin line, the failed part at its end, the percentage at its right; shares from 0 to 1."""
    room = width - 6
    eighths = round(min(1.0, max(0.0, done)) * room * 8)
    bad = min(eighths // 8, math.ceil(failed * room))
    full, rest = divmod(eighths - bad * 8, 8)
    solid = "█" * full + (LEFT_EIGHTHS[rest] if rest and not bad else "")
    line = "─" * (room - len(solid) - bad)
    return [(solid, ink), ("█" * bad, "bad"), (line, "faint"), (f" {int(done * 100):>4}%", "text bold")]


def title_of(run: BulkView) -> Parts:
    """What is run: kind, number, size."""
    spec = run.spec
    kind = ("bulk" if spec.n > 1 else "") + spec.kind
    size = f" × {units.size(spec.size)}" if spec.size else ""
    return [(kind, "accent bold"), (f" {units.count(spec.n)}", "text"), (size, "label")]


def badge(verdict: object) -> Parts:
    """A verdict in its colour; what is none of ours is no pass."""
    return [BADGES.get(str(verdict), BADGES["fail"])]


def mark(verdict: object) -> tuple[str, str]:
    """The same in one sign and a blank."""
    return MARKS.get(str(verdict), MARKS["fail"])


def verdict_of(run: BulkView) -> Parts:
    """How it stands."""
    if run.state == "ended":
        return badge(run.verdict)
    return [("▶ running", "busy bold")] if run.state == "running" else [("■ stopping", "warn bold")]


def run_lines(run: BulkView, width: int) -> list[Parts]:
    """A run in four lines, in five if some of it failed: how its client saw them fail."""
    ledger = run.ledger
    failed = failures(ledger)
    done = ledger.succeeded + failed
    rate = done / run.elapsed if run.elapsed > 0 else 0.0
    ink = "good" if run.passed else "busy"
    counts = values(
        [
            ("ok", units.count(ledger.succeeded), "good bold"),
            ("fail", units.count(failed), "bad bold" if failed else "text"),
            ("in flight", units.count(ledger.in_flight), "text"),
        ]
    )
    times = [("rate", f"{units.short(rate)}/s", "text"), ("time", units.took(run.elapsed), "text")]
    if run.state == "ended":
        times.append(("p99", units.duration(run.service.p99), "text"))
    else:
        times.append(("eta", units.clock((run.spec.n - done) / rate) if rate else "–", "text"))
    kinds = ", ".join(f"{clean(kind)} {units.count(n)}" for kind, n in ledger.failed)
    return [
        spread(title_of(run), verdict_of(run), width),
        bar(done / run.spec.n, failed / run.spec.n, width, ink),
        counts,
        *([cut([(f"client's failures: {kinds}", "bad")], width)] if failed else []),
        values(times),
    ]


def summary_of(run: BulkView) -> str:
    """The lines that stay on the terminal when the screen is gone."""
    ledger, service = run.ledger, run.service
    kinds = ", ".join(f"{clean(kind)} {units.count(n)}" for kind, n in ledger.failed) or "none"
    verdict = run.verdict.upper() if run.state == "ended" else "not finished"
    latencies = (("p50", service.p50), ("p95", service.p95), ("p99", service.p99)) if service.max > 0 else ()
    figures = "".join(f", {name} {units.duration(us)}" for name, us in latencies)
    return (
        f"{''.join(text for text, _ in title_of(run))}: {verdict}\n"
        f"  {units.count(ledger.succeeded)} of {units.count(run.spec.n)} succeeded, failed: {kinds}\n"
        f"  {units.took(run.elapsed)}{figures}, timeout {run.spec.timeout:g} s"
    )


def kept_line(run: Run, width: int) -> Parts:
    """A kept run on one line: verdict, kind, number, rate, p99."""
    n = int(figure(run, "requested"))
    kind = ("bulk" if n != 1 else "") + clean(str(run.get("kind", "?")))
    left: Parts = [mark(run.get("verdict")), (fit(kind, 8), "text"), (fit(units.short(n), 6, right=True), "text")]
    rate: Parts = [(fit(f"{units.short(figure(run, 'rate_per_s'))}/s", 7, right=True), "label")]
    if failed := failed_of(run):
        end: Parts = [(" fail", "label"), (fit(units.short(failed), 5, right=True), "bad bold")]
    else:
        p99 = units.latency(figure(run, "service_us", "p99"))
        end = [(" p99", "label"), (fit(p99, 6, right=True), "text")]
    return first_that_fits([spread(left, [*rate, *end], width), spread(left, end, width), left], width)


class Runs(Panel):
    """The panel."""

    BORDER_TITLE = "bulk runs"

    _picture: Picture | None

    def draw(self, width: int, height: int) -> list[Strip]:
        """The run, a rule, the newest kept ones."""
        picture = self._picture
        if picture is None or width < 12:
            return []
        inner = width - 2
        lines = run_lines(picture.run, inner) if picture.run else [[("no run yet", "label")]]
        kept = [kept_line(run, inner) for run in islice(reversed(picture.runs), height)]
        if kept and height > len(lines) + 1:
            lines += [[("╌" * inner, "frame")], *kept]
        return [self.line([(" ", "text"), *parts], width) for parts in lines[:height]]
