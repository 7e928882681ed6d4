"""What can be typed about jobs: ``submit``, ``jobs``, ``hold``, ``release``, ``cancel`` and ``stop N``."""

from __future__ import annotations

from pathlib import Path

from console import units
from console.commands import Command, CommandError
from console.host import Host
from console.jobs.file import doubtful_logs, scripted
from console.jobs.line import WORDS, Order, job_of, request_of
from console.screens.confirm import Confirm
from console.sessions.session import RUNNING
from console.text import clean
from engine.labs.content import BrokerLab
from engine.protocols.conversation.frontend import CancelJob, Hold, Release, StopWorkers
from engine.protocols.conversation.header import STOP_ALL, STOP_NOW
from engine.settings.tomlfile import Wrong


def perform(app: Host, command: Command) -> bool:
    """Perform one of ``WORDS``; False where it is none, or not about jobs."""
    if command.name not in {word.name for word in WORDS}:
        return False
    what = str(command.argument)
    if command.name == "stop" and what not in ("all", "now") and not what[:1].isdigit():
        return False  # the current run, or a worker
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
    if app.session.mode not in RUNNING:
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
            words = f"stopping {units.several(nproc, 'processor')}"
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
