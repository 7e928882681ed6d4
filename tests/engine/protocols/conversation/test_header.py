"""The header and the byte stream: the original's bytes, any cut, and what breaks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.conversation import header
from engine.protocols.conversation.header import ERROR, JOB, OK, STOP, UPDATE, Decoder, pack, pack_body

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "conversation.json").read_text(encoding="utf-8"))
LIMIT = 16 * 1024 * 1024


def named(kind: str) -> list[Any]:
    return [pytest.param(vector, id=vector.get("name") or vector["why"]) for vector in VECTORS[kind]]


def why(decoder: Decoder) -> str:
    return decoder.broken


def test_the_numbers_of_the_original() -> None:
    assert VECTORS["magic"] == header.MAGIC
    assert VECTORS["types"] == {name: kind for kind, name in header.NAMES.items() if kind != ERROR}


@pytest.mark.parametrize("vector", named("vectors"))
def test_vectors_byte_for_byte(vector: dict[str, Any]) -> None:
    wire = bytes.fromhex(vector["hex"])
    decoder = Decoder(LIMIT)
    found = decoder.feed(wire)
    if vector["name"].startswith("payload"):
        assert (found, decoder.broken) == ([], "wrong magic")  # a body alone
        return
    [(kind, padding, arg0, body)] = found
    assert vector["name"].startswith(header.NAMES[kind]) and padding == 0 and not decoder.partial
    if kind in (OK, STOP):
        assert arg0 == vector["value"] and body == b"" and pack(kind, arg0) == wire
    else:
        assert arg0 == len(body) and pack_body(kind, body) == wire


def test_our_error_is_the_one_on_record() -> None:
    assert pack(ERROR, header.CANNOT_RUN_JOB).hex() == VECTORS["ours"][0]["hex"]


@pytest.mark.parametrize("vector", named("negative"))
def test_negatives(vector: dict[str, Any]) -> None:
    """Refused, or waited for: a stream does not tell a short message from a slow one until it ends."""
    decoder = Decoder(LIMIT)
    found = decoder.feed(bytes.fromhex(vector["hex"]))
    why = vector["why"]
    if "no ERROR" in why:
        assert found == [(ERROR, 0, 1, b"")]  # ours
    elif "msgpack" in why:
        assert found == [(JOB, 0, 1, b"\xc1")]  # the body's own parser refuses it
    elif "EOF" in why:
        assert found == [] and decoder.partial and not decoder.broken
    else:
        assert found == [] and decoder.broken == ("wrong magic" if "magic" in why else "unknown message type")


@pytest.mark.parametrize("vector", named("lenient"))
def test_lenient_headers(vector: dict[str, Any]) -> None:
    decoder = Decoder(LIMIT)
    assert len(decoder.feed(bytes.fromhex(vector["hex"]))) == 1 and not decoder.broken


def test_padding_is_kept_for_ruling_8() -> None:
    assert Decoder(LIMIT).feed(pack(ERROR, 1, 7) + pack_body(JOB, b"x", 9)) == [(ERROR, 7, 1, b""), (JOB, 9, 1, b"x")]


messages = st.one_of(
    st.builds(pack, st.sampled_from([OK, STOP, ERROR]), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    st.builds(pack_body, st.sampled_from([JOB, UPDATE]), st.binary(max_size=50), st.integers(0, 2**32 - 1)),
)


@given(st.lists(messages, max_size=8), st.data())
def test_any_cut_gives_the_same_messages(whole: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(whole)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    decoder = Decoder(LIMIT)
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += decoder.feed(stream[start:end])
    assert [pack(k, a, p) if k in (OK, STOP, ERROR) else pack_body(k, b, p) for k, p, a, b in found] == whole
    assert decoder.count == len(whole) and not decoder.partial and not decoder.broken


@given(st.binary(max_size=200), st.data())
def test_any_bytes(noise: bytes, data: st.DataObject) -> None:
    """Total: cut anywhere, the same messages and the same verdict as in one piece."""
    cut = data.draw(st.integers(0, len(noise)))
    one, two = Decoder(64), Decoder(64)
    assert one.feed(noise) == two.feed(noise[:cut]) + two.feed(noise[cut:])
    assert (one.broken, one.partial, one.count) == (two.broken, two.partial, two.count)


def test_ruling_11_a_length_beyond_the_limit_is_refused_by_its_header() -> None:
    decoder = Decoder(100)
    assert decoder.feed(pack_body(UPDATE, bytes(100))[:-1]) == [] and not why(decoder)
    assert decoder.feed(b"\0") == [(UPDATE, 0, 100, bytes(100))]
    assert decoder.feed(bytes.fromhex("47c00300000000006500") + b"\0\0") == []
    assert why(decoder) == "body too long" and not decoder.partial
    assert decoder.feed(pack(OK, 1)) == []  # for good


def test_what_came_before_the_fault_still_counts() -> None:
    decoder = Decoder(LIMIT)
    assert decoder.feed(pack(OK, 1) + b"GET / HTTP/1.1\r\n") == [(OK, 0, 1, b"")]
    assert why(decoder) == "wrong magic"


def test_a_wrong_first_byte_is_not_waited_upon() -> None:
    decoder = Decoder(LIMIT)
    decoder.feed(b"\x16")
    assert why(decoder) == "wrong magic"
    decoder = Decoder(LIMIT)
    decoder.feed(b"\x47")
    assert decoder.partial and not why(decoder)
    decoder.feed(b"\xc1")
    assert why(decoder) == "wrong magic"


@pytest.mark.parametrize(("kind", "arg0"), [(STOP, n) for n in (0, 1, 2, 3, 4, 8, 0xFFFF_FFFF)] + [(ERROR, 3)])
def test_no_flipped_bit_of_what_is_sealed_makes_a_stop_that_is_believed(kind: int, arg0: int) -> None:
    whole = header.pack_sealed(kind, arg0)
    assert header.is_whole(kind, header.seal(kind, arg0), arg0)
    for bit in range(8 * len(whole)):
        wrong = bytearray(whole)
        wrong[bit // 8] ^= 1 << bit % 8
        for found, padding, said, _ in Decoder(LIMIT).feed(bytes(wrong)):
            assert found != STOP or not header.is_whole(found, padding, said), bit


def test_the_originals_stop_has_no_seal_and_is_believed() -> None:
    assert header.is_whole(STOP, 0, 2)
    assert header.pack_sealed(STOP, 2)[:4] + bytes(4) + header.pack_sealed(STOP, 2)[8:] == pack(STOP, 2)
