"""The bodies: the original's bytes both ways, what it takes leniently, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.conversation import messages
from engine.protocols.conversation.messages import Description, TaskBody, Update

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "conversation.json").read_text(encoding="utf-8"))
HEADER = 12
EMPTY = Description(0, "", 0, "", "", "")


def body(vector: dict[str, Any]) -> bytes:
    return bytes.fromhex(vector["hex"])[0 if vector.get("name", "").startswith("payload") else HEADER :]


def task_of(value: dict[str, Any]) -> TaskBody:
    fields = ("job_id", "name", "num_tasks", "working_dir", "logging_dir", "command")
    about = Description(*(value[name] for name in fields))._replace(status=messages.STATUS.index(value["status"]))
    return TaskBody(value["task"], about)


def of(kind: str) -> list[Any]:
    return [pytest.param(v, id=v["name"]) for v in VECTORS["vectors"] if v["name"].startswith(kind)]


@pytest.mark.parametrize("vector", of("JOB"))
def test_tasks_byte_for_byte(vector: dict[str, Any]) -> None:
    task = task_of(vector["value"])
    assert messages.tasks(body(vector)) == [task]
    assert messages.pack_task(task.number, messages.pack_description(task.job)) == body(vector)


@pytest.mark.parametrize("vector", of("UPDATE"))
def test_updates_byte_for_byte(vector: dict[str, Any]) -> None:
    value = vector["value"]
    free = value["newjob"]["nproc"] if value["newjob"] else None
    update = Update(value["job_id"], value["task"], value["success"], value["status"], free)
    assert messages.update(body(vector)) == update
    assert messages.pack_update(update) == body(vector)


@pytest.mark.parametrize("vector", of("payload"))
def test_ruling_3_an_array_of_tasks(vector: dict[str, Any]) -> None:
    assert messages.tasks(body(vector)) == [task_of(value) for value in vector["value"]]


def test_lenient_bodies() -> None:
    bodies = {vector["why"]: body(vector) for vector in VECTORS["lenient"]}
    for why, raw in bodies.items():
        if "trailing" in why:
            assert messages.tasks(raw) == [TaskBody(0, EMPTY)]
        elif "JOB" in why:  # ruling: no body and nil are refused
            assert messages.tasks(raw) == "unreadable job"
    assert len(bodies) == 4


def test_structs_as_arrays_and_unknown_keys() -> None:
    about = [3, "n", 5, "/w", "/l", "c", 1]
    raw = msgpack.packb([2, about])
    assert messages.tasks(raw) == [TaskBody(2, Description(3, "n", 5, "/w", "/l", "c", 1))]
    assert messages.tasks(msgpack.packb([[2, about], {"Task": 1, "More": [None]}])) == [
        TaskBody(2, Description(3, "n", 5, "/w", "/l", "c", 1)),
        TaskBody(1, EMPTY),
    ]
    assert messages.update(msgpack.packb([7, 8, True, "done", [4]])) == Update(7, 8, True, "done", 4)


def test_ruling_4_an_extra_key() -> None:
    raw = messages.pack_task(1, messages.pack_description(EMPTY), 3)
    assert msgpack.unpackb(raw)["NumProc"] == 3 and messages.tasks(raw) == [TaskBody(1, EMPTY, 3)]
    assert messages.tasks(msgpack.packb({"NumProc": 0})) == "unreadable job"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        3,
        "x",
        {"Task": True},
        {"Task": None},
        {"Task": 1.0},
        {"Task": "1"},
        {"Task": 2**63},
        {"JobDescription": None},
        {"JobDescription": {"JobId": -1}},
        {"JobDescription": {"Name": None}},
        {"JobDescription": {"Name": b"x"}},
        {"JobDescription": {"Status": 5}},
        {"JobDescription": {"NumTasks": -1}},
        {"JobDescription": {"Command": ["x"]}},
        [{"Task": 1}, None],
        [{"Task": 1}, 7],
    ],
)
def test_refused_tasks(value: object) -> None:
    assert messages.tasks(msgpack.packb(value)) == "unreadable job"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [[]],
        {"JobId": -1},
        {"JobId": True},
        {"Success": 1},
        {"Status": None},
        {"NewJob": 3},
        {"NewJob": {"NumProc": -1}},
        {"NewJob": {"NumProc": True}},
        {"Data": "text"},
    ],
)
def test_refused_updates(value: object) -> None:
    assert messages.update(msgpack.packb(value)) == "unreadable update"


@pytest.mark.parametrize(
    "raw", [b"\xc1", b"\x91" * 2000, b"\xdd\xff\xff\xff\xff", b"\xc7\x01\x05x", b"\xa1\xff", b"\x81"]
)
def test_no_msgpack(raw: bytes) -> None:
    assert messages.load(raw, messages.FEW) is None


@given(st.binary(max_size=60))
def test_total(raw: bytes) -> None:
    assert isinstance(messages.tasks(raw), list | str) and isinstance(messages.update(raw), Update | str)


@given(
    st.builds(
        Update, st.integers(0, 2**64 - 1), st.integers(-(2**63) + 1, 2**63 - 1), st.booleans(), st.text(), st.none()
    )
)
def test_updates_both_ways(update: Update) -> None:
    for each in (update, update._replace(free=3), update._replace(data=b"\0\1"), update._replace(log="job_1.log")):
        assert messages.update(messages.pack_update(each)) == each


def test_few_bytes_do_not_make_many_values() -> None:
    """An unknown key is ignored, but it has to be read."""
    update = {"JobId": 1, "Task": 1, "Success": True, "Status": "done", "NewJob": {"NumProc": 1}}
    parts = messages.FEW - 2
    assert messages.update(msgpack.packb({**update, "x": [[]] * (parts - 1)})) == Update(1, 1, True, "done", 1)
    assert messages.update(msgpack.packb({**update, "x": [[]] * parts})) == "unreadable update"


def test_an_update_brings_no_more_data_than_can_be_asked_for() -> None:
    """It goes on to the client in one frame, and a frame that is too large would end that one's connection."""
    update = Update(1, 1, True, messages.DONE, None, bytes(messages.MAX_DATA))
    assert messages.update(messages.pack_update(update)) == update
    more = update._replace(data=bytes(messages.MAX_DATA + 1))
    assert messages.update(messages.pack_update(more)) == "unreadable update"


def test_built_in_commands() -> None:
    assert messages.built_in(":ping") and not messages.built_in("ping")
    assert messages.answer(":ping") == messages.answer(":data 0") == b""
    data = messages.answer(":data 1000")
    assert data is not None and len(data) == 1000 and data != data[1:] + data[:1]
    assert len(messages.answer(f":data {messages.MAX_DATA}") or b"") == messages.MAX_DATA
    for wrong in (
        ":data",
        ":data x",
        ":data -1",
        ":data ٣",
        f":data {messages.MAX_DATA + 1}",
        ":data 99999999",
        ":Ping",
        "true",
    ):
        assert messages.answer(wrong) is None


def test_a_lone_task_is_built_in_and_single() -> None:
    one = EMPTY._replace(num_tasks=1, command=":ping")
    assert messages.lone(one) and not messages.lone(one._replace(num_tasks=2))
    assert not messages.lone(one._replace(command="true"))


@pytest.mark.parametrize(
    ("name", "command", "ident"),
    [
        ("0f" * 16, ":ping", b"\x0f" * 16),
        ("0f" * 16, "echo", b""),
        ("0f" * 15, ":ping", b""),
        ("xy" * 16, ":ping", b""),
    ],
)
def test_the_id_of_a_lone_task_is_its_name(name: str, command: str, ident: bytes) -> None:
    assert messages.ident_of(Description(0, name, 1, "", "", command)) == ident
