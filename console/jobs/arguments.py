"""The arguments that describe a job, of ``roundhouse submit`` and of a typed ``submit``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Annotated

from console.readers import given, source, value
from engine.parts.limits import MAX_BACKLOG
from engine.schema import Range

TASKS = Annotated[int, Range(1, MAX_BACKLOG)]
PROCESSORS = Annotated[int, Range(1, 1024)]  # of one task


def add_job(submit: ArgumentParser) -> None:
    """What describes a job: its file, or the options before the command."""
    described = source("a file that describes a job; or put the command after --")
    submit.add_argument(
        "file", metavar="FILE", nargs="?", type=described, help="TOML or JSON; its keys are named as the options"
    )
    submit.add_argument("--name", type=given, help="name of the job and its logs (the command's)")
    submit.add_argument("--tasks", metavar="N", type=value(TASKS), help="number of tasks, numbered 1 to N (1)")
    submit.add_argument("--dir", metavar="DIR", type=given, help="working directory of the tasks (here)")
    submit.add_argument("--logs", metavar="DIR", type=given, help="folder for NAME_1.log to NAME_N.log (that of --dir)")
    submit.add_argument("--processors", metavar="N", type=value(PROCESSORS), help="processors for each task (1)")
