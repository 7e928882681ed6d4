"""Real commands by ``submit``, over workers in processes of their own; what ``stop`` and SIGKILL leave behind."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest
import zmq

from console.__main__ import main
from engine.protocols.conversation.frontend import (
    CancelJob,
    Hold,
    ListJobs,
    Refusal,
    Release,
    StopWorkers,
    Submit,
    TaskEnded,
    answer,
    pack_request,
)
from engine.protocols.conversation.messages import Description
from tests.helpers.processes import WAIT, Process, Processes, free_endpoint, until
from tests.helpers.strangers import as_stranger, needs_stranger

Jobs = list[dict[str, Any]]


class Shop:
    """A broker, two workers of four processors each, and a folder of scripts and logs."""

    def __init__(self, processes: Processes, workers: int = 2) -> None:
        self.processes, self.folder, self.endpoint = processes, processes.folder, free_endpoint()
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.broker = self.open()
        self.workers = [self.worker() for _ in range(workers)]

    def open(self) -> Process:
        return self.processes.start("broker", "--system", "conversation", "--bind", self.endpoint).ready()

    def worker(self) -> Process:
        connect = ("--connect", self.endpoint)
        return self.processes.start("worker", "--system", "conversation", *connect, "--slots", "4").ready()

    def script(self, text: str) -> str:
        path = self.folder / "task"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return str(path)

    def run(self, command: str, *arguments: str) -> Process:
        return self.processes.run(command, "--connect", self.endpoint, *arguments)

    def submit(self, script: str, tasks: int, *more: str) -> Process:
        where = ("--dir", str(self.folder), "--logs", str(self.logs))
        return self.run("submit", "--tasks", str(tasks), *where, *more, "--", self.script(script))

    def here(self, *arguments: str) -> str:
        """What a command prints, run in this process: tests ask again and again."""
        said = io.StringIO()
        with patch.dict(os.environ, self.processes.environ, clear=True), redirect_stdout(said):
            assert main([*arguments]) == 0
        return said.getvalue()

    def jobs(self) -> Jobs:
        """What ``jobs`` lists."""
        listed: Jobs = json.loads(self.here("jobs", "--connect", self.endpoint, "--json", "-"))["jobs"]
        return listed

    def words(self) -> list[str]:
        """The logs, in the order of their tasks."""
        logs = sorted(self.logs.glob("task_*.log"), key=lambda path: int(path.stem.partition("_")[2]))
        return [path.read_text() for path in logs]

    def running(self, tasks: int) -> None:
        """Wait until so many tasks have said something."""
        until(lambda: len([text for text in self.words() if text]) == tasks, f"{tasks} running tasks")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    # A busy machine may hold a worker up for a second.
    quick = {"ROUNDHOUSE_CONVERSATION_HEARTBEAT": "0.2", "ROUNDHOUSE_CONVERSATION_EXPIRY": "3"}
    with Processes(tmp_path, **quick) as processes:
        yield Shop(processes)


def gone(pid: int) -> bool:
    """Whether no such process runs; one that nobody has reaped yet does not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_fifty_commands_leave_fifty_logs(shop: Shop) -> None:
    done = shop.submit('echo "task $1 of $# in $(pwd -P) by $PPID"', 50, "--wait")
    assert (done.ended(), done.out, done.err) == (0, "1\nfinished: 50 done, 0 failed\n", "")
    words = [text.split() for text in shop.words()]
    assert [line[:6] for line in words] == [
        ["task", str(n), "of", "1", "in", str(shop.folder.resolve())] for n in range(1, 51)
    ]
    assert len({line[-1] for line in words}) == 2, "both workers had a part in it"
    assert len(list(shop.logs.iterdir())) == 50
    (job,) = shop.jobs()
    assert (job["status"], job["tasks"], job["done"], job["failed"], job["waiting"]) == ("finished", 50, 50, 0, 0)


def test_tasks_that_fail_are_told_and_are_status_1(shop: Shop) -> None:
    done = shop.submit('test "$1" -lt 3', 4, "--wait")
    assert (done.ended(), done.out) == (1, "1\nfinished: 2 done, 2 failed\n")
    assert sorted(done.err.splitlines()) == [f"roundhouse: task {n}: error encountered: exit status 1" for n in (3, 4)]
    shown = shop.run("jobs", "show", "1", "--failed", "--json", "-")
    tasks = json.loads(shown.out)["tasks"]
    assert [(task["task"], task["state"], task["attempts"], task["status"], task["log"]) for task in tasks] == [
        (n, "failed", 1, "exit status 1", f"task_{n}.log") for n in (3, 4)
    ]
    assert all(task["took_s"] >= 0 and task["worker"].startswith("worker-") for task in tasks)
    until(lambda: shop.broker.err.count("failed on worker-") == 2)


def test_words_and_files(shop: Shop) -> None:
    logs = ("--logs", str(shop.logs), "--wait")
    assert shop.run("submit", *logs, "--name", "greeting", "--", "echo", "it's", "me").ended() == 0
    assert (shop.logs / "greeting_1.log").read_text() == "it's me 1\n"
    description = shop.folder / "job.toml"
    description.write_text(f'command = ["echo", "hello"]\ntasks = 3\nlogs = "{shop.logs}"\nname = "from-file"\n')
    done = shop.run("submit", "--tasks", "2", "--wait", str(description))
    assert (done.ended(), done.out) == (0, "2\nfinished: 2 done, 0 failed\n")
    assert (shop.logs / "from-file_2.log").read_text() == "hello 2\n"


def test_a_job_survives_a_broker_that_is_killed(tmp_path: Path) -> None:
    """What had ended is not done again, what was out is, it is held as before, and its end is kept."""
    store = f"sqlite:{tmp_path / 'jobs.sqlite'}"
    quick = {"HEARTBEAT": "0.2", "EXPIRY": "3", "BACKLOG": store}
    with Processes(tmp_path, **{f"ROUNDHOUSE_CONVERSATION_{key}": value for key, value in quick.items()}) as processes:
        shop = Shop(processes, workers=1)
        ran, gate, order = shop.folder / "ran", shop.folder / "gate", ("--connect", shop.endpoint)
        script = shop.script(f'echo "$1" >> {ran}; until test "$1" -le 2 || test -e {gate}; do sleep 0.05; done')
        shop.here("submit", *order, "--tasks", "8", "--logs", str(shop.logs), "--", script)
        until(lambda: (shop.jobs()[0]["done"], shop.jobs()[0]["running"]) == (2, 4), "two tasks done, four running")
        shop.here("jobs", "hold", "1", *order)
        shop.broker.kill()
        shop.open()
        (job,) = shop.jobs()
        assert (job["id"], job["status"], job["done"], job["waiting"], job["running"]) == (1, "held", 2, 6, 0)
        gate.touch()
        shop.here("jobs", "release", "1", *order)
        until(lambda: shop.jobs()[0]["status"] == "finished", "the end of the job")
        times = Counter(ran.read_text().split())
        assert (times["1"], times["2"], sorted(times)) == (1, 1, [str(number) for number in range(1, 9)])
        assert "job 1 finished: 8 done, 0 failed" in shop.here("result", "--system", "conversation", "--backlog", store)


@pytest.fixture
def go(shop: Shop) -> Iterator[Callable[[], None]]:
    """``: < go`` in a script waits, without looking again and again, until this is called."""
    gate, opened = shop.folder / "go", list[int]()
    os.mkfifo(gate)
    yield lambda: opened.append(os.open(gate, os.O_RDWR))
    for descriptor in opened:
        os.close(descriptor)


def test_hold_release_and_cancel(shop: Shop, go: Callable[[], None]) -> None:
    shop.submit("echo running; : < go", 12)
    shop.running(8)
    assert shop.run("jobs", "hold", "1").out == "job 1 is held\n"
    assert shop.jobs()[0]["status"] == "held"
    assert shop.run("jobs", "release", "1").out == "job 1 is released\n"
    assert shop.run("jobs", "cancel", "1", "--yes").out == "job 1 is cancelled\n"
    (job,) = shop.jobs()
    assert (job["status"], job["running"], job["waiting"], job["failed"]) == ("cancelled", 8, 0, 4)
    go()
    until(lambda: shop.jobs()[0]["done"] == 8)
    refused = shop.run("jobs", "hold", "7")
    assert (refused.ended(), refused.out, refused.err) == (1, "", "roundhouse: job 7: no such job\n")
    assert "cancelled" in shop.run("jobs").out
    assert len(shop.words()) == 8


def test_stop_drains(shop: Shop, go: Callable[[], None]) -> None:
    shop.submit("echo running; : < go; echo done", 12)
    shop.running(8)
    assert shop.run("stop", "--all").out == "8 processors stop, of 2 workers; none is left\n"
    (job,) = shop.jobs()
    assert (job["running"], job["waiting"], job["done"]) == (8, 4, 0)
    go()
    assert [worker.ended() for worker in shop.workers] == [0, 0]
    assert shop.words() == ["running\ndone\n"] * 8
    (job,) = shop.jobs()
    assert (job["running"], job["waiting"], job["done"]) == (0, 4, 8)
    shop.worker()
    until(lambda: shop.jobs()[0]["done"] == 12)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_workers_that_end_at_once_leave_no_child_and_give_their_tasks_back(shop: Shop, how: str) -> None:
    shop.submit("echo $$; exec sleep 600", 8)
    shop.running(8)
    children = [int(text) for text in shop.words()]
    assert not any(gone(pid) for pid in children)
    if how == "stop":
        stopped = shop.run("stop", "--now", "--yes")
        assert (stopped.ended(), stopped.out) == (
            0,
            "8 processors stop at once, of 2 workers; what ran there is given back\n",
        )
        assert [worker.ended() for worker in shop.workers] == [0, 0]
    else:
        for worker in shop.workers:
            worker.kill()
    until(lambda: all(gone(pid) for pid in children), "the end of every child")
    until(lambda: shop.jobs()[0]["waiting"] == 8, "the return of every task")
    assert shop.run("jobs", "cancel", "1", "--yes").ended() == 0


def test_over_the_open_port_nothing_but_ping_and_data_is_served(shop: Shop) -> None:
    host, _, port = shop.endpoint.removeprefix("tcp://").rpartition(":")
    ran = shop.folder / "ran"
    command = shop.script(f"touch {ran}")
    described = Description(0, "task", 1, str(shop.folder), str(shop.logs), command)
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.linger, peer.rcvtimeo = 0, int(WAIT * 1000)
        peer.connect(f"tcp://{host}:{int(port) + 100}")
        for request in (
            Submit(described),
            Submit(described._replace(command=":ping", num_tasks=2)),
            ListJobs(),
            Hold(1),
            Release(1),
            CancelJob(1),
            StopWorkers(0),
        ):
            peer.send(pack_request(7, request))
            said = answer(peer.recv())
            assert isinstance(said, Refusal) and "takes ping and data alone" in said.why
        peer.send(pack_request(8, Submit(described._replace(command=":ping"))))
        assert isinstance(answer(peer.recv()), TaskEnded)
    assert shop.jobs() == [] and not ran.exists()


@needs_stranger
def test_another_user_finds_no_door(shop: Shop) -> None:
    control = Path(shop.processes.environ["XDG_RUNTIME_DIR"]) / "roundhouse"
    assert {path.is_socket() for path in control.iterdir()} == {True}
    code = "import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).connect(os.listdir()[0])"
    with as_stranger(code, str(control)) as stranger:
        stranger.communicate()
    assert stranger.returncode != 0
    refused = shop.processes.start("jobs", "--connect", shop.endpoint, XDG_RUNTIME_DIR=str(shop.folder / "other"))
    assert refused.ended() == 2 and "no broker of this user is at" in refused.err
