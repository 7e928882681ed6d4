"""Limits of dispatch in words: what is typed becomes an order, and what is set is shown."""

from __future__ import annotations

from typing import NamedTuple

from console.text import clean
from engine.errors import Refused
from engine.labs.limits import MAX_RATE
from engine.labs.steered import limits
from engine.parts.explain import show
from engine.parts.orders import Throttle
from engine.parts.valve import ALL
from engine.parts.view import BrokerView


class Limit(NamedTuple):
    """``asks``: the question before it, empty where a limit ends. ``said``: what is so afterwards."""

    order: Throttle
    asks: str
    said: str


def limit_of(word: str, text: str, view: BrokerView | None) -> Limit:
    """What ``pause``, ``resume`` or ``throttle RATE|off [CLIENT]`` means. Raises Refused for what is none."""
    rate, _, name = {"pause": "0", "resume": "off"}.get(word, text).partition(" ")
    name = name.strip()
    try:
        value = None if rate == "off" else float(rate)
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value <= MAX_RATE:
        raise Refused(f"throttle needs a number of tasks a second, or off, got {clean(rate)!r}")
    client = client_of(name, view) if name else ALL
    whose = f" of client {clean(name)}" if client else ""
    said = f"tasks{whose}: " + ("no limit" if value is None else f"{value:g} a second at most" if value else "paused")
    much = "" if value is None else f"Give out {value:g} tasks{whose} a second at most?"
    return Limit(Throttle(value, client), f"Give out no tasks{whose}?" if value == 0 else much, said)


def client_of(name: str, view: BrokerView | None) -> bytes:
    """The routing id of a client that is shown. Raises Refused for what is none, and names some."""
    keys = {show(row.key): row.key for row in (view.clients if view is not None else ())}
    if name not in keys:
        raise Refused(f"no client {clean(name)!r} there; there are {', '.join(list(keys)[:6]) or 'none'}")
    return keys[name]


def task_of(word: str, client: str, digits: str, view: BrokerView | None) -> tuple[bytes, bytes]:
    """A task by its client and its id in hexadecimal digits. Raises Refused where it is named by none."""
    try:
        task = bytes.fromhex(digits)
    except ValueError:
        task = b""
    if not task:
        raise Refused(f"{word} needs CLIENT and TASK in hexadecimal digits; got {clean(f'{client} {digits}')!r}")
    return client_of(client, view), task


def limited(view: BrokerView | None) -> str:
    """The limits that are set, in a few words; empty where there are none."""
    found = limits(view)
    rate = found.pop(ALL, None)
    words = "dispatch paused" if rate == 0 else f"at most {rate:g} tasks/s" if rate is not None else ""
    several = f"{len(found)} client{'s' if len(found) > 1 else ''} limited" if found else ""
    return " · ".join(filter(None, (words, several)))
