from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.negotiated.config import TYPES, Address, Config, decode, encode
from tests.helpers.examples import examples

ONE = Config(3, 1.0, 30.0, (Address("tcp://127.0.0.1:6717", "tcp://127.0.0.1:6817"), Address("ipc://a/b", "ipc://a/c")))

ZFL = b"""#   written by hand
version = 3          # a comment
heartbeat_interval = '1.0'
skew = "30"
unknown
    nested = 1
brokers   # the group
    broker
        workers = "tcp://127.0.0.1:6717"
        clients = 'tcp://127.0.0.1:6817'

    broker
        workers = ipc://a/b
        clients = ipc://a/c    # not quoted
"""

endpoints = st.from_regex(r"\A(tcp|ipc|inproc)://[A-Za-z0-9_.:/@%+~*\[\]-]{1,60}\Z")
configs = st.builds(
    Config,
    version=st.integers(0, 2**31 - 1),
    heartbeat_interval=st.integers(1, 360_000).map(lambda cents: cents / 100),
    skew=st.integers(1, 3600).map(float),
    brokers=st.lists(st.builds(Address, endpoints, endpoints), max_size=4).map(tuple),
)


@examples(60, derandomize=True, database=None)
@given(configs, st.sampled_from(TYPES))
def test_each_form_reads_what_it_wrote(config: Config, kind: str) -> None:
    assert decode(encode(config, kind), kind) == config


def test_the_forms_are_what_their_readers_expect() -> None:
    assert json.loads(encode(ONE, "json"))["brokers"][1] == {"workers": "ipc://a/b", "clients": "ipc://a/c"}
    assert encode(ONE, "xml").startswith(b"<configuration><version>3</version>")
    assert encode(ONE, "zfl").splitlines()[:6] == [
        b"version = 3",
        b"heartbeat_interval = 1.0",
        b"skew = 30.0",
        b"brokers",
        b"    broker",
        b'        workers = "tcp://127.0.0.1:6717"',
    ]


def test_three_forms_one_hash() -> None:
    """O7; what is in it: O8."""
    hashes = {config.hash for kind in TYPES if (config := decode(encode(ONE, kind), kind)) is not None}
    assert hashes == {ONE.hash} and len(ONE.hash) == 64
    assert ONE.at(4).hash != ONE.hash and ONE.at(4).brokers == ONE.brokers


def test_zfl_by_hand_as_rfc_4_allows() -> None:
    """Comments, both quotes, no quotes, empty lines, siblings of one name, properties that nobody knows."""
    assert decode(ZFL, "zfl") == ONE
    assert decode(ZFL.replace(b"\n", b"\r\n"), "zfl") == ONE
    assert decode(ZFL.replace(b"\n", b"\r"), "zfl") == ONE


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("version = 3", 3),
        ("version=3", 3),
        ('version = "3"#x', 3),
        ('version = "3', None),  # a quote that does not end is part of the value
        ("version = '3\"", None),
        ("version = 3 3", None),
        ("  version = 3", None),  # not a level
        ("    version = 3", None),  # a child of nothing
        ("ver sion = 3", None),
        ("= 3", None),
    ],
)
def test_zfl_lines(line: str, version: int | None) -> None:
    config = decode(f"{line}\nheartbeat_interval = 1\nskew = 1\n".encode(), "zfl")
    assert (config.version if config is not None else None) == version


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"x" * 70_000,
        b"[]",
        b"{" * 10_000,
        b'{"version": 1}',
        b"<a",
        b"<other/>",
        b'<?xml version="1.0" encoding="nothing"?><configuration/>',
        b"<configuration><version>1</version></configuration>",
        b'<!DOCTYPE x [<!ENTITY a "b">]><configuration>&a;</configuration>',
        b"version = 1\n",
        b"\t\x00",
    ],
)
def test_what_is_no_configuration_is_none(kind: str, data: bytes) -> None:
    assert decode(data, kind) is None


BOMB = "".join(
    [
        "<!DOCTYPE x [<!ENTITY a0 'xxxxxxxxxxxxxxxx'>",
        *(f"<!ENTITY a{i} '{f'&a{i - 1};' * 16}'>" for i in range(1, 6)),
        "]><configuration><version>&a5;</version></configuration>",
    ]
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("document", [BOMB, "<!DOCTYPE x><configuration/>", "<!DOCTYPE x SYSTEM 'file:///x'><x/>"])
def test_a_document_type_is_refused_in_every_encoding(document: str, encoding: str) -> None:
    """O15."""
    data = f'<?xml version="1.0" encoding="{encoding.removesuffix("-le").removesuffix("-be")}"?>{document}'.encode(
        encoding
    )
    if encoding.startswith("utf-16-"):
        data = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}[encoding] + data
    tracemalloc.start()
    assert decode(data, "xml") is None
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000, "nothing has grown"


def test_xml_in_another_encoding_is_read() -> None:
    text = encode(ONE, "xml").decode()
    assert decode(f'<?xml version="1.0" encoding="utf-16"?>{text}'.encode("utf-16"), "xml") == ONE
    assert decode(f"<!-- by hand -->{text}".encode(), "xml") == ONE, "a comment declares nothing"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", True),
        ("version", "3"),
        ("version", -1),
        ("heartbeat_interval", 0),
        ("heartbeat_interval", None),
        ("skew", [1]),
        ("brokers", {}),
        ("brokers", [1]),
        ("brokers", [{"workers": "tcp://a"}]),
        ("brokers", [{"workers": "", "clients": ""}]),
        ("brokers", [{"workers": "http://a", "clients": "tcp://a"}]),
        ("brokers", [{"workers": "tcp://a", "clients": "tcp://a"}] * 65),
    ],
)
def test_json_is_checked_for_exact_types(key: str, value: object) -> None:
    tree = json.loads(encode(ONE, "json"))
    assert decode(json.dumps({**tree, key: value}).encode(), "json") is None


@examples(200, derandomize=True, database=None)
@given(
    st.binary(max_size=200) | st.text(alphabet="<>/a=\"' #\n\r{}[]1.", max_size=80).map(str.encode),
    st.sampled_from(TYPES),
)
def test_any_bytes_give_a_configuration_or_none(data: bytes, kind: str) -> None:
    config = decode(data, kind)
    assert config is None or decode(encode(config, kind), kind) == config
