"""What a fault is, and how a line such as ``cut w3 5`` is read, for any target.

The rules of this file:

- An error names what is wrong with the line, and what there is instead. Whether the target exists is checked elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from engine.errors import Refused
from engine.parts.promise import Promise, Times
from engine.schema import nearest

Target = Literal["worker", "client", "broker"]


class World(Protocol):
    """The part of a simulated world that a fault of one system uses."""

    @property
    def names(self) -> list[str]: ...
    def after(self, seconds: float, act: Callable[..., object], *args: Any) -> None: ...


class Scene(Protocol):
    """What faults are done to: one system in virtual time. ``began``: wall clock at virtual time 0."""

    options: Any
    began: float

    @property
    def world(self) -> World: ...
    def workers(self) -> dict[str, bytes]: ...
    def order(self, name: str, order: object) -> None: ...
    def kill(self, name: str) -> None: ...


class Aim(NamedTuple):
    """A fault with everything that was asked for: which seat, under which name, how much. ``times``: the system's."""

    scene: Any  # a Scene; common faults use more of it
    seat: str
    label: str
    key: bytes  # the routing id of a worker or client
    amounts: tuple[float, ...]
    times: Times

    @property
    def alone(self) -> bool:
        """Whether no other seat uses its routing id."""
        return list(self.scene.workers().values()).count(self.key) <= 1

    @property
    def kind(self) -> Target:
        """The kind of the seat."""
        return "worker" if self.seat in self.scene.workers() else "client" if self.seat == "client" else "broker"


class Amount(NamedTuple):
    """A number behind a fault's target. ``usual``: its default."""

    name: str
    usual: float
    least: float
    most: float


class Made(NamedTuple):
    """A fault that is ready: what it does in words, what is promised, and the function that does it."""

    does: str
    promises: list[Promise]
    deed: Callable[[], object]


class Fault(NamedTuple):
    """One kind of fault."""

    name: str
    does: str
    targets: tuple[str, ...]  # kinds; none: the fault brings its own
    amounts: tuple[Amount, ...]
    make: Callable[[Any], Made]

    @property
    def usage(self) -> str:
        """What is typed, optional amounts in brackets."""
        target = ["|".join(kind.upper() for kind in self.targets)] if self.targets else []
        return " ".join([self.name, *target, *(f"[{amount.name.upper()}]" for amount in self.amounts)])


SECONDS = Amount("seconds", 10.0, 0.1, 600.0)
SHARE = Amount("share", 0.3, 0.01, 0.9)


def read_line(faults: Sequence[Fault], line: str) -> tuple[Fault, str, tuple[float, ...]]:
    """The fault, its target (empty where it has none) and all its amounts. Raises Refused for what there is not."""
    known = {fault.name: fault for fault in faults}
    name, *words = line.split() or [""]
    fault = known.get(name)
    if fault is None:
        raise Refused(f"no fault {name!r}{nearest(name, known)}; there are {', '.join(known)}")
    target = ""
    if fault.targets:
        if not words and fault.targets != ("broker",):
            raise Refused(f"{name} needs a target: {fault.usage}")
        target = words.pop(0) if words else fault.targets[0]
    if len(words) > len(fault.amounts):
        raise Refused(f"{name} takes no {words[len(fault.amounts)]!r}: {fault.usage}")
    given = [_number(fault, amount, word) for amount, word in zip(fault.amounts, words, strict=False)]
    return fault, target, (*given, *(amount.usual for amount in fault.amounts[len(given) :]))


def line_of(fault: Fault, target: str, amounts: Sequence[float]) -> str:
    """A line as it is read again, amounts written out."""
    return " ".join([fault.name, *([target] if target else []), *(f"{amount:g}" for amount in amounts)])


def _number(fault: Fault, amount: Amount, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = float("nan")
    if not amount.least <= value <= amount.most:
        bounds = f"from {amount.least:g} to {amount.most:g}"
        raise Refused(f"{fault.name}: {amount.name} is a number {bounds}, got {word!r}; {fault.usage}")
    return value
