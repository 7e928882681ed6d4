"""The words of seed 004: commands, the codes of DISCONNECTERROR, and the spellings that are accepted on input.

The seed calls a worker client and a client frontend; everywhere else here the words are those of the whole project.
"""

from __future__ import annotations

CHECKCONFIG = b"CHECKCONFIG"
CONFIG = b"CONFIG"
NEEDBROKER = b"NEEDBROKER"
CHANGEBROKER = b"CHANGEBROKER"
READY = b"READY"
READYOK = b"READYOK"
PING = b"PING"
PONG = b"PONG"
WORKREQUEST = b"WORKREQUEST"
WORKREPLY = b"WORKREPLY"
DISCONNECTERROR = b"DISCONNECTERROR"
FORCENEGOTIATE = b"FORCENEGOTIATE"

BROKERSTATE = b"BROKERSTATE"  # between primary and fallback: ours, the seed names no messages for it
REPLICA = b"REPLICA"

MOVED = 301
MALFORMED = 400
REFUSED = 403
CLOCK = 408
CONFIG_TYPE = 415
CONFIG_VERSION = 426
TOO_MANY = 429
UNKNOWN_COMMAND = 501
NO_BROKER = 503
CODES = frozenset({MOVED, MALFORMED, REFUSED, CLOCK, CONFIG_TYPE, CONFIG_VERSION, TOO_MANY, UNKNOWN_COMMAND, NO_BROKER})

MISSPELT = {"config_version": "configversion", "work_request_identifier": "work_request_indentifier"}
"""A key's right spelling → the seed's other one."""

IDENTIFIER = "work_request_identifier"

ERROR = "error"
"""Of a WORKREPLY: why the request failed at its worker. Ours: the seed leaves that to the frontend."""

CHECK = "check"
"""Of a sealed message: a checksum of the rest of it. Ours, as BROKERSTATE is."""
