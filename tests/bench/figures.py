"""Interleaved runs, medians and ratios.

Contenders take turns, a run each, in an order that rotates; so what else the machine does meanwhile hits all of them
alike. A ratio is the median of the ratios of runs of the same round, never a quotient of two medians.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

RUNS = 5


class Run(NamedTuple):
    """What one run of one contender gave."""

    rate: float  # tasks a second
    p50: float = 0.0  # µs
    p99: float = 0.0  # µs


Contend = Callable[[int], Run]
"""Carry out so many tasks."""


def rounds(contenders: Mapping[str, Contend], seconds: float, first: int, runs: int = RUNS) -> dict[str, list[Run]]:
    """``runs`` runs of every contender, of about ``seconds`` each; a run of ``first`` tasks tells how many that is."""
    names = list(contenders)
    size = {name: max(50, min(100_000, int(contenders[name](first).rate * seconds))) for name in names}
    found: dict[str, list[Run]] = {name: [] for name in names}
    for turn in range(runs):
        cut = turn % len(names)
        for name in names[cut:] + names[:cut]:
            found[name].append(contenders[name](size[name]))
    return found


def ratio(of: Sequence[Run], to: Sequence[Run]) -> float:
    """The median over the rounds of how many times as fast the one was as the other."""
    return median(a.rate / b.rate for a, b in zip(of, to, strict=True))


def spread(runs: Sequence[Run]) -> float:
    """How far the runs of one contender lie apart: (fastest - slowest) / median."""
    rates = [run.rate for run in runs]
    return (max(rates) - min(rates)) / median(rates)


def ranking(found: Mapping[str, Sequence[Run]], references: Sequence[str], lead: Sequence[str]) -> list[list[str]]:
    """A row for each contender: ``lead``, name, medians, spread, and the ratio to each reference (``–``: not there)."""
    rows = []
    for name, runs in found.items():
        ratios = [f"{ratio(runs, found[of]):.2f}" if of in found else "–" for of in references]
        p50, p99 = (median(run[place] for run in runs) for place in (1, 2))
        times = [f"{p50 / 1000:.2f}", f"{p99 / 1000:.2f}"] if p99 else ["–", "–"]
        rate = f"{median(run.rate for run in runs):,.0f}"
        rows.append([*lead, name, rate, f"{spread(runs) * 100:.0f} %", *times, *ratios])
    return rows


def ranking_head(references: Sequence[str], lead: Sequence[str]) -> list[str]:
    """The head of ``ranking``."""
    return [*lead, "", "tasks/s", "spread", "p50 ms", "p99 ms", *(f"÷ {of}" for of in references)]


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first column with text and all before it are flush left."""
    print(f"\n{title}\n")
    columns = list(zip(head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    words = [any(cell[:1].isalpha() for cell in column[1:]) for column in columns]
    for cells in (head, *rows):
        line = "  ".join(
            cell.ljust(width) if flush else cell.rjust(width)
            for cell, width, flush in zip(cells, widths, words, strict=True)
        )
        print("  " + line.rstrip())
    sys.stdout.flush()


def size_of(amount: int) -> str:
    """Bytes for people."""
    return f"{amount // 1024} KiB" if amount >= 1024 else f"{amount} B"
