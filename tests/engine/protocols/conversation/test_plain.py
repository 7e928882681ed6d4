"""The worker over plain TCP, against a server that says what the original said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.core import NEVER, Cancel, Exit, Finished, Note, Ordered, Received, Reopen, Send, Start, Started, Woken
from engine.parts.orders import Slow
from engine.protocols.conversation import SYSTEM
from engine.protocols.conversation.header import pack
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.plain import PlainWorker
from tests.helpers.conversation import message, words

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "conversation.json").read_text())["vectors"]
SAID = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in VECTORS}
"""What the original sent, by its name."""


class Wire:
    """A worker of four processors, and the server's hand."""

    def __init__(self) -> None:
        self.worker = PlainWorker(Options(), 4)
        self.now = 10.0
        self.did: list[object] = []
        self.give(Started())

    def give(self, event: object) -> list[str]:
        """What is sent because of an event, in words; the rest is kept."""
        sent = []
        for command in self.worker.handle(event, self.now):  # type: ignore[arg-type]
            if isinstance(command, Send):
                peer, raw = command.frames
                assert (peer, command.socket) == (b"s", STREAM)
                sent.append(words(raw))
            else:
                self.did.append(command)
        self.worker.check()
        return sent

    def hear(self, *chunks: bytes, peer: bytes = b"s") -> list[str]:
        return self.give(Received([[peer, chunk] for chunk in chunks], STREAM))

    def notes(self) -> list[str]:
        return [did.text for did in self.did if isinstance(did, Note)]


def joined() -> Wire:
    wire = Wire()
    assert wire.hear(b"") == [], "the server speaks first"
    assert wire.hear(SAID["OK(0)"]) == ["OK(4)"]
    assert wire.hear(SAID["OK(4)"]) == [] and wire.worker.snapshot(wire.now).joined
    return wire


def test_the_original_servers_dialogue_from_greeting_to_stop() -> None:
    wire = joined()
    job = message("JOB 3/1 #0 echo")
    assert wire.hear(job[:7], job[7:20], job[20:]) == [], "cut anywhere"
    (start,) = [did for did in wire.did if isinstance(did, Start)]
    assert wire.give(Finished(start.key, True, b"done\0job_1.log")) == ["UPDATE 3/1 done free 4"]
    assert wire.hear(SAID["OK(4)"]) == []
    assert wire.hear(SAID["STOP(1)"], SAID["STOP(3)"]) == [], "its end is the end of the connection"
    assert wire.did[-1] == Exit("stopped")
    assert wire.worker.wake_at() == NEVER


def test_any_number_opens_the_conversation_and_confirms_it_and_is_told() -> None:
    """Ruling 13. Over ZeroMQ an OK(5) before the greeting may be of the conversation before."""
    wire = Wire()
    assert wire.hear(b"", SAID["OK(5)"]) == ["OK(4)"]
    assert wire.hear(SAID["OK(17)"]) == [] and wire.worker.snapshot(wire.now).joined
    assert wire.notes()[:2] == [
        "the server's greeting is OK(5), not OK(0): taken as any number is",
        "the server's answer to our processors is OK(17), not OK(4): taken as any number is",
    ]


def test_nothing_is_sent_by_time_alone() -> None:
    wire = joined()
    assert wire.worker.wake_at() == NEVER
    wire.now += 1000
    assert wire.give(Woken()) == [] and wire.worker.snapshot(wire.now).joined
    wire.give(Ordered(Slow(2.0)))
    wire.hear(message("JOB 3/1 #0 :ping"))
    assert wire.worker.wake_at() == wire.now + 2
    wire.now += 2
    assert wire.give(Woken()) == ["UPDATE 3/1 done free 4"]


def test_a_server_that_closes_ends_what_runs_and_is_looked_for_again() -> None:
    wire = joined()
    wire.hear(message("JOB 3/1 #0 echo"))
    wire.hear(b"")
    assert Cancel(1) in wire.did and not wire.worker.running
    assert wire.hear(b"", SAID["OK(0)"], peer=b"late") == [], "of a connection that will be closed"
    wire.now = wire.worker.wake_at()
    assert wire.give(Woken()) == [] and wire.did[-1] == Reopen(STREAM)
    assert wire.hear(b"", SAID["OK(0)"]) == ["OK(4)"]


def test_a_server_that_closes_before_it_greets_is_waited_for() -> None:
    wire = Wire()
    wire.hear(b"", SAID["OK(0)"][:5], b"")
    assert wire.did == [] and wire.hear(b"", SAID["OK(0)"]) == ["OK(4)"]


def test_what_can_not_be_read_ends_the_conversation() -> None:
    wire = joined()
    assert wire.hear(b"GET / HTTP/1.1\r\n") == []
    assert wire.worker.violations.total == 1 and wire.worker.state == "CL_INIT0"


def test_stop_immed_exits_at_once_and_says_nothing() -> None:
    wire = joined()
    wire.hear(message("JOB 3/1 #0 echo"))
    assert wire.hear(SAID["STOP(immed)"]) == []
    assert wire.did[-2:] == [Cancel(1), Exit("stopped at once")]


@pytest.mark.parametrize(("endpoint", "at"), [("tcp+plain://127.0.0.1:6916", "tcp://127.0.0.1:6916")])
def test_its_seat(endpoint: str, at: str) -> None:
    seat = SYSTEM.worker(Options(), endpoint, 1, 4)
    assert isinstance(seat.core, PlainWorker)
    (socket,) = seat.sockets
    assert (socket.kind, socket.connect, socket.name, socket.private) == ("stream", (at,), STREAM, True)
    assert pack(1, 0) == SAID["OK(0)"]
