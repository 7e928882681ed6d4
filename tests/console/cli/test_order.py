"""``roundhouse order``: asked about, carried out, confirmed by its effect, kept."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.__main__ import main
from console.cli import order as module
from console.cli.order import WORDS, agreed, order_of, worker
from console.cli.order import _ended as ended
from console.commands import parse
from engine.drive.control.found import Found
from engine.drive.control.place import place
from engine.errors import Refused
from engine.labs import link
from engine.labs.controlsession import BrokerControlSession
from engine.parts.orders import Drain, Undrain
from engine.parts.view import ClientRow, State
from tests.helpers.fake_lab import FakeLab
from tests.helpers.served import patient, runtime, served

Capture = pytest.CaptureFixture[str]
ENDPOINT = "tcp://127.0.0.1:6714"


class Obeys(FakeLab):
    """Its workers leave when they are told to."""

    obeys = True
    stuck = False

    def stop_worker(self, key: bytes) -> None:
        super().stop_worker(key)
        if self.obeys:
            self._set(key, "drain")

    def steer(self, order: Any) -> str | None:
        self._order("steer", order)
        if isinstance(order, Drain | Undrain):
            self._set(order.worker, "drain" if type(order) is Drain else "ready")
        return self.came

    def _set(self, key: bytes, state: State) -> None:
        held = 2 if self.stuck else 0
        self.workers = [row._replace(state=state, in_flight=held) if row.key == key else row for row in self.workers]
        self.publish()


@pytest.fixture
def lab(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Obeys]:
    monkeypatch.setattr(link, "HERTZ", 20)
    monkeypatch.setattr(module, "LOOKS", 600)
    lab = Obeys(3)
    session: Any = BrokerControlSession(lab, "broker", dict)
    patient(monkeypatch)
    with runtime() as folder:
        monkeypatch.setattr("platformdirs.user_runtime_path", lambda *_, **__: folder)
        with served(folder, lab, **session.words):
            assert place(folder, ENDPOINT).is_socket()
            yield lab
    session.close()


def kept(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "state" / "roundhouse" / "orders.log").read_text().splitlines()]


def test_a_worker_is_drained_and_that_is_kept(lab: Obeys, home: Path, capsys: Capture) -> None:
    name = lab.workers[1].name
    assert main(["order", ENDPOINT, "drain", name, "--yes"]) == 0
    assert capsys.readouterr().out == f"{name} drained: 0 tasks held\n"
    assert ("steer", Drain(lab.workers[1].key)) in lab.orders
    (line,) = kept(home)
    assert (line["what"], line["result"], line["where"]) == (
        f"drain {name}",
        f"seen: {name} drained: 0 tasks held",
        "tcp-127.0.0.1-6714",
    )
    assert main(["order", ENDPOINT, "log"]) == 0
    assert capsys.readouterr().out.rstrip().endswith(f"drain {name}  seen: {name} drained: 0 tasks held")
    assert main(["order", "another", "log"]) == 0
    assert "no order is in the log" in capsys.readouterr().err


def test_what_is_drained_is_given_tasks_again(lab: Obeys, home: Path, capsys: Capture) -> None:
    name = lab.workers[1].name
    assert main(["order", ENDPOINT, "drain", name, "--yes"]) == 0
    assert main(["order", ENDPOINT, "undrain", name]) == 0
    assert capsys.readouterr().out.endswith(f"worker {name} is given tasks again\n")
    assert lab.orders[-1] == ("steer", Undrain(lab.workers[1].key))
    assert main(["order", ENDPOINT, "undo", "--yes"]) == 0
    assert [given[0] for given in lab.orders][-1:] == ["undo"]
    assert [line["what"] for line in kept(home)] == [f"drain {name}", f"undrain {name}", "undo"]


def test_without_a_terminal_and_without_yes_it_is_refused(lab: Obeys, capsys: Capture) -> None:
    assert main(["order", ENDPOINT, "drain", lab.workers[1].name]) == 2
    assert "There is nobody to ask: add --yes" in capsys.readouterr().err
    assert not [given for given in lab.orders if given[0] == "stop_worker"]


def test_what_is_refused_there_is_told_and_kept(lab: Obeys, home: Path, capsys: Capture) -> None:
    lab.refusal = "not today"
    assert main(["order", ENDPOINT, "slow", "0.5", "--yes"]) == 2
    assert "not today" in capsys.readouterr().err
    assert kept(home)[0]["result"] == "refused: not today"


def test_an_order_without_an_effect_is_not_called_done(
    lab: Obeys, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(module, "LOOKS", 3)
    lab.obeys = False
    assert main(["order", ENDPOINT, "stop", lab.workers[0].name, "--yes"]) == 1
    name = lab.workers[0].name
    assert f"asked; not yet seen after 0 s: {name} leaves: " in capsys.readouterr().err
    assert kept(home)[0]["result"].startswith(f"given; not yet seen: {name} leaves: ")
    lab.obeys = lab.stuck = True
    assert main(["order", ENDPOINT, "drain", name, "--yes"]) == 1, "it drains, and still holds something"
    assert f"{name} drained: 2 tasks held" in capsys.readouterr().err


def test_what_came_of_it_there_is_told(lab: Obeys, home: Path, capsys: Capture) -> None:
    lab.came = "tasks are given out without a limit"
    assert main(["order", ENDPOINT, "undo", "--yes"]) == 0
    assert capsys.readouterr().out == "tasks are given out without a limit\n"
    lab.came = None
    assert main(["order", ENDPOINT, "undo", "--yes"]) == 0
    assert capsys.readouterr().out == "the newest order is taken back\n"
    assert kept(home)[0]["result"] == "seen: tasks are given out without a limit"


def test_a_process_that_ends_with_its_last_worker_has_carried_the_order_out(
    lab: Obeys, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    lab.obeys = False
    monkeypatch.setattr(module, "_ended", lambda found: True)
    name = lab.workers[0].name
    assert main(["order", ENDPOINT, "stop", name, "--yes"]) == 0
    assert capsys.readouterr().out == f"{name} leaves; that process has ended\n"
    assert main(["order", ENDPOINT, "undo", "--yes"]) == 0
    assert "ended" not in capsys.readouterr().out


def test_workers_have_ended_once_their_socket_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found(tmp_path / "gone", "roundrobin", "worker", (), 1)
    assert ended(found) and not ended(found._replace(role="broker"))
    monkeypatch.setattr(Path, "is_socket", lambda path: True)
    assert not ended(found)


def test_help_lists_the_words(lab: Obeys, capsys: Capture) -> None:
    assert main(["order", ENDPOINT, "help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {word.name for word in WORDS} | {"log", "help"} == {line.split()[0] for line in lines}
    assert not lab.orders


def test_what_is_no_order_or_names_nobody(lab: Obeys, capsys: Capture) -> None:
    assert main(["order", ENDPOINT, "bulkping", "5"]) == 2
    assert "unknown command 'bulkping'" in capsys.readouterr().err
    assert main(["order", ENDPOINT, "drain", "nobody", "--yes"]) == 2
    assert "no worker is called 'nobody'; there are" in capsys.readouterr().err
    assert main(["order", ENDPOINT, "stop"]) == 2
    assert "stop needs WORKER; endrun stops the run" in capsys.readouterr().err
    assert main(["order", "tcp://127.0.0.1:1", "endrun", "--yes"]) == 2
    assert "no broker of this user is at" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "given", "asks"),
    [
        ("register", "register", False),
        ("bulk", "bulk", False),
        ("deregister", "deregister", True),
        ("endbulk", "endbulk", True),
        ("endrun", "stop_run", True),
        ("undrain tern-01", "steer", False),
        ("pause", "steer", True),
        ("resume", "steer", False),
        ("throttle 50", "steer", True),
        ("throttle off flood", "steer", False),
        ("stop tern-01", "stop_worker", True),
        ("kill tern-01", "hurt", True),
        ("freeze tern-01 5", "hurt", True),
        ("slow tern-01 5", "hurt", True),
        ("slots tern-01 3", "set_slots", False),
        ("trace cmd=PING", "keep_trace", False),
        ("log-level debug", "log_level", False),
        ("slow 2", "slow", True),
        ("slow 0", "slow", False),
        ("lane packed", "choose_lane", False),
        ("withdraw flood", "withdraw", True),
        ("expire tern-01", "steer", True),
        ("requeue tern-01", "steer", True),
        ("requeue flood 00ff", "steer", True),
        ("discard flood 00ff", "discard", True),
        ("move flood 00ff first", "move", True),
    ],
)
def test_each_word_is_an_order(line: str, given: str, asks: bool) -> None:
    lab = Obeys(2)
    lab.clients = (ClientRow(b"flood", 5, lab.at, 2, 0, lab.at),)
    lab.publish()
    made = order_of(parse(line, WORDS), lab)
    made.give(lab)
    assert lab.orders[-1][0] == given and bool(made.asks) is asks


def test_one_task_is_named_by_its_client_and_its_digits() -> None:
    lab = Obeys(2)
    lab.clients = (ClientRow(b"flood", 5, lab.at, 2, 0, lab.at),)
    lab.publish()
    for line in ("discard flood 00ff", "move flood 00ff first", "move flood 00ff last"):
        order_of(parse(line, WORDS), lab).give(lab)
    assert lab.orders == [
        ("discard", b"flood", b"\x00\xff"),
        ("move", b"flood", b"\x00\xff", True),
        ("move", b"flood", b"\x00\xff", False),
    ]
    for line in ("discard flood", "discard flood xyz", "discard flood 00 01", "move flood 00", "move flood 00 next"):
        with pytest.raises(Refused, match=f"{line.split()[0]} needs CLIENT "):
            order_of(parse(line, WORDS), lab)
    with pytest.raises(Refused, match="no client 'x' there; there are flood"):
        order_of(parse("discard x 00", WORDS), lab)


def test_an_alert_is_acknowledged(lab: Obeys, home: Path, capsys: Capture) -> None:
    assert main(["order", ENDPOINT, "acknowledge", "backlog"]) == 2, "nobody watches there"
    lab.acknowledge = lambda alert: lab.orders.append(("acknowledge", alert))  # type: ignore[method-assign]
    assert main(["order", ENDPOINT, "acknowledge", "backlog"]) == 0
    assert capsys.readouterr().out == "backlog is acknowledged until it clears\n" and lab.orders == [
        ("acknowledge", "backlog")
    ]
    assert [line["result"].partition(":")[0] for line in kept(home)] == ["refused", "seen"]


def test_a_worker_of_that_process_has_a_short_name_too() -> None:
    lab = Obeys(2)
    lab.seats = {lab.workers[1].key: "worker-3"}
    assert worker(lab, "w3").key == worker(lab, "worker-3").key == lab.workers[1].key
    with pytest.raises(Refused, match="no worker is called 'w4'"):
        worker(lab, "w4")


def test_slots_are_seen_and_need_a_number() -> None:
    lab = Obeys(2)
    name = lab.workers[0].name
    made = order_of(parse(f"slots {name} 3", WORDS), lab)
    assert not made.shown(lab)
    lab.replace(0, slots=3)
    lab.publish()
    assert made.shown(lab) and made.words(lab, None).endswith(": 3 slots")
    with pytest.raises(Refused, match="slots needs WORKER N, got 'tern-01 many'"):
        order_of(parse("slots tern-01 many", WORDS), lab)


def test_effects_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = FakeLab(2, busy=False)
    lab.clients = (ClientRow(b"flood", 5, lab.at, 2, 0, lab.at),)
    lab.publish()
    orders = {line: order_of(parse(line, WORDS), lab) for line in ("bulk", "endbulk", "withdraw flood", "lane packed")}
    assert not any(made.shown(lab) for made in orders.values())
    lab.clients = (ClientRow(b"flood", 5, lab.at, 0, 0, lab.at),)
    lab.chosen = "packed"
    lab.workers = lab.workers[:1]
    lab.publish()
    assert [line for line, made in orders.items() if made.shown(lab)] == ["endbulk", "withdraw flood", "lane packed"]
    assert order_of(parse("endrun", WORDS), lab).shown(lab)
    with pytest.raises(Refused, match="no client 'x' there; there are flood"):
        order_of(parse("withdraw x", WORDS), lab)
    limited = {line: order_of(parse(line, WORDS), lab) for line in ("pause", "throttle 5 flood", "resume")}
    assert [line for line, made in limited.items() if made.shown(lab)] == ["resume"]
    lab.feed.show("broker", lab.feed.picture("broker")._replace(limits=((b"", 0.0), (b"flood", 5.0))))
    assert [line for line, made in limited.items() if made.shown(lab)] == ["pause", "throttle 5 flood"]
    with pytest.raises(Refused, match="throttle needs a number of tasks a second"):
        order_of(parse("throttle nan", WORDS), lab)
    with pytest.raises(Refused, match="slow needs a number"):
        order_of(parse("slow x", WORDS), lab)


@pytest.mark.parametrize(("answer", "yes"), [("y\n", True), ("YES\n", True), ("\n", False), ("", False)])
def test_a_question_on_a_terminal(answer: str, yes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    asked = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", asked)
    assert agreed("Stop it?") is yes and asked.getvalue() == "Stop it? [y/N] "
