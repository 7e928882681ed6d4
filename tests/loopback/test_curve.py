"""Brokers whose peers have keys, on real sockets: who is let in, who is not, and what is said of it on both sides."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from console.__main__ import main
from engine.catalogue import SYSTEMS
from engine.drive.security import curve as module
from engine.drive.security import keys
from engine.drive.security.curve import Curve, failure
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Slow
from engine.settings.paths import Paths
from tests.helpers.processes import WAIT, Processes, free_endpoint, until

ROLES = {"depot": "broker", "w1": "worker", "w2": "worker", "c1": "client", "op": "operator", "v1": "viewer"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A broker's key, and others that are authorized by their names; ``lost`` is not."""
    for name, role in ROLES.items():
        keys.authorize(tmp_path, keys.make(tmp_path, name, role)._replace(secret=""))
    keys.make(tmp_path, "lost", "client")
    return tmp_path


@pytest.fixture
def opened() -> Iterator[Any]:
    """Opens labs, and closes them, the last one first."""
    with ExitStack() as stack:

        def open_one(system: str, at: str, curve: Curve | None, **how: Any) -> LiveLab:
            place = {"bind": (at,)} if how.get("broker") else {"connect": at}
            usual = {"workers": 0, "broker": False, "client": False}
            return stack.enter_context(LiveLab(SYSTEMS[system], curve=curve, **place, **{**usual, **how}))

        yield open_one


def said(lab: LiveLab) -> str:
    """Every fact that the lab has told."""
    return "\n".join(fact.text for fact in lab.feed.since(0)[0])


def says(lab: LiveLab, *words: str) -> None:
    until(lambda: all(word in said(lab) for word in words), f"{words} in {said(lab)!r}")


def untouched(broker: LiveLab) -> bool:
    """Whether nobody has joined, and no task has come."""
    view = broker.table()
    return not view.workers and view.ledger.sent == 0


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_who_has_a_key_works_in_every_system_and_who_has_none_is_refused(
    folder: Path, opened: Any, system: str
) -> None:
    at = free_endpoint()
    broker = opened(system, at, Curve(folder, "depot"), broker=True)
    plain = opened(system, at, None, workers=1)
    says(plain, f"the broker at {at} asks for keys: connect with --curve NAME and --server-key KEY")
    says(broker, "came without a key")
    assert untouched(broker)
    opened(system, at, Curve(folder, "w1", "depot"), workers=2)
    assert broker.wait_registered(2, WAIT)
    client = opened(system, at, Curve(folder, "c1", "depot"), client=True)
    assert client.wait_linked(WAIT)
    client.run(BulkSpec("ping", 20, timeout=WAIT))
    assert client.wait_run(WAIT) and client.report()["succeeded"] == 20


def test_an_unknown_key_is_refused_on_both_sides_and_let_in_once_it_is_authorized(folder: Path, opened: Any) -> None:
    at = free_endpoint()
    broker = opened("roundrobin", at, Curve(folder, "depot"), broker=True)
    client = opened("roundrobin", at, Curve(folder, "lost", "depot"), client=True)
    lost = keys.own(folder, "lost")
    says(broker, f"the key {lost.public[:8]}… is not authorized: roundhouse keys authorize {lost.public}")
    says(client, f"the broker at {at} refuses this key: {lost.words}", f"authorize {lost.public} --name lost")
    assert untouched(broker) and not client.client_view().linked
    keys.authorize(folder, lost._replace(secret=""))
    assert client.wait_linked(WAIT), "its socket is opened anew"


def test_a_wrong_server_key_is_said_on_both_sides(folder: Path, opened: Any) -> None:
    at = free_endpoint()
    broker = opened("pingpong", at, Curve(folder, "depot"), broker=True)
    worker = opened("pingpong", at, Curve(folder, "w1", "c1"), workers=1)
    says(worker, f"the broker at {at} ended the handshake", "is perhaps not its key")
    says(broker, "a peer took another key for this broker's (its --server-key)")
    assert untouched(broker)


def test_a_broker_without_curve_is_named(folder: Path, opened: Any) -> None:
    at = free_endpoint()
    opened("roundrobin", at, None, broker=True)
    worker = opened("roundrobin", at, Curve(folder, "w1", "depot"), workers=1)
    says(worker, f"the broker at {at} speaks no CURVE: leave --curve away here")


def test_a_live_worker_that_is_revoked_is_cut_off_and_its_tasks_go_to_others(folder: Path, opened: Any) -> None:
    at = free_endpoint()
    broker = opened("roundrobin", at, Curve(folder, "depot"), broker=True)
    bad = opened("roundrobin", at, Curve(folder, "w1", "depot"), workers=1)
    assert broker.wait_registered(1, WAIT)
    bad._nodes["pool"].order("worker-1", Slow(1000.0))
    client = opened("roundrobin", at, Curve(folder, "c1", "depot"), client=True)
    assert client.wait_linked(WAIT)
    client.run(BulkSpec("ping", 5, in_flight=5, timeout=WAIT))
    until(lambda: broker.table().ledger.in_flight == 5)
    opened("roundrobin", at, Curve(folder, "w2", "depot"), workers=1)
    assert broker.wait_registered(2, WAIT)
    keys.revoke(folder, "w1")
    assert client.wait_run(WAIT) and client.report()["succeeded"] == 5
    says(broker, f"it was cut off: {keys.own(folder, 'w1').words} is not authorized any more", "5 tasks taken back")
    says(bad, "refuses this key")
    assert broker.registered() == 1 and bad.crew()["worker-1"].done == 0


@pytest.mark.parametrize(
    ("system", "key", "how", "words"),
    [
        ("roundrobin", "w1", {"client": True}, "says what only a client or operator may: it was dropped"),
        ("roundrobin", "c1", {"workers": 1}, "says what only a worker may: it was dropped"),
        ("roundrobin", "v1", {"client": True}, "may not do what is done there by a worker or client or operator"),
        ("pingpong", "w1", {"client": True}, "may not do what is done there by a client or operator"),
        ("pingpong", "op", {"workers": 1}, "may not do what is done there by a worker"),
        ("conversation", "v1", {"client": True}, "may not do what is done there by a client or operator"),
    ],
)
def test_nobody_does_what_the_role_of_his_key_may_not(
    folder: Path, opened: Any, system: str, key: str, how: dict[str, Any], words: str
) -> None:
    at = free_endpoint()
    broker = opened(system, at, Curve(folder, "depot"), broker=True)
    peer = opened(system, at, Curve(folder, key, "depot"), **how)
    (doubt,) = Curve(folder, key).doubts(client="client" in how)
    assert keys.own(folder, key).words in doubt and "is not a" in doubt
    if "client" in how and system == "roundrobin" and key == "w1":
        assert peer.wait_linked(WAIT)
        peer.run(BulkSpec("ping", 5, timeout=0.5))
        assert peer.wait_run(WAIT) and peer.report()["succeeded"] == 0
    says(broker, words)
    assert untouched(broker)


def test_a_name_belongs_to_the_key_that_had_it_first(folder: Path, opened: Any) -> None:
    """Another authorized worker that takes the id of a live one is cut off, and nothing that it says is heard."""
    at = free_endpoint()
    broker = opened("pingpong", at, Curve(folder, "depot"), broker=True)
    opened("pingpong", at, Curve(folder, "w1", "depot"), workers=1)
    assert broker.wait_registered(1, WAIT)
    name = broker.table().workers[0].key
    context = zmq.Context[Any]()
    with context, context.socket(zmq.DEALER) as thief:
        own = keys.own(folder, "w2")
        thief.linger = 0
        thief.set(zmq.ROUTING_ID, name)
        thief.set(zmq.CURVE_SECRETKEY, keys.curve(own.secret))
        thief.set(zmq.CURVE_PUBLICKEY, keys.curve(own.public))
        thief.set(zmq.CURVE_SERVERKEY, keys.curve(keys.own(folder, "depot").public))
        thief.connect(at)
        thief.send_multipart([b"\x01"])
        says(broker, f"it was cut off: {own.words} uses the name of another key's peer")
    until(lambda: broker.registered() == 1)  # whose name it is joins again


def test_the_brokers_of_a_pair_have_one_key_between_them(folder: Path, opened: Any) -> None:
    first, second = free_endpoint(), free_endpoint()
    pair = replace(SYSTEMS["negotiated"].options(), primary=first, fallback=second, heartbeat=0.2)
    labs = [
        opened("negotiated", at, module.of(folder, "depot", "", connects=False), broker=True, options=pair)
        for at in (first, second)
    ]
    until(lambda: [lab.table().serving for lab in labs] == [True, False], "a primary that serves")
    until(lambda: [dict(lab.table().terms)["peer"] for lab in labs] == ["passive", "active"], "a pair")


def test_off_loopback_a_broker_needs_keys_and_plain_tcp_stays_here(folder: Path, opened: Any) -> None:
    port = free_endpoint().rpartition(":")[2]
    everywhere = f"tcp://0.0.0.0:{port}"
    with pytest.raises(Refused, match=r"roundhouse keys new NAME, then --curve NAME"):
        opened("roundrobin", everywhere, None, broker=True)
    with pytest.raises(Refused, match="plain TCP has no keys"):
        opened("conversation", everywhere, Curve(folder, "depot"), broker=True)
    broker = opened("roundrobin", everywhere, Curve(folder, "depot"), broker=True)
    opened("roundrobin", f"tcp://127.0.0.1:{port}", Curve(folder, "w1", "depot"), workers=1)
    assert broker.wait_registered(1, WAIT)


def test_the_example_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host is a folder; the port is a free one."""
    page = Path(__file__).parents[2] / "docs" / "security.md"
    lines = re.findall(r"^(\w+)\$ +roundhouse (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 10
    hosts = {host: tmp_path / host for host, _ in lines}
    port = free_endpoint().rpartition(":")[2]
    with ExitStack() as stack:
        processes = {}
        for host, folder in hosts.items():
            folder.mkdir()
            processes[host] = stack.enter_context(Processes(folder))
        for host, line in lines:
            words = line.replace("6714", port).replace("//hub", "//127.0.0.1").split()
            if words[0] != "keys":
                process = processes[host].start(*words[: len(words) - (words[-1] == "&")])
                assert process.ready() if words[-1] == "&" else process.ended() == 0, process.err
                continue
            monkeypatch.setattr(Paths, "of_user", lambda host=host: SimpleNamespace(keys=keys_of(hosts[host])))
            monkeypatch.chdir(hosts[host])
            assert main(words) == 0
            if words[1] == "new":
                for folder in hosts.values():
                    shutil.copy(keys_of(hosts[host]) / f"{words[2]}.pub", folder)
        until(
            lambda: (
                "w1 (worker, " in (said := processes["hub"].folder.joinpath("0-broker.err").read_text())
                and "is not authorized any more" in said
            )
        )


def keys_of(home: Path) -> Path:
    """Where a process whose home this is has its keys."""
    return home / "config" / "roundhouse" / "keys"


# ---- without sockets ------------------------------------------------------------------------------------------------


def test_what_the_settings_ask_for(folder: Path) -> None:
    assert module.of(folder, "", "", connects=True) is module.of(folder, "", "depot", connects=False) is None
    with pytest.raises(Refused, match="none of our own: --curve NAME"):
        module.of(folder, "", "depot", connects=True)
    with pytest.raises(Refused, match="--server-key KEY"):
        module.of(folder, "w1", "", connects=True)
    with pytest.raises(Refused, match="there is no key nobody here: make one with roundhouse keys new nobody"):
        module.of(folder, "nobody", "", connects=False)
    made = module.of(folder, "w1", "depot", connects=True)
    assert made is not None and made.server == keys.own(folder, "depot").public


def test_what_mends_itself_is_not_said(folder: Path) -> None:
    curve = Curve(folder, "w1", "depot")
    assert failure(zmq.EVENT_HANDSHAKE_FAILED_AUTH, 300, "tcp://h:1", curve) == ""
    assert failure(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, 32, "tcp://h:1", None) == ""
