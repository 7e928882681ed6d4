"""Side by side by peer, each peer's in their old order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from engine.core import Command, Note, Send
from engine.drive.grouping import MANY, by_peer


@given(some.lists(some.tuples(some.sampled_from([b"a", b"b", b"c"]), some.binary(max_size=2)), max_size=40))
def test_nothing_is_lost_and_each_peer_has_its_messages_in_order(sent: list[tuple[bytes, bytes]]) -> None:
    commands: list[Command] = [Send([peer, body]) for peer, body in sent]
    grouped = by_peer(commands)
    assert sorted(map(id, grouped)) == sorted(map(id, commands))
    for peer in (b"a", b"b", b"c"):
        mine = [command for command in commands if isinstance(command, Send) and command.frames[0] == peer]
        assert [command for command in grouped if isinstance(command, Send) and command.frames[0] == peer] == mine


def test_many_stand_side_by_side() -> None:
    commands: list[Command] = [Send([peer, b"x"]) for _ in range(MANY) for peer in (b"a", b"b")]
    peers = [command.frames[0] for command in by_peer(commands) if isinstance(command, Send)]
    assert peers == [b"a"] * MANY + [b"b"] * MANY


def test_a_few_or_anything_but_sends_stay_as_they_are() -> None:
    few: list[Command] = [Send([peer, b"x"]) for peer in (b"a", b"b", b"a")]
    assert by_peer(few) is few
    mixed: list[Command] = [Note("info", "here"), *few, *few, *few]
    assert by_peer(mixed) is mixed
