"""The store in NATS, judged by the same model as the others; a server that is absent, wrong, slow or full."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random

import pytest

from engine.core import Ended, Entry, Outcome, Store, Stored
from engine.drive.stores import natsstreams
from engine.drive.stores.jetstream import JetStream
from engine.drive.stores.natsstreams import ANSWERED
from engine.parts.store import Unavailable
from tests.chaos.proxy import Proxy
from tests.engine.drive.stores.test_sqlite import end, put
from tests.helpers.natsserver import Server
from tests.helpers.neednats import needed
from tests.helpers.processes import until
from tests.helpers.storemodel import Crash, Judge


class Singly(JetStream):
    """One command after the other: of those that come together all ends are done first."""

    def perform(self, commands: list[Store]) -> list[Stored]:
        return [answer for command in commands for answer in super(Singly, self).perform([command])]


@pytest.mark.parametrize("seed", range(2))
def test_it_does_what_it_is_asked_for_through_crashes(backlog: str, seed: int) -> None:
    def crash(store: object, commands: list[Store], random: Random) -> Crash:
        assert isinstance(store, Singly)
        done = random.random() < 0.5
        if done:
            store.perform([command._replace(lease=0) for command in commands])
        store.close()
        return Crash(Singly(backlog), done or not commands)

    judged = Judge(Singly(backlog), crash, Random(seed), shared=True)
    try:
        judged.play(12)
    finally:
        judged.store.close()


@needed
def test_a_server_that_is_absent_comes_by_itself_and_nothing_was_sent_meanwhile(tmp_path: Path) -> None:
    server = Server(tmp_path / "nats")
    with closing(JetStream(f"{server.url}/x", patience=0.1)) as store:
        with pytest.raises(Unavailable, match="no NATS server at nats://127"):
            put(store, 1)
        with server:
            answers: list[Stored] = []

            def again() -> bool:
                try:
                    answers.append(put(store, 1, lease=1))
                except Unavailable:
                    return False
                return True

            until(again, "the server")
            assert answers[0].fates == [None] and len(answers[0].leased) == 1


@needed
def test_what_is_no_nats_server_is_said_to_be_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            while True:
                try:
                    with listener.accept()[0] as one:
                        one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                except OSError:
                    return

        thread = threading.Thread(target=refuse)
        thread.start()
        url = f"nats://127.0.0.1:{listener.getsockname()[1]}"
        with closing(JetStream(url, patience=1.0)) as store, pytest.raises(Unavailable, match="no NATS server"):
            put(store, 1)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def refusal(store: JetStream, number: int) -> str:
    """Why a task is refused; empty where it is taken."""
    try:
        return str(put(store, number).refused)
    except Unavailable as why:
        return str(why)


@needed
def test_a_server_that_wants_a_password_is_said_to_refuse_until_it_wants_none(tmp_path: Path) -> None:
    server = Server(tmp_path / "nats", 0, "--user", "me", "--pass", "secret")
    with closing(JetStream(f"{server.url}/x", patience=0.1)) as store:
        with server:
            said = f"the NATS server refuses us at {store.name}: nats: 'Authorization Violation'"
            until(lambda: refusal(store, 1) == said, "the refusal")
            with closing(JetStream(f"nats://me:secret@127.0.0.1:{server.port}/x")) as allowed:
                assert put(allowed, 1).fates == [None]
        with Server(tmp_path / "nats", server.port):
            until(lambda: not refusal(store, 2), "the server without a password")
            assert store.counts().waiting == 2


def test_streams_of_somebody_else_are_said_to_be_that_until_they_are_gone(backlog: str, nats_server: Server) -> None:
    with closing(JetStream(f"{nats_server.url}/owner")) as owner, closing(JetStream(backlog, patience=0.1)) as store:
        owner.counts()
        name = f"{backlog.rpartition('/')[2]}-tasks"
        theirs = {"name": name, "subjects": [f"{name}.theirs"]}
        owner.link.run(owner.streams.api(f"STREAM.CREATE.{name}", theirs))
        until(lambda: refusal(store, 1) == f"the stream {name} is somebody else's: choose another name for the backlog")
        owner.link.run(owner.streams.api(f"STREAM.DELETE.{name}", {}))
        until(lambda: not refusal(store, 1), "streams of our own")
        assert store.counts().waiting == 1


@needed
def test_a_slow_line_is_waited_for_and_where_it_is_too_slow_that_is_said_until_it_is_not(tmp_path: Path) -> None:
    with Server(tmp_path / "nats") as server, Proxy() as proxy:
        line = proxy.link(f"tcp://127.0.0.1:{server.port}")
        url = line.endpoint.replace("tcp", "nats")
        with closing(JetStream(f"{url}/x", patience=0.1)) as store:
            until(lambda: not refusal(store, 1), "the server")
            line.change(lag=0.05)
            until(lambda: not refusal(store, 2), "the slow line")
            line.change(lag=2 * ANSWERED)
            why = refusal(store, 3)
            assert "not answer" in why or "connection" in why
            line.change()
            until(lambda: not refusal(store, 4), "a fast line")


def test_a_server_that_is_full_has_tasks_refused_until_there_is_room(
    backlog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(natsstreams, "MOST_TASKS", 2)
    with closing(JetStream(backlog)) as store:
        answer = put(store, 1, 2, 3, lease=1)
        assert (
            answer.fates == [None, None, "refused"]
            and answer.refused == "the backlog is full: maximum messages exceeded"
        )
        assert end(store, answer.leased[0].token).fenced == []
        answer = put(store, 3, lease=2)
        assert answer.fates == [None] and not answer.refused and len(answer.leased) == 2


@needed
def test_where_the_file_store_is_small_tasks_are_refused_and_those_that_are_there_end(tmp_path: Path) -> None:
    """Whose outcomes are as large: they have room of their own."""

    def task(number: int) -> Entry:
        return Entry(b"client", [b"\4", number.to_bytes(16, "big"), b"\1", bytes(100_000)])

    with Server(tmp_path / "nats", room="12MB") as server, closing(JetStream(f"{server.url}/x")) as store:
        numbers, kept = count(1), 0
        while not (answer := store.perform([Store(1, [], [], [task(next(numbers))], 0)])[0]).refused:
            kept += 1
        assert answer.refused == "the backlog is full: maximum bytes exceeded" and kept > 10
        leased = store.perform([Store(2, [], [], [], kept)])[0].leased
        ended = [Ended(one.token, Outcome("", one.message[-1])) for one in leased]
        assert store.perform([Store(3, ended, [], [], 0)])[0].fenced == [] and len(ended) == kept
        assert store.counts()[:5] == (kept, kept, (), 0, 0)
        assert store.perform([Store(4, [], [], [task(next(numbers))], 0)])[0].fates == [None]


@needed
def test_a_server_with_no_room_for_a_backlog_says_so(tmp_path: Path) -> None:
    with Server(tmp_path / "nats", room="1MB") as server, closing(JetStream(f"{server.url}/x", patience=1)) as store:
        said: list[str] = []

        def refused() -> bool:
            with pytest.raises(Unavailable) as why:
                put(store, 1)
            said.append(str(why.value))
            return "no NATS server" not in said[-1]

        until(refused, "the server")
        assert said[-1] == "the NATS server has no room for a backlog: insufficient storage resources available"


@needed
def test_a_server_that_answers_nothing_may_have_taken_what_it_was_sent(tmp_path: Path) -> None:
    with Server(tmp_path / "nats") as server, closing(JetStream(f"{server.url}/x", patience=0.1)) as store:
        token = put(store, 1, lease=1).leased[0].token
        server.signal(signal.SIGSTOP)
        numbers, why = count(2), list[str]()

        def stands() -> bool:
            try:
                why.append(put(store, next(numbers)).refused)
            except Unavailable as error:
                why.append(str(error))
            return bool(why[-1])

        until(stands, "the stop")
        assert "not answer" in why[-1]
        with pytest.raises(Unavailable):
            end(store, token)
        server.signal(signal.SIGCONT)

        def again() -> bool:
            try:
                return bool(end(store, token).fenced == [])
            except Unavailable:
                return False

        until(again, "the server")
        assert store.counts().succeeded == 1
