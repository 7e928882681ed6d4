from __future__ import annotations

from engine.core import Note, Reopen
from engine.parts.name import Name


def test_a_name_that_is_taken_is_given_up_and_that_is_said() -> None:
    name = Name("worker-7")
    assert name.reopen(False) == [Reopen()] and name.now == "worker-7"
    words = "another program has our name worker-7: we are worker-7-2 from now on"
    assert name.reopen(True) == [Note("bad", words), Reopen(routing_id=b"worker-7-2")]
    assert name.reopen(False) == [Reopen()]
    assert name.reopen(True)[1] == Reopen(routing_id=b"worker-7-3") and name.now == "worker-7-3"
