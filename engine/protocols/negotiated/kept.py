"""What a peer keeps beyond its process: the last configuration of each broker that gave it one.

A configuration names further brokers, so it is believed of the broker that said it and of no other. Earlier versions
kept one without its broker; that one counts for whichever broker a peer begins with.
"""

from __future__ import annotations

import json

from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated.config import MAX_CONFIG, Config

MOST = 8  # brokers; the one that spoke longest ago is dropped
ANY = ""  # the broker of a configuration that was kept without one

Kept = dict[str, Config]
"""Endpoint → configuration, newest last."""


def encode(kept: Kept) -> bytes:
    """The newest of them as json."""
    newest = list(kept.items())[-MOST:]
    return json.dumps({"kept": [[endpoint, configs.tree(config)] for endpoint, config in newest]}).encode()


def decode(data: bytes | None) -> Kept:
    """What ``encode`` made. Whatever can not be read was not kept."""
    if data is None or len(data) > MOST * (MAX_CONFIG + 1024):
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    if type(found) is not dict:
        return {}
    if "kept" not in found:
        config = configs.decode(data, "json")
        return {} if config is None else {ANY: config}
    entries = found["kept"] if type(found["kept"]) is list else []
    kept: Kept = {}
    for entry in entries[:MOST]:
        if type(entry) is list and len(entry) == 2 and type(entry[0]) is str and type(entry[1]) is dict:
            config = configs.model(entry[1])
            if config is not None:
                kept[entry[0]] = config
    return kept


def of(kept: Kept, endpoint: str) -> Config | None:
    """What the broker at an endpoint said last."""
    return kept.get(endpoint) or kept.get(ANY)


def added(kept: Kept, endpoint: str, config: Config) -> Kept:
    """The same with what a broker has just said."""
    others = {known: value for known, value in kept.items() if known not in (endpoint, ANY)}
    return dict([*others.items(), (endpoint, config)][-MOST:])
