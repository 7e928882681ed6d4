"""Reads the script of a drill from a file, and checks it before anything is done.

The rules of this file:

- A script is one TOML file: ``system``, ``seed``, ``until``, who is there (``workers`` and ``slots``, or the ``stages``
  of disk queues), a table ``[options]`` of the system's own settings, and ``[[do]]`` tables, each with ``at`` (seconds)
  and one of ``run``, ``fault`` and ``order``; what these may say is in ``terms.py``.
- What is wrong is named with its line, all of it in one go. Whether a target will be there only the drill can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

from engine.catalogue import CATALOGUE
from engine.errors import Refused
from engine.faults.terms import DAY, Crew, Spec, Terms, terms_of
from engine.schema import Misfit, OneOf, Range, fit, nearest
from engine.settings.tomlfile import Problem, Wrong, parse_toml, read_text
from engine.system import QueueSystem, System

MAX_DO = 1000  # things in one script


def head() -> dict[str, Any]:
    """Keys of every script."""
    return {
        "system": Annotated[str, OneOf(tuple(CATALOGUE))],
        "seed": Annotated[int, Range(0, 2**32)],
        "until": Annotated[float, Range(0.1, DAY, "seconds")],
    }


class Act(NamedTuple):
    """One thing that is done."""

    at: float  # virtual seconds
    kind: Literal["run", "fault", "order"]
    text: str
    spec: Spec | None = None  # of a run
    expect: Literal["pass", "fail"] = "pass"


@dataclass(frozen=True, slots=True)
class Drill:
    """A script that can be played."""

    name: str
    system: System | QueueSystem
    options: Any
    crew: Crew
    seed: int
    until: float
    acts: tuple[Act, ...]  # in the order of their times


def read_drill(path: Path) -> Drill:
    """Read a script. Raises ``engine.settings.tomlfile.Wrong`` with everything that is wrong with it."""
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
        given = own.get("system")
        system = CATALOGUE.get(given) if isinstance(given, str) else None
        terms = terms_of(system or next(iter(CATALOGUE.values())))
        keys = {**head(), **terms.head}
        given_head = self._table(own, keys, self._where, (*keys, "options", "do"))
        for key in ("system", "until"):
            if key not in own:
                self._wrong(str(self.path), f"{key} is missing")
        options = self._options(system, content.get("options", {})) if system else None
        crew = self._crew(terms, given_head)
        acts = self._acts(content.get("do", []), terms, given_head.get("until", DAY))
        if self.problems or system is None:
            raise Wrong(self.problems)
        return Drill(self.path.stem, system, options, crew, given_head.get("seed", 0), given_head["until"], tuple(acts))

    def _crew(self, terms: Terms, head: Mapping[str, Any]) -> Crew:
        try:
            return terms.crew(head)
        except Refused as refusal:
            self._wrong(self._where("stages"), f"stages: {refusal}")
            return Crew()

    def _options(self, system: System | QueueSystem, given: object) -> Any:
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

    def _acts(self, given: object, terms: Terms, until: float) -> list[Act]:
        if not isinstance(given, list) or len(given) > MAX_DO or not all(isinstance(item, dict) for item in given):
            self._wrong(self._where("do"), f"do is up to {MAX_DO} tables, each under its own [[do]]")
            return []
        begins = [number for number, line in enumerate(self.text.split("\n"), 1) if line.strip().startswith("[[do]]")]
        begins += [0] * (len(given) - len(begins))  # written in another way: no line can be told
        acts = [self._act(item, line, terms, until) for item, line in zip(given, begins, strict=False)]
        return sorted((act for act in acts if act is not None), key=lambda act: act.at)

    def _act(self, given: Mapping[str, Any], line: int, terms: Terms, until: float) -> Act | None:
        where = f"{self.path}:{line}" if line else str(self.path)
        before = len(self.problems)
        found = self._table(given, terms.do, lambda key: where, tuple(terms.do), "do: ")
        kinds = [kind for kind in ("run", "fault", "order") if kind in given]
        if "at" not in given:
            self._wrong(where, "do: at is missing: the second at which it is done")
        elif found.get("at", 0.0) > until:
            self._wrong(where, f"do: at {found['at']:g} is after the end, until = {until:g}")
        if len(kinds) != 1:
            self._wrong(where, f"do: exactly one of run, fault, order is wanted, got {', '.join(kinds) or 'none'}")
        stray = [key for key in terms.of_runs if key in given and kinds and kinds != ["run"]]
        if stray:
            self._wrong(where, f"do: {stray[0]} belongs to a run")
        if len(self.problems) > before:
            return None
        kind, text, at = kinds[0], " ".join(found[kinds[0]].split()), found["at"]
        try:
            if kind == "fault":
                terms.fault(text)
                return Act(at, "fault", text)
            if kind == "order":
                terms.order(text)
                return Act(at, "order", text)
            return Act(at, "run", text, terms.run(text, found), found.get("expect", "pass"))
        except Refused as refusal:
            self._wrong(where, f"do: {kind}: {refusal}")
            return None

    def _table(
        self, given: Mapping[str, Any], known: Mapping[str, Any], where: Any, words: tuple[str, ...], front: str = ""
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
