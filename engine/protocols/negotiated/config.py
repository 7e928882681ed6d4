"""The configuration that a broker serves: one model, written and read as json, xml and zfl.

The model becomes a plain tree first (maps, lists, numbers, text), and each form is a pair of pure functions on trees;
xml and zfl know text only, so what they read is turned back into numbers by the model. ``zfl`` is ZeroMQ RFC 4.

The seed never says what a configuration holds beyond the group of brokers; the rest is what a peer needs to take part.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from xml.parsers import expat

from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.options import Options

TYPES = ("json", "xml", "zfl")
MAX_CONFIG = 64 * 1024  # bytes, in any form
MAX_BROKERS = 64
XML_PIECE = 64  # bytes that are parsed at a time

_NUMBER = re.compile(r"[0-9]{1,10}(\.[0-9]{1,10})?")
_LINE = re.compile(r"( *)([A-Za-z0-9$_@.&+/-]+) *(?:= *(.*))?")

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Address:
    """One broker: where its workers connect, and where its clients do."""

    workers: str
    clients: str


@dataclass(frozen=True, slots=True)
class Config:
    """``heartbeat_interval`` and ``skew`` in seconds; ``brokers``: the group, the preferred one first."""

    version: int
    heartbeat_interval: float
    skew: float
    brokers: tuple[Address, ...]

    @property
    def hash(self) -> str:
        """SHA-256 in hex of the json form, whichever form is sent: two forms of one configuration have one hash."""
        return sha256(encode(self, "json")).hexdigest()

    def changed(self, key: str, value: str, options: Options) -> Config | str:
        """The next version, in which a key has this value; or why there is none. ``options``: the broker's own."""
        version = self.version + 1
        number = float(value) if _NUMBER.fullmatch(value) else None
        if wire.version(version) is None:
            return f"{self.version} is the last version that there can be"
        match key:
            case "skew" if number is not None and (skew := wire.interval(number)) is not None:
                return replace(self, version=version, skew=skew)
            case "heartbeat_interval" if number is not None and options.heartbeat <= number <= wire.MAX_INTERVAL:
                return replace(self, version=version, heartbeat_interval=number)
            case "skew":
                return f"skew: seconds, more than 0 and up to {wire.MAX_INTERVAL:g}"
            case "heartbeat_interval":
                return f"heartbeat_interval: {options.heartbeat:g} seconds or more: the broker takes longer ones only"
            case "brokers":
                return "brokers: they are those of the settings negotiated.primary and negotiated.fallback"
            case _:
                return f"no key {key}: there are skew and heartbeat_interval"

    def at(self, version: int) -> Config:
        """The same under another version."""
        return replace(self, version=version)


def tree(config: Config) -> Tree:
    """The configuration as plain maps, lists, numbers and text."""
    return {
        "version": config.version,
        "heartbeat_interval": config.heartbeat_interval,
        "skew": config.skew,
        "brokers": [{"workers": broker.workers, "clients": broker.clients} for broker in config.brokers],
    }


def encode(config: Config, kind: str) -> bytes:
    """The configuration as one of ``TYPES``. KeyError for another."""
    return {"json": _to_json, "xml": _to_xml, "zfl": _to_zfl}[kind](tree(config))


def decode(data: bytes, kind: str) -> Config | None:
    """What ``encode`` made; None for anything else. KeyError for a kind that is none of ``TYPES``."""
    if len(data) > MAX_CONFIG:
        return None
    found = {"json": _from_json, "xml": _from_xml, "zfl": _from_zfl}[kind](data)
    return None if found is None else model(found, kind != "json")


def model(tree: Tree, untyped: bool = False) -> Config | None:
    """The configuration that a tree stands for, None for none. ``untyped``: its numbers are text."""

    def number(key: str) -> Any:
        value = tree.get(key)
        if not untyped:
            return value
        if type(value) is not str or not _NUMBER.fullmatch(value):
            return None
        return float(value) if "." in value else int(value)

    version = wire.version(number("version"))
    heartbeat, skew = wire.interval(number("heartbeat_interval")), wire.interval(number("skew"))
    listed = tree.get("brokers")
    if version is None or heartbeat is None or skew is None or type(listed) is not list or len(listed) > MAX_BROKERS:
        return None
    brokers = []
    for entry in listed:
        if type(entry) is not dict:
            return None
        workers, clients = wire.endpoint(entry.get("workers")), wire.endpoint(entry.get("clients"))
        if not workers or not clients:
            return None
        brokers.append(Address(workers, clients))
    return Config(version, heartbeat, skew, tuple(brokers))


# ---- json ---------------------------------------------------------------------------------------------------------


def _to_json(tree: Tree) -> bytes:
    return json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()


def _from_json(data: bytes) -> Tree | None:
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return tree if type(tree) is dict else None


# ---- xml ----------------------------------------------------------------------------------------------------------


def _to_xml(tree: Tree) -> bytes:
    root = ET.Element("configuration")
    for key, value in tree.items():
        element = ET.SubElement(root, key)
        if isinstance(value, list):
            for entry in value:
                broker = ET.SubElement(element, "broker")
                for name, endpoint in entry.items():
                    ET.SubElement(broker, name).text = endpoint
        else:
            element.text = str(value)
    return ET.tostring(root)


def _from_xml(data: bytes) -> Tree | None:
    root = _parse(data)
    if root is None or root.tag != "configuration":
        return None
    tree: Tree = {element.tag: element.text or "" for element in root if not len(element)}
    brokers = root.find("brokers")
    entries = [] if brokers is None else brokers.findall("broker")
    tree["brokers"] = [{field.tag: field.text or "" for field in entry} for entry in entries]
    return tree


class _Declared(Exception):
    """A document type, whose entities could grow."""


def _parse(data: bytes) -> ET.Element | None:
    """The document's root. The parser itself refuses a document type, so it does so in every encoding.

    It is fed in pieces: what stands behind the beginning of a document type is never parsed.
    """
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate()

    def declared(*_: object) -> None:
        raise _Declared

    parser.StartDoctypeDeclHandler = declared
    parser.StartElementHandler = lambda name, _: builder.start(name, {})
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        for start in range(0, len(data), XML_PIECE):
            parser.Parse(data[start : start + XML_PIECE])
        parser.Parse(b"", True)
    except (expat.ExpatError, _Declared, LookupError, ValueError):  # the last two: an encoding that nobody knows
        return None
    return builder.close()


# ---- zfl ----------------------------------------------------------------------------------------------------------


def _to_zfl(tree: Tree) -> bytes:
    lines = []
    for key, value in tree.items():
        if not isinstance(value, list):
            lines.append(f"{key} = {value}")
            continue
        lines.append(key)
        for entry in value:
            lines.append("    broker")
            lines += [f'        {name} = "{endpoint}"' for name, endpoint in entry.items()]
    return ("\n".join(lines) + "\n").encode()


def _from_zfl(data: bytes) -> Tree | None:
    """Three levels: properties, ``broker`` under ``brokers``, its two endpoints. Siblings may have one name."""
    tree: Tree = {"brokers": []}
    path: list[str] = []  # the names above and of the last property
    for line in re.split(r"[\r\n]+", data.decode("ascii", "replace")):
        property_ = _property(line)
        if property_ is None:
            continue
        level, name, value = property_
        if level < 0 or level > len(path):
            return None
        path[level:] = [name]
        match path:
            case ["brokers"]:
                pass
            case ["brokers", "broker"]:
                tree["brokers"].append({})
            case ["brokers", "broker", _]:
                tree["brokers"][-1][name] = value
            case [_]:
                tree[name] = value
    return tree


def _property(line: str) -> tuple[int, str, str] | None:
    """Level, name and value of one line; None for an empty one or a comment; level -1 where it is no property."""
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    found = _LINE.fullmatch(line.rstrip())
    if found is None:  # a comment after a name without a value
        found = _LINE.fullmatch(line.partition("#")[0].rstrip())
    if found is None or len(found[1]) % 4:
        return -1, "", ""
    return len(found[1]) // 4, found[2], _value(found[3] or "")


def _value(text: str) -> str:
    """A value without its comment; quotes are taken off where they match, and what is between them is left alone."""
    if text[:1] in ("'", '"'):
        quoted, closing, rest = text[1:].partition(text[0])
        if closing and (not rest.strip() or rest.lstrip().startswith("#")):
            return quoted
    return text.partition("#")[0].rstrip()
