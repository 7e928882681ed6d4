"""What a system is: everything that others need to know of one, in the fields of its ``SYSTEM``.

Nobody outside ``engine.protocols`` asks for a system by its name: what differs from system to system is a field here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from engine.core import Frames, Seat
from engine.parts.explain import Explain
from engine.parts.explored import UNEXPLORED, Explored
from engine.parts.fault import Fault
from engine.parts.owners import share
from engine.parts.promise import Times

Spoken = tuple[tuple[str, Frames], ...]
"""What a hostile peer says, one message after the other: each in words, and its frames behind the routing id."""


class Words(NamedTuple):
    """By role, the words at its prompt. As they are here: those of the original's programs (000 EXAMPLE)."""

    broker: tuple[str, ...] = ("workers",)
    worker: tuple[str, ...] = ("register", "deregister", "bulk", "endbulk")
    client: tuple[str, ...] = ("ping", "pingt", "data", "bulkping", "bulkdata")


PROGRAMS = Words()


class Orders(NamedTuple):
    """What a broker takes orders by, of clients within its process; a control socket passes those of its user on.

    Requests and answers are the protocol's own types. On the wire each is one msgpack map: of a request ``Ask``, its
    word, and ``Ref``, its number; of an answer ``Say`` and the same ``Ref``.
    """

    endpoint: Callable[[str], str]  # where a broker at this endpoint within the process takes them, and nowhere else
    client: bytes  # the routing id that speaks for the broker's own user
    pack: Callable[[int, Any], bytes]  # a request under a number
    load: Callable[[bytes], dict[str, Any]]  # the map of a message that is known to be one
    parse: Callable[[Any], tuple[int, Any] | str]  # a map from a stranger: number and request, or why it is none
    answer: Callable[[Any], Any]  # an answer's map from a stranger: the answer, or why it is none (a text)
    follows: Callable[[Any], bool]  # whether a request has more answers than one
    refusal: Callable[[object], str]  # why nobody may give an order as it stands; empty where one may


@dataclass(frozen=True, slots=True)
class System:
    """A system with a broker: how its three roles are made, and what its protocol says of itself.

    ``options`` is the protocol's own frozen dataclass of settings, every field with a default; the configuration
    file's table ``[NAME]`` is checked against its fields. ``broker(options, endpoints)`` binds; ``worker(options,
    endpoint, nonce, slots)`` and ``client(options, endpoint, nonce)`` connect. ``nonce`` is a number 1..NONCES that
    makes the routing id of a peer its own. ``payload(options)``: the most bytes that a data task may carry.

    ``explain``: messages in words, state maps, who is next. ``times(options)``: the times that its promises name.
    ``garbage``: messages of which each is a violation, and whose sender never is a worker. ``overclaims``: messages
    of a worker that claims more than it was given. ``faults``: those that only this system knows.

    ``owners``: whether what waits is shown by client in the broker's terms (``client NAME``), and can be withdrawn by
    client (``engine.parts.orders.Withdraw``).

    Where ``wall`` is set the protocol itself speaks of the time of day and its peers remember: all three makers take
    ``wall_offset`` as well (seconds from monotonic to wall time), and the peers' ``saved``, what ``Save`` kept last.
    ``fallback(options)``: where a second broker is to be bound that takes over from the first, nowhere for none.
    ``paired(options, first, second)``: the settings with which brokers at these two endpoints are such a pair, None
    where the protocol knows no pairs; ``hand_back``: the order that makes the second end its service.
    ``goodbye``: whether a worker that leaves says so; where not, the broker is told that it is to leave.
    ``ask(service, body)``: the order by which its client sends one request to a service; the answer has ``body`` and
    ``error``. None where its workers offer no services.
    ``words``: by role, the words that are typed at its prompt, as the console's ``:`` line knows them.
    ``window(options)``: the most tasks that one client may have waiting.
    ``lane``: the second way to write the same messages, and the option that switches it on; empty where there is none.
    ``orders``: those that clients have for its broker; None where they have none.
    ``explored``: what the model checker has to know of it.
    ``untaken``: of orders that its broker does not take: why not.
    ``takes``: orders (``engine.parts.orders``) that its broker takes of an operator, beside ``Inspect`` and ``Drain``.
    ``store``: the option that names the store of a broker's tasks (``store_of``); empty where it keeps them in memory.
    ``named``: what a task in its store is called, in words; empty where its id has to do.
    """

    kind: ClassVar[str] = "brokers"
    """What differs by content is chosen by this, at the console."""

    name: str
    seed: str
    title: str
    endpoint: str
    options: type[Any]
    broker: Callable[..., Seat]
    worker: Callable[..., Seat]
    client: Callable[..., Seat]
    payload: Callable[[Any], int]
    explain: Explain
    times: Callable[[Any], Times]
    garbage: Spoken
    overclaims: Spoken
    faults: tuple[Fault, ...] = ()
    owners: bool = False
    wall: bool = False
    fallback: Callable[[Any], tuple[str, ...]] = lambda options: ()
    paired: Callable[[Any, str, str], Any] | None = None
    hand_back: object = None
    goodbye: bool = True
    ask: Callable[[str, bytes], object] | None = None
    words: Words = PROGRAMS
    lane: str = ""
    window: Callable[[Any], int] = lambda options: share(options.max_backlog)
    orders: Orders | None = None
    explored: Explored = UNEXPLORED
    store: str = ""
    takes: tuple[type, ...] = ()
    untaken: tuple[tuple[type, str], ...] = ()
    named: Callable[[Frames], str] = lambda message: ""


@dataclass(frozen=True, slots=True)
class QueueSystem:
    """A system without broker and sockets: documents in folders, moved on by drivers.

    ``options`` as in ``System``. It has a lab of its own (``engine.labs.queues``), and a screen that is its own. Its
    cores are made by whoever drives them; ``driver(options, config, epoch)`` and ``watchdog(options, stages, first,
    fail_fast)`` make them again from what stands in a journal, on no sockets.
    """

    kind: ClassVar[str] = "queues"

    name: str
    seed: str
    title: str
    options: type[Any]
    driver: Callable[..., Seat]
    watchdog: Callable[..., Seat]


def store_of(system: System, options: Any) -> str:
    """The store that a broker with these options has, as ``engine.drive.stores`` names it; empty: none."""
    return str(getattr(options, system.store)) if system.store else ""


def lane_of(system: System, options: Any) -> str:
    """The lane that these options choose; empty where it is the seed's."""
    return system.lane if system.lane and getattr(options, system.lane, False) else ""
