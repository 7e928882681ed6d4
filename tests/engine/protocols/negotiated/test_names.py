from __future__ import annotations

from engine.protocols.negotiated import names

SEED = "CHECKCONFIG CONFIG NEEDBROKER READY READYOK PING PONG WORKREQUEST WORKREPLY DISCONNECTERROR FORCENEGOTIATE"
"""The headings of the seed's PROTOCOL section, in its order."""

CODES = {
    "MOVED": 301, "MALFORMED": 400, "REFUSED": 403, "CLOCK": 408, "CONFIG_TYPE": 415, "CONFIG_VERSION": 426,
    "TOO_MANY": 429, "UNKNOWN_COMMAND": 501, "NO_BROKER": 503,
}  # fmt: skip
"""The fact sheet: 301 moved, 400 malformed, 403 refused, 408 clock, 415 config type, 426 config version, 429 too many,
501 unknown command, 503 no broker."""


def test_every_command_of_the_seed_is_there_in_capitals() -> None:
    for word in SEED.split():
        assert getattr(names, word) == word.encode()


def test_codes_are_those_of_the_fact_sheet() -> None:
    assert {name: getattr(names, name) for name in CODES} == CODES


def test_misspellings_are_those_of_the_seed() -> None:
    assert set(names.MISSPELT.values()) == {"configversion", "work_request_indentifier"}
