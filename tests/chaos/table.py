"""The figures of chaos runs as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from tests.chaos.course import Outcome

HEAD = (
    "system",
    "fault",
    "times",
    "sent",
    "succeeded",
    "failed by kind",
    "late",
    "twice",
    "slots back",
    "balanced",
    "well after, median",
    "most",
)


def rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """One for each fault of each system, and their sum."""
    kinds = sorted({(outcome.system, outcome.fault) for outcome in outcomes})
    found = [_row(*kind, [o for o in outcomes if (o.system, o.fault) == kind]) for kind in kinds]
    return [*found, _row("all", "", outcomes)] if outcomes else []


def _row(system: str, fault: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    failed: Counter[str] = sum((o.failed for o in outcomes), Counter())
    well = [o.healing.well for o in outcomes if o.healing.well is not None]
    return (
        system,
        fault,
        str(len(outcomes)),
        f"{sum(o.sent for o in outcomes):,}",
        f"{sum(o.succeeded for o in outcomes):,}",
        ", ".join(f"{n:,} {kind}" for kind, n in sorted(failed.items())) or "0",
        str(sum(o.late for o in outcomes)),
        str(sum(o.twice for o in outcomes)),
        f"{sum(o.healing.slots is not None for o in outcomes)} of {len(outcomes)}",
        f"{sum(o.balanced for o in outcomes)} of {len(outcomes)}",
        f"{median(well):.1f} s" if well else "never",
        f"{max(well):.1f} s" if len(well) == len(outcomes) else "never",
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """In Markdown."""
    lines = [HEAD, tuple("---" for _ in HEAD), *rows(outcomes)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def line(outcome: Outcome) -> str:
    """One outcome while it goes on."""
    h = outcome.healing
    found = {"workers": h.workers, "slots": h.slots, "probe": h.probe, "client": h.client, "well": h.well}
    times = ", ".join(f"{what} {'never' if at is None else f'{at:.2f} s'}" for what, at in found.items())
    failed = ", ".join(f"{n} {kind}" for kind, n in sorted(outcome.failed.items())) or "0 failed"
    words = (
        f"{outcome.system}: {outcome.fault}, {outcome.lasted:.2f} s: {outcome.sent} sent, {outcome.succeeded} succeeded"
    )
    words += f", {failed}, {outcome.late} late, {outcome.twice} twice; {times}"
    if outcome.healing.well is None:
        words += f"; at the end: {h.said}"
    if not outcome.balanced:
        words += "; NOT BALANCED"
    if outcome.healing.well is not None and not outcome.quick:
        words += f"; slower than {outcome.aim:.1f} s"
    return "; ".join([words, *outcome.troubles])
