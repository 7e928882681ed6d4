"""What can be typed about jobs: ``submit``, ``jobs``, ``hold``, ``release``, ``cancel`` and ``stop N``."""

from __future__ import annotations

from pathlib import Path

from console.cli.jobfile import doubtful_logs, scripted
from console.cli.jobline import job_of
from console.commands import Command, CommandError, Word
from console.host import Host
from console.screens.confirm import Confirm
from console.text import clean
from engine.labs.content import BrokerLab
from engine.protocols.conversation.frontend import CancelJob, Hold, Release, StopWorkers
from engine.protocols.conversation.header import STOP_ALL, STOP_NOW
from engine.settings import Wrong

MOST = 2**32 - 2  # processors of one STOP

WORDS = (
    Word("submit", "FILE", "submit a job: a FILE that describes it, or options, then -- and its command"),
    Word("jobs", "", "list the jobs"),
    Word("hold", "JOB", "give no more tasks of a job"),
    Word("release", "JOB", "give them again"),
    Word("cancel", "JOB", "drop what waits of a job, after a question"),
    Word("stop", "[N|all|now]", "stop the current run; with N take N processors from the workers, or all, or at once"),
)


Order = Hold | Release | CancelJob | StopWorkers


def request_of(command: Command) -> Order:
    """What a typed command asks of the broker. Raises ``CommandError`` in words; ``submit`` is ``job_of``."""
    name, text = command.name, str(command.argument)
    if name == "stop":
        every = {"all": STOP_ALL, "now": STOP_NOW}
        return StopWorkers(every[text] if text in every else _number(text, "a number of processors, all or now", MOST))
    job_id = _number(text, "the id of a job", 2**63 - 1)
    return Hold(job_id) if name == "hold" else Release(job_id) if name == "release" else CancelJob(job_id)


def perform(app: Host, command: Command) -> bool:
    """Perform one of ``WORDS``; False where it is none, or not about jobs."""
    if command.name not in {word.name for word in WORDS} or command == Command("stop", ""):
        return False
    try:
        if command.name == "jobs":
            app.main.action_protocol()
        elif command.name == "submit":
            _submit(app, str(command.argument))
        else:
            _give(app, request_of(command))
    except (CommandError, Wrong, ValueError) as wrong:
        app.say(f"{command.name}: {clean(str(wrong), 300)}", "bad")
    return True


def _submit(app: Host, line: str) -> None:
    """The command of several words becomes a script, in the same folder as that of ``roundhouse submit``."""
    if app.refused_readonly():
        return
    if app.session.mode != "live":
        app.say("jobs run on the system itself: leave this first", "bad")
        return
    submit, words = job_of(line)
    request = scripted(submit, words, Path(app.settings.state_folder) / "jobs")
    doubt = doubtful_logs(request.job)
    said = f"submitted {clean(request.job.name, 40)}; :jobs lists it" + (f" · {clean(doubt, 200)}" if doubt else "")
    app.order(lambda lab: lab.order_client(request, "submitting a job"), said, destroys=True)


def _give(app: Host, order: Order) -> None:
    """Give an order about jobs or workers, after a question where it ends something."""
    question: Confirm | None = None
    match order:
        case Hold(job_id):
            words = f"holding job {job_id}"
        case Release(job_id):
            words = f"releasing job {job_id}"
        case CancelJob(job_id):
            words = f"cancelling job {job_id}"
            fate = "Its tasks that wait are dropped; those that run go on."
            question = Confirm(f"Cancel job {job_id}?", [fate], "Cancel job")
        case StopWorkers(nproc):
            words = f"stopping {nproc} processors"
            if nproc in (STOP_ALL, STOP_NOW):
                words = "stopping all workers"
                fate = "What they run is killed and given back." if nproc else "They finish what they run, then leave."
                question = Confirm("Stop all workers of this broker?", [fate], "Stop workers")

    def give(lab: BrokerLab) -> None:
        lab.order_client(order, words)

    if question is None:
        app.order(give, f"asked: {words}", destroys=True)
    else:
        app.ask_first(question, give, f"asked: {words}")


def _number(text: str, what: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:20]) <= most):
        raise CommandError(f"expected {what}, got {clean(text)!r}")
    return int(text)
