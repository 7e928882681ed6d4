from __future__ import annotations

import json
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.limits import MAX_FRAME
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from tests.helpers.examples import examples

NOW = 1_750_000_000.5
KEY = b"63.6964"  # client "c", task "id"

# One good header for every command of every direction: what is sent, and what comes out of it.
GOOD: list[tuple[dict[bytes, wire.Fields], bytes, dict[str, Any], dict[str, Any]]] = [
    (wire.FROM_WORKERS, names.CHECKCONFIG, {"config_type": "json"}, {"config_type": "json"}),
    (wire.FROM_CLIENTS, names.CHECKCONFIG, {"config_type": "xml", "config_version": 3}, {}),
    (
        wire.FROM_WORKERS,
        names.READY,
        {
            "services": ["a", "b", "a"],
            "heartbeat_interval": 1,
            "time": 5,
            "config_version": 0,
            "slots": 7,
            "holding": [KEY],
        },
        {"services": ("a", "b"), "heartbeat_interval": 1.0, "time": 5.0, "holding": frozenset({KEY})},
    ),
    (wire.FROM_WORKERS, names.PING, {"time": NOW, "config_version": 1}, {}),
    (wire.FROM_CLIENTS, names.PING, {"time": NOW, "config_version": 1}, {}),
    (wire.FROM_WORKERS, names.WORKREPLY, {"work_request_identifier": KEY}, {}),
    (wire.FROM_WORKERS, names.NEEDBROKER, {"identity": "worker-1", "services": ["a"]}, {"services": ("a",)}),
    (wire.FROM_CLIENTS, names.NEEDBROKER, {"identity": "client-1"}, {}),
    (wire.FROM_CLIENTS, names.WORKREQUEST, {"work_request_identifier": b"\0\1", "service": "ping"}, {}),
    (wire.TO_WORKERS, names.CONFIG, {"config_type": "zfl", "config_version": 2, "config_hash": "ab"}, {}),
    (wire.TO_WORKERS, names.READYOK, {"time": NOW, "heartbeat_interval": 2.5}, {}),
    (wire.TO_WORKERS, names.PONG, {"time": NOW, "echo": NOW, "config_version": 2}, {}),
    (
        wire.TO_WORKERS,
        names.WORKREQUEST,
        {"time": NOW, "config_version": 1, "work_request_identifier": KEY, "service": "ping"},
        {},
    ),
    (wire.TO_WORKERS, names.CHANGEBROKER, {"endpoint": "tcp://10.0.0.1:6717"}, {}),
    (wire.TO_WORKERS, names.FORCENEGOTIATE, {}, {}),
    (wire.TO_WORKERS, names.DISCONNECTERROR, {"code": 408, "message": "clock"}, {}),
    (
        wire.TO_CLIENTS,
        names.DISCONNECTERROR,
        {"code": 301, "message": "", "endpoint": "inproc://x", "work_request_identifier": b"i"},
        {},
    ),
    (wire.TO_CLIENTS, names.WORKREPLY, {"work_request_identifier": b"\0\1"}, {}),
    (wire.BETWEEN_BROKERS, names.BROKERSTATE, {"state": "active", "sequence": 5, "echo": -1, "replica": -1}, {}),
    (wire.BETWEEN_BROKERS, names.REPLICA, {"sequence": 7}, {}),
]


def test_every_command_of_every_direction_has_a_sample() -> None:
    directions = (wire.FROM_WORKERS, wire.FROM_CLIENTS, wire.TO_WORKERS, wire.TO_CLIENTS, wire.BETWEEN_BROKERS)
    samples = {(id(known), command) for known, command, _, _ in GOOD}
    broker = {(id(wire.TO_WORKERS), command) for command in wire.FROM_BROKER}
    clients = {(id(wire.TO_CLIENTS), command) for command in wire.FROM_BROKER}
    wanted = {(id(known), command) for known in directions for command in known}
    assert wanted - clients == samples - clients and broker <= samples


@pytest.mark.parametrize(("known", "command", "sent", "read"), GOOD)
def test_what_is_built_is_read(
    known: dict[bytes, wire.Fields], command: bytes, sent: dict[str, Any], read: dict[str, Any]
) -> None:
    frames = wire.build(command, sent, b"body")
    wanted = (command, {**sent, **read}, b"body")
    assert wire.parse(frames, 0, known) == wanted
    assert wire.parse([b"peer", *frames], 1, known) == wanted
    assert wire.parse([b"peer", b"", *frames], 1, known) == wanted  # one leading empty frame is tolerated


@pytest.mark.parametrize(("known", "command", "sent", "read"), GOOD)
def test_json_says_the_same(
    known: dict[bytes, wire.Fields], command: bytes, sent: dict[str, Any], read: dict[str, Any]
) -> None:
    header = json.dumps(sent, default=lambda value: value.decode("ascii")).encode()
    assert wire.parse([command, header], 0, known) == (command, {**sent, **read}, b"")


@pytest.mark.parametrize(
    ("known", "command", "sent", "key"),
    [
        (known, command, sent, key)
        for known, command, sent, _ in GOOD
        for key, needed, _ in known[command]
        if needed and key in sent
    ],
)
def test_what_is_missing_is_named(
    known: dict[bytes, wire.Fields], command: bytes, sent: dict[str, Any], key: str
) -> None:
    without = {name: value for name, value in sent.items() if name != key}
    assert wire.parse(wire.build(command, without), 0, known) == f"no {key}"
    assert wire.parse(wire.build(command, {**without, key: None}), 0, known) == f"no {key}"


@pytest.mark.parametrize("right", names.MISSPELT)
def test_the_seeds_misspellings_count_where_the_right_word_is_absent(right: str) -> None:
    command = names.PING if right == "config_version" else names.WORKREPLY
    value: object = 4 if right == "config_version" else b"x"
    other: object = 5 if right == "config_version" else b"y"
    rest = {"time": 1.0} if command == names.PING else {}
    read = wire.parse(wire.build(command, {**rest, names.MISSPELT[right]: value}), 0, wire.FROM_WORKERS)
    assert read == (command, {**rest, right: value}, b"")
    both = wire.parse(wire.build(command, {**rest, right: value, names.MISSPELT[right]: other}), 0, wire.FROM_WORKERS)
    assert both == read


def test_misspellings_are_never_sent() -> None:
    for known in (wire.FROM_WORKERS, wire.FROM_CLIENTS, wire.TO_WORKERS, wire.TO_CLIENTS, wire.BETWEEN_BROKERS):
        assert not {key for fields in known.values() for key, _, _ in fields} & set(names.MISSPELT.values())


LONG = 2**40
BAD: dict[str, tuple[Any, list[object]]] = {
    "version": (wire.version, [True, -1, 2**31, 1.0, "1", b"1", [], LONG]),
    "wall_time": (wire.wall_time, [True, "now", float("nan"), float("inf"), 1e13, 2**63, []]),
    "interval": (wire.interval, [True, 0, -1, 3601, float("nan"), float("inf"), "1", 2**63]),
    "slots": (wire.slots, [True, 0, -5, 1001, 10**9, 2**63, "x", 1.0]),
    "service": (wire.service, ["", "a b", "a\n", "ä", "x" * 65, b"ping", 1]),
    "services": (wire.services, ["ping", [1], [""], ["a"] * 33, {"a": 1}, [["a"]]]),
    "identifier": (wire.identifier, [b"", "", b"x" * 640, 1, True, [], 1.5]),
    "client_identifier": (wire.client_identifier, [b"", b"x" * 65, 1]),
    "identifiers": (wire.identifiers, ["a", [b""], [1], [b"a", b"a"], [b"%d" % i for i in range(1001)]]),
    "endpoint": (wire.endpoint, ["http://x", "tcp://", "tcp://a b", "tcp://" + "x" * 241, 1, b"tcp://a", "tcp://\n"]),
    "text": (wire.text, ["x" * 1025, "\x1b[31m", "\ud800", b"x", 1]),
    "code": (wire.code, [True, 99, 600, "408", 408.0]),
    "counter": (wire.counter, [True, -2, 2**63, "1", 1.0]),
    "standby_state": (wire.standby_state, ["", "both", 1, b"active"]),
}


@pytest.mark.parametrize(("check", "value"), [(check, value) for check, values in BAD.values() for value in values])
def test_values_of_a_wrong_type_or_out_of_bounds_are_refused(check: Any, value: object) -> None:
    assert check(value) is None


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([], "wrong number of frames"),
        ([b""], "wrong number of frames"),
        ([b"PING"], "wrong number of frames"),
        ([b"", b"PING"], "wrong number of frames"),
        ([b"PING", b"\x80", b"", b""], "wrong number of frames"),
        ([b"", b"", b"PING", b"\x80"], "unknown command"),
        ([b"ping", b"\x80"], "unknown command"),
        ([b"WORKREQUEST", b"\x80"], "unknown command"),  # not for a broker from a worker
        ([b"PING", b""], "header is no map"),
        ([b"PING", b"\x90"], "header is no map"),
        ([b"PING", b"\xc1"], "header is no map"),
        ([b"PING", b"\x81\xa1"], "header is no map"),
        ([b"PING", b"\x80\x80"], "header is no map"),  # something behind it
        ([b"PING", b"\x81\x01\x02"], "header is no map"),  # a key that is no text
        ([b"PING", b"\xc7\xff\x01"], "header is no map"),
        ([b"PING", b"{"], "header is no map"),
        ([b"PING", b"{" * 100_000], "header is no map"),
        ([b"PING", b'{"time":' + b"9" * 5000 + b"}"], "header is no map"),
        ([b"PING", b"\x91" * 100_000], "header is no map"),
        ([b"PING", msgpack.packb({"x": [[]] * (wire.MAX_PARTS - 1)})], "header is no map"),
        ([b"PING", b'{"x": "' + b"x" * wire.MAX_JSON + b'"}'], "header is no map"),
        ([b"PING", b"\x81\xa1x\xda\xff\xff" + b"y" * 1024 * 1024], "header is no map"),
        ([b"PING", b'{"time": NaN, "config_version": 1}'], "bad time"),
        ([b"PING", b"\x80", b"x" * (wire.MAX_BODY + 1)], "body too large"),
    ],
)
def test_what_is_no_message_gives_a_reason(frames: list[bytes], reason: str) -> None:
    assert wire.parse(frames, 0, wire.FROM_WORKERS) == reason


def test_the_limits_on_msgpack_are_those_of_the_house() -> None:
    for fine in ([1] * 1024, dict.fromkeys(map(str, range(256)), 0), "x" * 65_536, b"x" * MAX_FRAME):
        assert wire.unpack(msgpack.packb(fine), 1) == fine
    for wrong in ([1] * 1025, dict.fromkeys(map(str, range(257)), 0), "x" * 65_537, b"x" * (MAX_FRAME + 1)):
        with pytest.raises(ValueError, match="exceeds"):
            wire.unpack(msgpack.packb(wrong), 1)


@given(st.binary(min_size=1, max_size=255), st.binary(min_size=1, max_size=64))
def test_a_task_is_called_by_client_and_id(client: bytes, task_id: bytes) -> None:
    identifier = wire.task_identifier((client, task_id))
    assert wire.identifier(identifier) == wire.identifier(identifier.decode()) == identifier
    assert wire.task_key(identifier) == (client, task_id)


@pytest.mark.parametrize("identifier", [b"xy.00", b"0.0", b"00.0", b"\xff.00", b"00.00.00"])
def test_what_is_no_identifier_of_ours_has_no_task(identifier: bytes) -> None:
    assert wire.task_key(identifier) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
KEYS = sorted(
    {key for known in (wire.FROM_WORKERS, wire.TO_CLIENTS) for fields in known.values() for key, _, _ in fields}
)


@examples(300, derandomize=True, database=None)
@given(
    st.sampled_from([wire.FROM_WORKERS, wire.FROM_CLIENTS, wire.TO_WORKERS, wire.TO_CLIENTS, wire.BETWEEN_BROKERS]),
    st.sampled_from([names.READY, names.PING, names.WORKREPLY, names.CONFIG, names.REPLICA, b"", b"\xff"]),
    st.dictionaries(st.sampled_from(KEYS) | st.text(), VALUES, max_size=8).map(msgpack.packb) | st.binary(),
    st.lists(st.binary(max_size=9), max_size=3),
)
def test_any_frames_give_a_message_or_a_reason(
    known: dict[bytes, wire.Fields], command: bytes, header: bytes, rest: list[bytes]
) -> None:
    for frames in ([command, header, *rest], [*rest, command, header], rest):
        read = wire.parse(frames, 0, known)
        if isinstance(read, str):
            assert read and read.isprintable()
            continue
        command_read, fields, body = read
        wanted = {key: needed for key, needed, _ in known[command_read]}
        assert fields.keys() <= wanted.keys() and {key for key, needed in wanted.items() if needed} <= fields.keys()
        assert isinstance(body, bytes)


@pytest.mark.parametrize(("size", "refused"), [(255, False), (256, True), (100_000, True)])
def test_a_routing_id_is_bounded(size: int, refused: bool) -> None:
    """A raw peer may claim an id that no socket of ZeroMQ can set."""
    frames = [b"x" * size, *wire.build(names.FORCENEGOTIATE, {})]
    found = wire.parse(frames, 1, wire.FROM_BROKER)
    assert (found == "routing id too long") is refused


# ---- sealed messages ------------------------------------------------------------------------------------------------

SEALED: dict[bytes, tuple[dict[str, Any], bytes]] = {
    names.READY: (
        {"services": ["ping", "data"], "slots": 3, "holding": [b"\x01"], "heartbeat_interval": 2.0, "time": 9.5}
        | {"config_version": 1},
        b"",
    ),
    names.CHECKCONFIG: ({"config_type": "json"}, b""),
    names.REPLICA: ({"sequence": 9}, b"body"),
}


@pytest.mark.parametrize("command", SEALED)
def test_of_a_sealed_message_no_bit_can_be_wrong_and_change_what_it_says(command: bytes) -> None:
    """O24. A key that is not read any more is the worst that can happen."""
    header, body = SEALED[command]
    known = {**wire.FROM_WORKERS, **wire.BETWEEN_BROKERS}
    frames = wire.seal(command, header, body)
    right = wire.parse(frames, 0, known)
    assert not isinstance(right, str) and right[2] == body
    for place, frame in enumerate(frames):
        for bit in range(8 * len(frame)):
            wrong = bytearray(frame)
            wrong[bit // 8] ^= 1 << bit % 8
            said = wire.parse([*frames[:place], bytes(wrong), *frames[place + 1 :]], 0, known)
            if not isinstance(said, str):
                assert said[0] == command and said[2] == body
                assert {**said[1], names.CHECK: 0} == {**right[1], names.CHECK: 0}


@pytest.mark.parametrize("check", ["1", "null", '"x"', "1e400", "[]"])
def test_a_check_that_is_none_does_not_agree(check: str) -> None:
    frames = [names.CHECKCONFIG, f'{{"config_type": "json", "big": {10**30}, "check": {check}}}'.encode()]
    assert wire.parse(frames, 0, wire.FROM_WORKERS) == "check does not agree"
