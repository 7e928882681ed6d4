"""Interleaved runs, medians and ratios.

Contenders take turns, a run each, in an order that rotates; so what else the machine does meanwhile hits all of them
alike. A ratio is the median of the ratios of runs of the same round, never a quotient of two medians.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

RUNS = 5
TRIES = 2
MOST = 1_000_000  # tasks of one run


class Run(NamedTuple):
    """What one run of one contender gave."""

    rate: float  # tasks a second
    p50: float = 0.0  # µs
    p99: float = 0.0  # µs


Contend = Callable[[int], Run]
"""Carry out so many tasks."""


def rounds(contenders: Mapping[str, Contend], seconds: float, first: int, runs: int = RUNS) -> dict[str, list[Run]]:
    """``runs`` runs of every contender, of about ``seconds`` each.

    How many tasks that is, the better of ``TRIES`` runs of ``first`` tasks tells: one alone may have met a busy moment.
    """
    names = list(contenders)
    rates = {name: max(contend(first).rate for _ in range(TRIES)) for name, contend in contenders.items()}
    size = {name: max(50, min(MOST, int(rate * seconds))) for name, rate in rates.items()}
    found: dict[str, list[Run]] = {name: [] for name in names}
    for turn in range(runs):
        cut = turn % len(names)
        for name in names[cut:] + names[:cut]:
            found[name].append(contenders[name](size[name]))
    return found


def ratio(of: Sequence[Run], to: Sequence[Run]) -> float:
    """The median over the rounds of how many times as fast the one was as the other."""
    return median(a.rate / b.rate for a, b in zip(of, to, strict=True))


def range_of(of: Sequence[Run], to: Sequence[Run]) -> str:
    """The least and the greatest of the rounds' ratios."""
    ratios = [a.rate / b.rate for a, b in zip(of, to, strict=True)]
    return f"{digits(min(ratios))}–{digits(max(ratios))}"


def spread(runs: Sequence[Run]) -> float:
    """How far the runs of one contender lie apart: (fastest - slowest) / median."""
    rates = [run.rate for run in runs]
    return (max(rates) - min(rates)) / median(rates)


def ranking(found: Mapping[str, Sequence[Run]], references: Sequence[str], lead: Sequence[str]) -> list[list[str]]:
    """A row for each contender: ``lead``, name, medians, spread, and the ratio to each reference (``–``: not there)."""
    rows = []
    for name, runs in found.items():
        ratios = [digits(ratio(runs, found[of])) if of in found else "–" for of in references]
        p50, p99 = (median(run[place] for run in runs) for place in (1, 2))
        times = [digits(p50 / 1000), digits(p99 / 1000)] if p99 else ["–", "–"]
        rate = digits(median(run.rate for run in runs))
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


def digits(value: float) -> str:
    """Three significant digits, which is more than any figure here is good for."""
    if value <= 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(rounded)))}f}"


def size_of(amount: int) -> str:
    """Bytes for people."""
    return f"{amount // 1024} KiB" if amount >= 1024 else f"{amount} B"
