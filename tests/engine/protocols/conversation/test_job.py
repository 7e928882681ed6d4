"""A task of a job: its key, its kind and what its JOB carries."""

from __future__ import annotations

from engine.protocols.conversation import messages
from engine.protocols.conversation.job import ID, JobTask
from engine.protocols.conversation.jobs import Jobs
from engine.protocols.conversation.messages import Description
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import array


def test_a_task_knows_where_it_belongs() -> None:
    jobs = Jobs(Options())
    job = jobs.add(array(":data 3", 1), 1, b"client", 7, 1.0)
    task = jobs.next(1, 1)
    assert isinstance(task, JobTask)
    assert (task.key, task.kind, task.accepted) == ((b"client", ID.pack(1, 1)), "data", 1.0)
    assert job.body == messages.pack_description(Description(1, "job", 1, "/srv", "/srv/logs", ":data 3", 1))
