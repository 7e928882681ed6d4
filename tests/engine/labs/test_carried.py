"""Which orders are carried to a lab of another process, and what they are given."""

from __future__ import annotations

import inspect
from typing import Any, get_args

import pytest

from engine.catalogue import QUEUES, SYSTEMS
from engine.errors import Refused
from engine.labs.carried import ORDERS, arguments
from engine.labs.content import BrokerLab, QueueLab
from engine.labs.shared import codec_of
from engine.parts.bulk import BulkSpec

ROUND = SYSTEMS["roundrobin"]
CODEC = codec_of(ROUND)


def test_each_is_an_order_of_its_content_with_as_many_arguments() -> None:
    for kind, lab in (("brokers", BrokerLab), ("queues", QueueLab)):
        for name, types in ORDERS[kind].items():
            _, *wanted = inspect.signature(getattr(lab, name)).parameters
            assert len(wanted) == len([one for one in get_args(types) if one != ()]), name


@pytest.mark.parametrize(
    ("name", "args"),
    [("run", (BulkSpec("ping", 5),)), ("slow", (2.5,)), ("inspect", (None,)), ("operate", ("config", (("key", "k"),)))],
)
def test_an_order_comes_as_it_was_given(name: str, args: tuple[Any, ...]) -> None:
    assert arguments(ROUND, CODEC, name, CODEC.plain(args)) == (name, args)


@pytest.mark.parametrize(
    ("name", "args", "why"),
    [
        ("close", (), "takes no order 'close'"),
        ("__class__", (), "takes no order"),
        (7, (), "takes no order"),
        ("slow", ("x",), "other types"),
        ("slow", (), "other types"),
        ("run", (BulkSpec("ping", -5),), "n: "),
        ("run", (5,), "other types"),
        ("add_workers", (True,), "other types"),
    ],
)
def test_what_is_none_is_refused_in_words(name: object, args: tuple[Any, ...], why: str) -> None:
    with pytest.raises(Refused, match=why):
        arguments(ROUND, CODEC, name, CODEC.plain(args))
    with pytest.raises(Refused, match="can not be read"):
        arguments(ROUND, CODEC, "slow", ["\x00", "os.system", "true"])


def test_those_of_queues_are_others() -> None:
    queues = QUEUES["diskqueue"]
    codec = codec_of(queues)
    assert arguments(queues, codec, "retry", codec.plain(("q", "d"))) == ("retry", ("q", "d"))
    with pytest.raises(Refused, match="takes no order 'run'"):
        arguments(queues, codec, "run", codec.plain((BulkSpec("ping", 5),)))
