"""What an operator can set, where it comes from, and what is wrong with it.

The rules of this file:

- A setting is taken from the flags, else from the environment, else from the one TOML file, else it has its default.
- A variable is ``ROUNDHOUSE_`` + table + ``_`` + key, in capitals: ``ROUNDHOUSE_POOL_WORKERS``. A key that stands in no
  table has just its own name: ``ROUNDHOUSE_THEME``. Lists are written with commas. ``[keymap]`` is the file's alone.
  ``ROUNDHOUSE_PUMP`` is none of these: the engine reads it itself.
- The tables are ``[pool]``, ``[run]``, ``[security]``, ``[keymap]`` and one for each system, checked against
  that system's options; ``bind`` in it is where a broker of that system listens, if it has one.
- Whatever is wrong is named with file and line (or variable, or flag), what was expected and the nearest right word.
  Everything wrong is found in one go, also a value that something else overrides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_type_hints

from engine.drive.pump import SWITCH
from engine.parts.limits import MAX_FRAME
from engine.schema import Endpoint, Misfit, OneOf, OptionalTcp, Range, fit, nearest, parse
from engine.settings.fleet import FleetEntry, read_fleet
from engine.settings.paths import Paths
from engine.settings.pools import NamedPool, Pool, read_pools
from engine.settings.tomlfile import Place, Problem, Wrong, parse_toml, read_text

PREFIX = "ROUNDHOUSE_"
DEFAULT_THEME = "midnight"


@dataclass(frozen=True, slots=True)
class Run:
    """A bulk run for which nothing else was asked."""

    count: Annotated[int, Range(1, 100_000_000)] = 100
    in_flight: Annotated[int, Range(1, 1_000_000)] = 10  # pings
    data_count: Annotated[int, Range(1, 100_000_000)] = 2000  # of the key d
    data_in_flight: Annotated[int, Range(0, 1_000_000)] = 0  # 0: all at once, as far as the backlog takes them
    timeout: Annotated[float, Range(0.001, 3600, "seconds")] = 5.0  # of each task
    bytes: Annotated[int, Range(1, MAX_FRAME // 2, "bytes")] = 1024  # of each data task


@dataclass(frozen=True, slots=True)
class Security:
    """The keys of sockets that others can reach. Without ``curve`` they have none."""

    curve: str = ""  # the name of our own pair
    server_key: str = ""  # of the broker to connect to: a file, a name or 64 digits
    control: OptionalTcp = ""  # where control is taken over tcp, from peers with keys; empty: nowhere


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that was set or left at its default."""

    system: str
    theme: str
    readonly: bool
    pool: Pool
    pools: tuple[NamedPool, ...]  # beside it
    run: Run
    security: Security
    keymap: dict[str, str]  # binding id → keys, as Textual takes it
    bind: tuple[str, ...]  # where this system's broker listens; empty: where it usually does, or beside it
    options: Mapping[str, Any]  # system name → that system's options
    paths: Paths
    fleet: tuple[FleetEntry, ...] = ()  # processes elsewhere that are watched

    @property
    def config_folder(self) -> Path:
        """Where the configuration file and the user's themes are."""
        return self.paths.config.parent

    @property
    def state_folder(self) -> Path:
        """Where runs and the command history are."""
        return self.paths.state


class Flag(NamedTuple):
    """A setting given on the command line: ``name`` as the operator typed it, ``text`` still unread."""

    place: Place
    name: str
    text: str


class Known(NamedTuple):
    """The words that settings may use. None: anything goes, for whoever has no screen to know better."""

    systems: Mapping[str, type[Any]]  # name → options dataclass, the default system first
    themes: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None  # ids of bindings
    unbound: tuple[str, ...] = ()  # systems without a broker: nothing of theirs listens anywhere


def read_settings(paths: Paths, known: Known, environ: Mapping[str, str], flags: Sequence[Flag] = ()) -> Settings:
    """Read the file and apply environment and flags. A file that does not exist is an empty one. Raises ``Wrong``."""
    return _Reading(paths, known, _types(known)).settings(environ, flags)


def _types(known: Known) -> dict[Place, Any]:
    """Every setting and its type."""
    types: dict[Place, Any] = {
        ("system",): Annotated[str, OneOf(tuple(known.systems))],
        ("theme",): str if known.themes is None else Annotated[str, OneOf(known.themes)],
        ("readonly",): bool,
    }
    for table, cls in [("pool", Pool), ("run", Run), ("security", Security), *known.systems.items()]:
        hints = get_type_hints(cls, include_extras=True)
        types.update({(table, item.name): hints[item.name] for item in fields(cls)})
    types.update({(name, "bind"): tuple[Endpoint, ...] for name in known.systems if name not in known.unbound})
    return types


@dataclass
class _Reading:
    """One pass over all sources; later ones override earlier ones."""

    paths: Paths
    known: Known
    types: dict[Place, Any]
    found: dict[Place, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    lines: dict[Place, int] = field(default_factory=dict)
    pools: list[NamedPool] = field(default_factory=list)
    fleet: list[FleetEntry] = field(default_factory=list)

    def settings(self, environ: Mapping[str, str], flags: Sequence[Flag]) -> Settings:
        self._file()
        self._environ(environ)
        for flag in flags:
            self._take(flag.place, parse(flag.text, self.types[flag.place]), flag.name)
        options = {name: self._table(name, cls) for name, cls in self.known.systems.items()}
        if self.problems:
            raise Wrong(self.problems)
        system = self.found.get(("system",), next(iter(self.known.systems)))
        return Settings(
            system=system,
            theme=self.found.get(("theme",), DEFAULT_THEME),
            readonly=self.found.get(("readonly",), False),
            pool=self._table("pool", Pool),
            pools=tuple(self.pools),
            run=self._table("run", Run),
            security=self._table("security", Security),
            keymap={place[1]: keys for place, keys in self.found.items() if place[0] == "keymap"},
            bind=self.found.get((system, "bind"), ()),
            options=MappingProxyType(options),
            paths=self.paths,
            fleet=tuple(self.fleet),
        )

    def _file(self) -> None:
        content: dict[str, Any] = {}
        try:
            content, self.lines = parse_toml(read_text(self.paths.config, optional=True), self.paths.config)
        except Wrong as wrong:
            self.problems.extend(wrong.problems)
        tables = {place[0] for place in self.types if len(place) == 2} | {"keymap"}
        for name, value in content.items():
            if name == "pool" and isinstance(value, list):
                self.pools, value, problems = read_pools(value)
                for problem in problems:
                    self._wrong(self._line(name), problem)
            if name == "fleet":
                self.fleet, problems = read_fleet(value)
                for problem in problems:
                    self._wrong(self._line(name), problem)
            elif name in tables:
                self._file_table(name, value)
            elif isinstance(value, dict) and (name,) not in self.types:
                self._wrong(self._line(name), f"[{name}]: no such table{nearest(name, tables)}")
            else:
                self._take((name,), value, self._line(name), f"{name}: ")

    def _file_table(self, name: str, value: object) -> None:
        try:
            table = fit(value, dict)
        except Misfit as misfit:
            self._wrong(self._line(name), f"[{name}]: {misfit}")
            return
        for key, item in table.items():
            self._take((name, key), item, self._line(name, key), f"[{name}] {key}: ")

    def _environ(self, environ: Mapping[str, str]) -> None:
        places = {PREFIX + "_".join(place).upper(): place for place in self.types}
        for name in sorted(name for name in environ if name.startswith(PREFIX) and name != SWITCH):
            if name in places:
                self._take(places[name], parse(environ[name], self.types[places[name]]), name)
            else:
                self._wrong(name, f"no such setting{nearest(name, places)}")

    def _take(self, place: Place, value: object, where: str, shown: str = "") -> None:
        """Check a setting and keep it. ``shown`` names it where ``where``, a variable or a flag, does not."""
        *table, key = place
        others = [other[-1] for other in self.types if list(other[:-1]) == table]
        wanted = self.types.get(place)
        if table == ["keymap"]:
            others = list(self.known.keys or [key])
            wanted = str if key in others else None
        if wanted is None:
            self._wrong(where, f"{shown}no such key{nearest(key, others)}")
            return
        try:
            self.found[place] = fit(value, wanted)
        except Misfit as misfit:
            self._wrong(where, f"{shown}{misfit}")

    def _table(self, name: str, cls: type[Any]) -> Any:
        """A table's dataclass; what only its own check can see (two values that contradict) is a problem too."""
        given = {place[1]: value for place, value in self.found.items() if place[0] == name and place != (name, "bind")}
        try:
            return cls(**given)
        except ValueError as error:
            self._wrong(self._line(name), f"[{name}]: {error}")
            return None

    def _line(self, *place: str) -> str:
        line = self.lines.get(place)
        return f"{self.paths.config}:{line}" if line else str(self.paths.config)

    def _wrong(self, where: str, text: str) -> None:
        self.problems.append(Problem(where, text))
