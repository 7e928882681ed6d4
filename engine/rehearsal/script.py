"""The script of a drill: what is done to a stage, and when, read from a file and checked before anything is done.

The rules of this file:

- A script is one TOML file: ``system``, ``workers``, ``slots``, ``seed``, ``until``, a table ``[options]`` of the
  system's own settings, and ``[[do]]`` tables, each with ``at`` (seconds) and one of ``run``, ``fault`` and ``order``.
- What is wrong is named with its line, all of it in one go. Whether a target will be there only the drill can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

from engine.catalogue import SYSTEMS
from engine.core import System
from engine.lab.pool import Refused
from engine.parts.bulk import BulkSpec
from engine.parts.limits import MAX_FRAME, MAX_SLOTS
from engine.rehearsal.faults import read
from engine.schema import Misfit, OneOf, Range, fit, nearest
from engine.settings import Problem, Wrong, parse_toml, read_text

MAX_DO = 1000  # things in one script
MOST = 1_000_000  # tasks of a run, workers of an order
DAY = 86_400.0  # seconds

ORDERS = {"add": True, "remove": True, "bulk": False, "endbulk": False, "register": False, "deregister": False,
          "stop": False}  # fmt: skip
"""What can be ordered, and whether a number follows."""

RUNS = {"ping": False, "pingt": False, "data": False, "bulkping": True, "bulkdata": True}
"""The seeds' words for runs, and whether a number follows."""

Seconds = Annotated[float, Range(0.0, DAY, "seconds")]
HEAD: dict[str, Any] = {
    "system": Annotated[str, OneOf(tuple(SYSTEMS))],
    "workers": Annotated[int, Range(1, 1000)],
    "slots": Annotated[int, Range(1, MAX_SLOTS)],
    "seed": Annotated[int, Range(0, 2**32)],
    "until": Annotated[float, Range(0.1, DAY, "seconds")],
}
DO: dict[str, Any] = {
    "at": Seconds,
    "run": str,
    "fault": str,
    "order": str,
    "rate": Annotated[float, Range(0.001, 100_000.0, "tasks a second")],
    "in_flight": Annotated[int, Range(1, 100_000)],
    "timeout": Annotated[float, Range(0.001, 3600.0, "seconds")],
    "bytes": Annotated[int, Range(1, MAX_FRAME // 2, "bytes")],
    "expect": Literal["pass", "fail"],
}
OF_RUNS = ("rate", "in_flight", "timeout", "bytes", "expect")


class Act(NamedTuple):
    """One thing that is done."""

    at: float  # virtual seconds
    kind: Literal["run", "fault", "order"]
    text: str
    spec: BulkSpec | None = None  # of a run
    expect: Literal["pass", "fail"] = "pass"


@dataclass(frozen=True, slots=True)
class Drill:
    """A script that can be played."""

    name: str
    system: System
    options: Any
    workers: int
    slots: int
    seed: int
    until: float
    acts: tuple[Act, ...]  # in the order of their times


def read_drill(path: Path) -> Drill:
    """Read a script. Raises ``engine.settings.Wrong`` with everything that is wrong with it."""
    return _Reading(path).drill()


class _Reading:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.text = read_text(path)
        self.lines: dict[tuple[str, ...], int] = {}

    def drill(self) -> Drill:
        content, self.lines = parse_toml(self.text, self.path)
        own = {key: value for key, value in content.items() if key not in ("options", "do")}
        head = self._table(own, HEAD, lambda key: self._where(key), (*HEAD, "options", "do"))
        for key in ("system", "until"):
            if key not in own:
                self._wrong(str(self.path), f"{key} is missing")
        name = head.get("system")
        system = SYSTEMS[name] if name else None
        options = self._options(system, content.get("options", {})) if system else None
        acts = self._acts(content.get("do", []), name or "", head.get("until", DAY))
        if self.problems or system is None:
            raise Wrong(self.problems)
        sizes = head.get("workers", 10), head.get("slots", 10), head.get("seed", 0)
        return Drill(self.path.stem, system, options, *sizes, head["until"], tuple(acts))

    def _options(self, system: System, given: object) -> Any:
        """The system's own options. None where they are wrong."""
        if not isinstance(given, dict):
            self._wrong(self._where("options"), "[options] is a table of the system's settings")
            return None
        hints = get_type_hints(system.options, include_extras=True)
        known = {field.name: hints[field.name] for field in fields(system.options)}
        found = self._table(given, known, lambda key: self._where("options", key), tuple(known), "[options] ")
        try:
            return system.options(**found)
        except ValueError as error:
            self._wrong(self._where("options"), f"[options]: {error}")
            return None

    def _acts(self, given: object, system: str, until: float) -> list[Act]:
        if not isinstance(given, list) or len(given) > MAX_DO or not all(isinstance(item, dict) for item in given):
            self._wrong(self._where("do"), f"do is up to {MAX_DO} tables, each under its own [[do]]")
            return []
        begins = [number for number, line in enumerate(self.text.split("\n"), 1) if line.strip().startswith("[[do]]")]
        begins += [0] * (len(given) - len(begins))  # written in another way: no line can be told
        acts = [self._act(item, line, system, until) for item, line in zip(given, begins, strict=False)]
        return sorted((act for act in acts if act is not None), key=lambda act: act.at)

    def _act(self, given: Mapping[str, Any], line: int, system: str, until: float) -> Act | None:
        where = f"{self.path}:{line}" if line else str(self.path)
        before = len(self.problems)
        found = self._table(given, DO, lambda key: where, tuple(DO), "do: ")
        kinds = [kind for kind in ("run", "fault", "order") if kind in given]
        if "at" not in given:
            self._wrong(where, "do: at is missing: the second at which it is done")
        elif found.get("at", 0.0) > until:
            self._wrong(where, f"do: at {found['at']:g} is after the end, until = {until:g}")
        if len(kinds) != 1:
            self._wrong(where, f"do: exactly one of run, fault, order is wanted, got {', '.join(kinds) or 'none'}")
        stray = [key for key in OF_RUNS if key in given and kinds and kinds != ["run"]]
        if stray:
            self._wrong(where, f"do: {stray[0]} belongs to a run")
        if len(self.problems) > before:
            return None
        kind, text, at = kinds[0], " ".join(found[kinds[0]].split()), found["at"]
        try:
            if kind == "fault":
                if system:
                    read(system, text)
                return Act(at, "fault", text)
            if kind == "order":
                words_of(text, ORDERS)
                return Act(at, "order", text)
            return Act(at, "run", text, spec_of(text, found), found.get("expect", "pass"))
        except Refused as refusal:
            self._wrong(where, f"do: {kind}: {refusal}")
            return None

    def _table(
        self, given: Mapping[str, Any], known: dict[str, Any], where: Any, words: tuple[str, ...], front: str = ""
    ) -> dict[str, Any]:
        found = {}
        for key, value in given.items():
            if key not in known:
                self._wrong(where(key), f"{front}{key}: no such key{nearest(key, words)}")
                continue
            try:
                found[key] = fit(value, known[key])
            except Misfit as misfit:
                self._wrong(where(key), f"{front}{key}: {misfit}")
        return found

    def _where(self, *place: str) -> str:
        line = self.lines.get(place)
        return f"{self.path}:{line}" if line else str(self.path)

    def _wrong(self, where: str, text: str) -> None:
        self.problems.append(Problem(where, text))


def spec_of(text: str, given: Mapping[str, Any]) -> BulkSpec:
    """What a run's words ask of the client. Raises Refused."""
    name, n = words_of(text, RUNS)
    data = name.endswith("data")
    return BulkSpec(
        kind="data" if data else "ping",
        n=n,
        size=given.get("bytes", 1024) if data else 0,
        in_flight=given.get("in_flight", 10),
        rate=given.get("rate"),
        timeout=given.get("timeout", 5.0),
        tracked=name != "ping",
    )


def words_of(text: str, known: Mapping[str, bool]) -> tuple[str, int]:
    """A word and the number behind it, 1 where none belongs there. Raises Refused."""
    name, _, rest = text.partition(" ")
    if name not in known:
        raise Refused(f"no {name!r}{nearest(name, known)}; there are {', '.join(known)}")
    if not known[name]:
        if rest:
            raise Refused(f"{name} takes nothing after it, got {rest!r}")
        return name, 1
    if not (rest.isascii() and rest.isdecimal() and 1 <= int(rest[:9]) <= MOST):
        raise Refused(f"{name} needs a number from 1 to {MOST:,}, got {rest!r}")
    return name, int(rest[:9])
