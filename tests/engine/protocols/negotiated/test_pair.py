from __future__ import annotations

from typing import Any

import pytest

from engine.core import Reopen, Send
from engine.parts.inflight import Task
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.dispatcher import Dispatcher
from engine.protocols.negotiated.pair import FALLBACK_ID, PEER, Pair

CONFIG = Config(1, 1.0, 30.0, ())
NOWHERE = Address("", "")


class End:
    """One side, with its dispatcher."""

    def __init__(self, role: Any) -> None:
        self.pair = Pair(role, 1.0, NOWHERE)
        self.pair.start(0.0, 0.0)
        self.dispatcher = Dispatcher()
        self.config = CONFIG

    def flush(self, now: float) -> list[tuple[bytes, wire.Header, bytes]]:
        """What it says, read again."""
        said = []
        for send in self.pair.flush(self.dispatcher, self.config, now):
            assert isinstance(send, Send) and send.socket == PEER
            start = 1 if self.pair.role == "primary" else 0
            assert not start or send.frames[0] == FALLBACK_ID
            message = wire.parse(send.frames, start, wire.BETWEEN_BROKERS)
            assert not isinstance(message, str), message
            said.append(message)
        return said

    def hear(self, messages: list[tuple[bytes, wire.Header, bytes]], now: float) -> None:
        for command, header, body in messages:
            if command == names.BROKERSTATE:
                self.pair.state(header, self.dispatcher, now)
                continue
            changed = self.pair.change(header["sequence"], body, self.dispatcher, now)
            if changed is not None:
                self.dispatcher, config = changed
                self.config = config or self.config


def joined() -> tuple[End, End]:
    """A pair of which the primary serves and the fallback follows."""
    primary, fallback = End("primary"), End("backup")
    for i in range(6):
        now = 0.5 * i
        fallback.hear(primary.flush(now), now)
        primary.hear(fallback.flush(now), now)
    assert primary.pair.standby.active and fallback.pair.standby.state == "passive"
    assert primary.dispatcher.log == [] and fallback.pair.followed >= 0
    return primary, fallback


def work(dispatcher: Dispatcher, task_id: bytes) -> None:
    dispatcher.join(b"w", ("x",), 5, 0.0)
    dispatcher.accept(Task((b"c", task_id), "x", [b""], 0.0))
    dispatcher.give(dispatcher.queues["x"], 0.0)


def test_changes_go_over_in_order() -> None:
    primary, fallback = joined()
    work(primary.dispatcher, b"1")
    work(primary.dispatcher, b"2")
    fallback.hear(primary.flush(2.6), 2.6)
    assert list(fallback.dispatcher.tasks) == [(b"c", b"1"), (b"c", b"2")]
    assert fallback.dispatcher.in_flight.held(b"w") == 2
    assert primary.flush(2.6) == [], "and nothing else is sent"
    assert primary.pair.copy(primary.dispatcher) == "kept up to date"
    assert fallback.pair.copy(fallback.dispatcher) == "1 worker, 2 tasks"


def test_a_missing_change_is_asked_for_by_everything() -> None:
    primary, fallback = joined()
    work(primary.dispatcher, b"1")
    primary.flush(2.6)  # lost
    work(primary.dispatcher, b"2")
    fallback.hear(primary.flush(2.7), 2.7)
    assert fallback.pair.followed == -1 and not fallback.dispatcher.tasks
    assert fallback.pair.copy(fallback.dispatcher) == "none yet"
    primary.hear(fallback.flush(2.7), 2.7)
    fallback.hear(primary.flush(2.8), 2.8)
    assert fallback.pair.followed >= 0 and len(fallback.dispatcher.tasks) == 2


def test_a_lost_change_with_nothing_after_it_shows_in_the_next_beat() -> None:
    primary, fallback = joined()
    work(primary.dispatcher, b"1")
    primary.flush(2.6)  # lost
    fallback.hear(primary.flush(3.1), 3.1)
    assert fallback.pair.followed == -1
    primary.hear(fallback.flush(3.1), 3.1)
    fallback.hear(primary.flush(3.2), 3.2)
    assert len(fallback.dispatcher.tasks) == 1


def test_nothing_is_noted_for_a_fallback_that_is_not_there() -> None:
    primary, fallback = joined()
    primary.pair.unsent(primary.dispatcher)
    assert primary.dispatcher.log is None
    assert primary.pair.copy(primary.dispatcher) == "none: the other broker is not there"
    work(primary.dispatcher, b"1")
    assert all(command == names.BROKERSTATE for command, _, _ in primary.flush(3.0))
    primary.hear(fallback.flush(3.0), 3.0)
    fallback.hear(primary.flush(3.0), 3.0)
    assert len(fallback.dispatcher.tasks) == 1


def test_the_configuration_goes_over_too() -> None:
    primary, fallback = joined()
    primary.config = CONFIG.at(7)
    primary.pair.publish(primary.dispatcher, primary.config)
    fallback.hear(primary.flush(2.6), 2.6)
    assert fallback.config == CONFIG.at(7)


@pytest.mark.parametrize("body", [b"", b"\x90", b"\x91\x92\xa1x\xc4\x00"])
def test_changes_that_can_not_be_read_are_asked_for_anew(body: bytes) -> None:
    _, fallback = joined()
    fallback.pair.change(fallback.pair.followed + 1, body, fallback.dispatcher, 3.0)
    assert fallback.pair.followed == -1 and fallback.pair.standby.beat_at == 3.0


def test_changes_count_only_from_a_peer_that_serves_while_we_do_not() -> None:
    primary, fallback = joined()
    (change,) = [message for message in primary_whole(primary) if message[0] == names.REPLICA]
    assert primary.pair.change(change[1]["sequence"], change[2], primary.dispatcher, 3.0) is None
    fallback.pair.standby.peer_state = "passive"
    assert fallback.pair.change(change[1]["sequence"], change[2], fallback.dispatcher, 3.0) is None


def primary_whole(primary: End) -> list[tuple[bytes, wire.Header, bytes]]:
    header = {"state": "passive", "sequence": 99, "echo": primary.pair.standby.sequence, "replica": -1}
    primary.pair.state(header, primary.dispatcher, 3.0)
    return primary.flush(3.0)


def test_the_fallback_connects_anew_while_the_primary_is_silent() -> None:
    primary, fallback = joined()
    opened = []
    for i in range(60):
        now = 3.0 + i * 0.5
        opened += [
            now for command in fallback.pair.flush(fallback.dispatcher, CONFIG, now) if isinstance(command, Reopen)
        ]
        silent = primary.pair.flush(primary.dispatcher, CONFIG, now)
        assert not any(isinstance(command, Reopen) for command in silent)
    assert opened[1:4] == [opened[0] + 5.0, opened[0] + 10.0, opened[0] + 15.0]
    assert 7.5 <= opened[0] <= 8.0, "five intervals after it was heard last"


def test_ranks_in_words() -> None:
    primary, fallback = joined()
    assert primary.pair.note()[:2] == ("good", "the primary serves")
    assert fallback.pair.note()[:2] == ("good", "the fallback stands by")
    fallback.pair.standby.state = "active"
    assert fallback.pair.note()[:2] == ("warn", "the fallback serves")
