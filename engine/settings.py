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

import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_type_hints

import platformdirs

from engine.drive.pump import SWITCH
from engine.files import personal
from engine.namedfleet import FleetEntry, read_fleet
from engine.namedpools import NamedPool, read_pools
from engine.namedpools import Pool as Pool
from engine.parts.limits import MAX_FRAME
from engine.parts.plain import clean
from engine.schema import Endpoint, Misfit, OneOf, OptionalTcp, Range, fit, nearest, parse

PREFIX = "ROUNDHOUSE_"
DEFAULT_THEME = "midnight"
MAX_FILE = 256 * 1024  # bytes of a file that an operator writes
LONGEST = 100  # lines of one statement in it whose place can be told
PARSED = 1024 * 1024  # characters that are parsed to tell places
DEEPEST = 64  # parts of one key: what tomllib needs for a key grows with the square of their number

LONG_KEY = re.compile(rf"""(?:(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}""")

Place = tuple[str, ...]
"""Where a setting stands in the file: ``("theme",)`` or ``("pool", "workers")``."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Every file and folder that is used. Nothing is made before it is needed."""

    config: Path  # the one configuration file
    themes: Path  # the user's own themes, *.toml
    state: Path  # what must survive a restart
    runs: Path  # one JSON file a run
    jobs: Path  # scripts of submitted jobs, for as long as those may run
    kept: Path  # what cores ask to be kept, say a broker's place in a pair
    history: Path  # what was typed on the console's command line
    log: Path
    control: Path  # the control sockets of running brokers, in a folder of this user alone
    alerts: Path  # rules of alerts, and who is told
    minutes: Path  # their history, a file for each that listens
    keys: Path  # of CURVE: one's own, and those that are authorized

    @classmethod
    def of_user(cls) -> Paths:
        """As the platform wants it (``XDG_CONFIG_HOME``, ``XDG_STATE_HOME`` … where those are the custom)."""
        config = platformdirs.user_config_path("roundhouse", appauthor=False)
        state = platformdirs.user_state_path("roundhouse", appauthor=False)
        log = platformdirs.user_log_path("roundhouse", appauthor=False)
        with warnings.catch_warnings():
            # without XDG_RUNTIME_DIR it is a folder under the temporary one; whose it is, is checked where it is used
            warnings.simplefilter("ignore")
            control = platformdirs.user_runtime_path("roundhouse", appauthor=False)
        return cls(
            config=config / "roundhouse.toml",
            themes=config / "themes",
            state=state,
            runs=state / "runs",
            jobs=state / "jobs",
            kept=state / "kept",
            history=state / "history",
            log=log / "roundhouse.log",
            control=control,
            alerts=config / "alerts.toml",
            minutes=state / "minutes",
            keys=config / "keys",
        )


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


class Problem(NamedTuple):
    """One thing that is wrong: ``where`` is ``file:line``, a variable or a flag."""

    where: str
    text: str

    def __str__(self) -> str:
        """On one line, safe to show on a terminal: names and values come from a file."""
        text = f"{self.where}: {self.text}"
        return clean(text, len(text) + 1)


class Wrong(ValueError):
    """The settings can not be used; ``problems`` holds everything that is wrong, at least one."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


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


def read_text(path: Path, *, optional: bool = False) -> str:
    """A file that an operator wrote; empty where it is ``optional`` and there is none. Raises ``Wrong``."""
    try:
        raw = personal.read(path, MAX_FILE)
    except (OSError, ValueError) as error:  # ValueError: of a name with a NUL, that no file can have
        if optional and isinstance(error, FileNotFoundError):
            return ""
        reason = error.strerror if isinstance(error, OSError) else None
        raise Wrong([Problem(str(path), f"can not be read: {reason or error}")]) from None
    if len(raw) > MAX_FILE:
        raise Wrong([Problem(str(path), f"larger than {MAX_FILE} bytes")])
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Wrong([Problem(f"{path}:{raw[: error.start].count(10) + 1}", "not UTF-8 text")]) from None


def parse_toml(text: str, path: Path) -> tuple[dict[str, Any], dict[Place, int]]:
    """What such a file holds, and its ``key_lines``. Raises ``Wrong``, in which it is called ``path``."""
    if long := LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise Wrong([Problem(f"{path}:{line}", f"a key has more than {DEEPEST} parts")])
    try:
        return tomllib.loads(text), key_lines(text)
    except RecursionError:
        raise Wrong([Problem(f"{path}:{deepest_line(text)}", "nested too deeply")]) from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise Wrong([Problem(f"{path}:{line}", str(error))]) from None
    except ValueError:
        raise Wrong([Problem(f"{path}:{longest_number(text)}", "a number of thousands of digits")]) from None


def deepest_line(text: str) -> int:
    """The line, from 1, at which brackets are nested most deeply: where that is too deep, for whoever mends it."""
    depth, most, line, found = 0, 0, 1, 1
    for character in text:
        line += character == "\n"
        depth += (character in "[{") - (character in "]}")
        if depth > most:
            most, found = depth, line
    return found


def longest_number(text: str) -> int:
    """The line, from 1, of the longest run of digits."""
    runs = re.finditer(r"[0-9_]+", text)
    longest = max(runs, key=lambda run: run.end() - run.start(), default=None)
    return text.count("\n", 0, longest.start()) + 1 if longest else 1


def key_lines(text: str) -> dict[Place, int]:
    """The line, from 1, on which each table and each key in it begins, of a valid TOML text.

    ``tomllib`` does not tell. But a statement is valid TOML by itself and no true part of it is, so the text is cut
    into statements by parsing ever more lines until they are one. One that begins with a bracket opens a table.
    After a statement of more than ``LONGEST`` lines, or ``PARSED`` characters, nothing is told any more: that would
    take too long.
    """
    lines: dict[Place, int] = {}
    table: Place = ()
    begun, pending, parsed = 1, "", 0
    for number, line in enumerate(text.split("\n"), 1):
        pending += line + "\n"
        parsed += len(pending)
        if parsed > PARSED:
            break
        try:
            statement = tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            if number - begun >= LONGEST:
                break
            continue
        header = pending.lstrip().startswith("[")
        for place in _places(statement):
            lines.setdefault(place if header else (table + place)[:2], begun)
            table = place if header else table
        begun, pending = number + 1, ""
    return lines


def _places(content: Mapping[str, Any]) -> Iterator[Place]:
    """Every key of a table and of the tables in it, outer ones first."""
    for key, value in content.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, inner) for inner in value)
